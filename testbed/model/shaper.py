"""A path whose rate a shaper holds: htb or tbf, behind a netem that only delays.

Start with DelayedShaper.enqueue. A shaper's dequeue() gives a packet away; where it may
not yet leave, the watchdog is set, and it gives None.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from testbed.model.cpu import NS_PER_US, Cpu, Timer
from testbed.model.fq_codel import FqCodel
from testbed.model.packet import Packet
from testbed.model.path import PSCHED_TICK_NS, Hand
from testbed.spec.path import Path
from testbed.units import NS_PER_S

_BITS = 8
_MULT_BITS = 31
_MAX_WAIT_NS = 60 * NS_PER_S  # mbuffer in htb_change_class()
_LATEST_NS = 5 * NS_PER_S  # htb_dequeue()


class Shaper(Protocol):
    """What holds a rate: it keeps packets, and gives each away in its time."""

    def enqueue(self, packet: Packet) -> None:
        """Take a packet, or drop it."""

    def dequeue(self) -> Packet | None:
        """Give the next packet away if it may leave by now."""


class LeafQueue(Protocol):
    """Where a shaper keeps packets."""

    def __len__(self) -> int: ...

    def enqueue(self, packet: Packet) -> None:
        """Take a packet, or drop it."""

    def dequeue(self) -> Packet | None:
        """Give the next packet away, None if there is none."""


class Watchdog:
    """Has a qdisc looked at again: qdisc_watchdog_schedule_ns(), sch_api.c."""

    __slots__ = ("_cpu", "_timer")

    def __init__(self, cpu: Cpu, wake: Callable[[], None]) -> None:
        self._cpu = cpu
        self._timer = Timer(wake)

    def schedule(self, due_ns: int) -> None:
        """Set the time, unless that is what it is set to."""
        if not self._timer.serial or self._timer.soft_ns != due_ns:
            self._cpu.start(self._timer, due_ns)


class Rate:
    """psched_ratecfg: a division by the rate, as a multiplication.

    bytes_ps: bytes/s.  Source: psched_ratecfg_precompute__(), sch_generic.c.
    """

    __slots__ = ("_mult", "_shift", "bytes_ps")

    def __init__(self, bytes_ps: int) -> None:
        self.bytes_ps = bytes_ps
        factor, self._shift = NS_PER_S, 0
        while not (factor // bytes_ps >> _MULT_BITS) and not factor >> 63:
            factor <<= 1
            self._shift += 1
        self._mult = factor // bytes_ps

    def time_of(self, size: int) -> int:
        """Return the ns that so many bytes take: psched_l2t_ns()."""
        return size * self._mult >> self._shift


class Pfifo:
    """A FIFO that drops at its tail. limit: packets; a GSO packet is one."""

    __slots__ = ("_limit", "_queue")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._queue: deque[Packet] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def enqueue(self, packet: Packet) -> None:
        """Take a packet; one that finds the queue full is lost."""
        if len(self._queue) < self._limit:
            self._queue.append(packet)

    def dequeue(self) -> Packet | None:
        """Give the oldest away."""
        return self._queue.popleft() if self._queue else None


class Htb:
    """One class of htb, with nobody to borrow from; ceil is its rate.

    A packet may leave while there are tokens, and may take more than there are.
    Source: net/sched/sch_htb.c, htb_dequeue() and htb_charge_class(), Linux 6.12.
    """

    __slots__ = (
        "_buffer_ns",
        "_cpu",
        "_leaf",
        "_pq_key",
        "_rate",
        "_t_c",
        "_tokens",
        "_watchdog",
    )

    def __init__(
        self, cpu: Cpu, watchdog: Watchdog, leaf: LeafQueue, path: Path
    ) -> None:
        self._cpu = cpu
        self._watchdog = watchdog
        self._leaf = leaf
        self._rate = Rate(path.rate // _BITS)
        self._tokens = self._buffer_ns = htb_buffer_ns(path.burst, self._rate.bytes_ps)
        self._t_c = 0
        self._pq_key = 0  # until then it may not send

    def enqueue(self, packet: Packet) -> None:
        """Have the class keep a packet."""
        self._leaf.enqueue(packet)

    def dequeue(self) -> Packet | None:
        """Give a packet away if the class has tokens."""
        if not len(self._leaf):
            return None
        now = self._cpu.clock
        if now < self._pq_key:
            self._watchdog.schedule(min(self._pq_key, now + _LATEST_NS))
            return None
        packet = self._leaf.dequeue()
        if packet is not None:
            self._charge(packet.wire_bytes(), now)
        return packet

    def _charge(self, size: int, now: int) -> None:
        waited = min(now - self._t_c, _MAX_WAIT_NS)
        tokens = min(self._tokens + waited, self._buffer_ns)
        tokens = max(tokens - self._rate.time_of(size), 1 - _MAX_WAIT_NS)
        self._tokens = tokens
        self._t_c = now
        if tokens < 0:
            self._pq_key = now - tokens


def htb_buffer_ns(burst: int, bytes_ps: int) -> int:
    """Return the time that tc makes of a burst: whole us, then ticks of 64 ns.

    Source: iproute2, tc/tc_core.c, tc_calc_xmittime().
    """
    whole_us = burst * (NS_PER_S // NS_PER_US) // bytes_ps
    return whole_us * NS_PER_US // PSCHED_TICK_NS * PSCHED_TICK_NS


class Tbf:
    """tbf: a packet leaves when there are tokens for all of it.

    Its queue is limited in bytes. It would segment a packet larger than its burst,
    which settings.check() keeps from happening.
    Source: net/sched/sch_tbf.c, tbf_dequeue(), Linux 6.12.
    """

    __slots__ = (
        "_backlog",
        "_buffer_ns",
        "_cpu",
        "_limit",
        "_queue",
        "_rate",
        "_t_c",
        "_tokens",
        "_watchdog",
    )

    def __init__(self, cpu: Cpu, watchdog: Watchdog, path: Path) -> None:
        self._cpu = cpu
        self._watchdog = watchdog
        self._limit = path.queue * path.mtu
        self._rate = Rate(path.rate // _BITS)
        self._tokens = self._buffer_ns = self._rate.time_of(path.burst)
        self._t_c = 0
        self._queue: deque[Packet] = deque()
        self._backlog = 0

    def enqueue(self, packet: Packet) -> None:
        """Take a packet; one for which the queue has no room is lost."""
        size = packet.wire_bytes()
        if self._backlog + size <= self._limit:
            self._queue.append(packet)
            self._backlog += size

    def dequeue(self) -> Packet | None:
        """Give the oldest away if there are tokens for it."""
        if not self._queue:
            return None
        now = self._cpu.clock
        size = self._queue[0].wire_bytes()
        waited = min(now - self._t_c, self._buffer_ns)
        tokens = min(self._tokens + waited, self._buffer_ns) - self._rate.time_of(size)
        if tokens < 0:
            self._watchdog.schedule(now - tokens)
            return None
        self._t_c = now
        self._tokens = tokens
        self._backlog -= size
        return self._queue.popleft()


class DelayedShaper:
    """A netem that only delays, and the shaper that its packets pass on to.

    Source: net/sched/sch_netem.c, netem_dequeue(), Linux 6.12.
    """

    __slots__ = (
        "_cpu",
        "_delay",
        "_hand_on",
        "_queue",
        "_scheduled",
        "_shaper",
        "_watchdog",
    )

    def __init__(self, cpu: Cpu, hand_on: Hand, delay: int, path: Path) -> None:
        self._cpu = cpu
        self._hand_on = hand_on
        self._delay = delay - delay % PSCHED_TICK_NS
        self._queue: deque[tuple[int, Packet]] = deque()
        self._watchdog = Watchdog(cpu, self._wake)
        self._shaper = _shaper(cpu, Watchdog(cpu, self._wake), path)
        self._scheduled = False

    def enqueue(self, packet: Packet) -> None:
        """Take a packet; it reaches the shaper after the delay."""
        self._queue.append((self._cpu.clock + self._delay, packet))
        self._run()

    def _wake(self) -> None:
        # Both watchdogs schedule the root qdisc, which runs once: __netif_schedule().
        if not self._scheduled:
            self._scheduled = True
            self._cpu.transmit_later(self._run_scheduled)

    def _run_scheduled(self) -> None:
        self._scheduled = False
        self._run()

    def _run(self) -> None:
        queue, shaper, now = self._queue, self._shaper, self._cpu.clock
        while queue and queue[0][0] <= now:
            shaper.enqueue(queue.popleft()[1])
        while (packet := shaper.dequeue()) is not None:
            self._hand_on(packet)
        if queue:
            self._watchdog.schedule(queue[0][0])


def _shaper(cpu: Cpu, watchdog: Watchdog, path: Path) -> Shaper:
    if path.shaper == "tbf":
        return Tbf(cpu, watchdog, path)
    if path.discipline == "fq_codel":
        queue = FqCodel(
            cpu, limit=path.queue, mtu=path.mtu, ce_threshold=path.ce_threshold
        )
        return Htb(cpu, watchdog, queue, path)
    return Htb(cpu, watchdog, Pfifo(path.queue), path)
