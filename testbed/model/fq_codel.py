"""fq_codel for the one flow there is: it marks, or drops, what has waited too long.

Source: net/sched/sch_fq_codel.c, include/net/codel.h and codel_impl.h, Linux 6.12;
RFC 8289, RFC 8290. Times in codel's units of 1024 ns.
"""

from collections import deque

from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu
from testbed.model.packet import ETHERNET_HEADER, Packet

_SHIFT = 10  # CODEL_SHIFT
_TARGET = 5 * NS_PER_MS >> _SHIFT
_INTERVAL = 100 * NS_PER_MS >> _SHIFT
_REUSED_FOR = 16 * _INTERVAL  # how long a drop rate is remembered
_DROP_BATCH = 64
_MEMORY_LIMIT = 32 << 20
#: rec_inv_sqrt is a fraction of 16 bits, seen as one of 32.
_ONE = 0xFFFF
_SQRT_SHIFT = 16
_U64 = (1 << 64) - 1


def newton_step(rec_inv_sqrt: int, count: int) -> int:
    """Return a better 1 / sqrt(count): codel_Newton_step()."""
    root = rec_inv_sqrt << _SQRT_SHIFT
    square = root * root >> 32
    value = ((3 << 32) - count * square & _U64) >> 2
    return (value * root & _U64) >> 31 >> _SQRT_SHIFT & _ONE


class FqCodel:
    """A queue of packets. limit: packets it may hold; mtu: of its device.

    ce_threshold: ns; what waited longer is marked if ECN-capable; None: nothing is.
    """

    __slots__ = (
        "_ce_threshold",
        "_count",
        "_cpu",
        "_drop_next",
        "_dropping",
        "_first_above_time",
        "_lastcount",
        "_ldelay",
        "_limit",
        "_memory",
        "_mtu",
        "_queue",
        "_rec_inv_sqrt",
        "backlog",
    )

    def __init__(
        self, cpu: Cpu, *, limit: int, mtu: int, ce_threshold: int | None
    ) -> None:
        self._cpu = cpu
        self._limit = limit
        self._mtu = mtu + ETHERNET_HEADER
        self._ce_threshold = -1
        if ce_threshold is not None:
            # tc hands the kernel whole microseconds.
            whole = ce_threshold - ce_threshold % NS_PER_US
            self._ce_threshold = whole >> _SHIFT
        self._queue: deque[tuple[int, Packet]] = deque()
        self.backlog = self._memory = 0
        self._count = self._lastcount = 0
        self._dropping = False
        self._rec_inv_sqrt = 0
        self._first_above_time = self._drop_next = self._ldelay = 0

    def __len__(self) -> int:
        return len(self._queue)

    def enqueue(self, packet: Packet) -> None:
        """Take a packet; if that is too much, drop half of what waits."""
        self._queue.append((self._cpu.clock >> _SHIFT, packet))
        self.backlog += packet.wire_bytes()
        self._memory += packet.truesize
        if len(self._queue) > self._limit or self._memory > _MEMORY_LIMIT:
            self._drop_half()

    def _drop_half(self) -> None:
        # As fq_codel_drop() does.
        threshold, dropped, length = self.backlog >> 1, 0, 0
        while dropped < _DROP_BATCH and (not dropped or length < threshold):
            length += self._take()[1].wire_bytes()
            dropped += 1
        self._count += dropped

    def _take(self) -> tuple[int, Packet]:
        first = self._queue.popleft()
        self.backlog -= first[1].wire_bytes()
        self._memory -= first[1].truesize
        return first

    def dequeue(self) -> Packet | None:
        """Give a packet away, None if there is none: codel_dequeue()."""
        if not self._queue:
            self._dropping = False
            self._first_above_time = 0
            return None
        now = self._cpu.clock >> _SHIFT
        enqueued, packet = self._take()
        drop = self._should_drop(enqueued, now)
        if self._dropping:
            if not drop:
                self._dropping = False
            elif now >= self._drop_next:
                packet = self._drop_on(packet, now)
        elif drop:
            packet = self._begin_dropping(packet, now)
        if self._ldelay > self._ce_threshold >= 0:
            packet.ce = packet.ect
        return packet

    def _should_drop(self, enqueued: int, now: int) -> bool:
        self._ldelay = now - enqueued
        if self._ldelay < _TARGET or self.backlog <= self._mtu:
            self._first_above_time = 0
        elif not self._first_above_time:
            self._first_above_time = now + _INTERVAL
        else:
            return now > self._first_above_time
        return False

    def _drop_on(self, packet: Packet, now: int) -> Packet:
        """Mark a packet, or drop it and those behind it, as long as it is time to."""
        while self._dropping and now >= self._drop_next:
            self._count += 1
            self._rec_inv_sqrt = newton_step(self._rec_inv_sqrt, self._count)
            if packet.ect:
                packet.ce = True
                self._schedule(self._drop_next)
                break
            enqueued, packet = self._take()
            if self._should_drop(enqueued, now):
                self._schedule(self._drop_next)
            else:
                self._dropping = False
        return packet

    def _begin_dropping(self, packet: Packet, now: int) -> Packet:
        """Mark or drop a first packet; go on as fast as it went last time."""
        if packet.ect:
            packet.ce = True
        else:
            enqueued, packet = self._take()
            self._should_drop(enqueued, now)
        self._dropping = True
        delta = self._count - self._lastcount
        if delta > 1 and now - self._drop_next < _REUSED_FOR:
            self._count = delta
            self._rec_inv_sqrt = newton_step(self._rec_inv_sqrt, delta)
        else:
            self._count, self._rec_inv_sqrt = 1, _ONE
        self._lastcount = self._count
        self._schedule(now)
        return packet

    def _schedule(self, since: int) -> None:
        # As codel_control_law() does.
        root = self._rec_inv_sqrt << _SQRT_SHIFT
        self._drop_next = since + (_INTERVAL * root >> 32)
