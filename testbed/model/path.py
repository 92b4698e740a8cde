"""What holds packets back: fq on the sender's device, netem on the router's ports."""

import random
from collections import deque
from collections.abc import Callable

from testbed.model.cpu import NS_PER_US, Cpu, Timer
from testbed.model.late_tx import LateTx
from testbed.model.packet import Packet
from testbed.units import NS_PER_S

Hand = Callable[[Packet], None]
_BITS = 8
#: q->timer_slack in fq_init(), net/sched/sch_fq.c.
FQ_TIMER_SLACK_NS = 10 * NS_PER_US
#: tc rounds times down to this: PSCHED_SHIFT, include/net/pkt_sched.h.
PSCHED_TICK_NS = 64


class Fq:
    """Linux's fq for the one flow there is: releases packets at their departure time.

    flow_limit: packets of a flow that may wait.  Source: net/sched/sch_fq.c, 6.12.
    """

    __slots__ = ("_cpu", "_flow_limit", "_hand_on", "_queue", "_timer")

    def __init__(self, cpu: Cpu, hand_on: Hand, flow_limit: int) -> None:
        self._cpu = cpu
        self._hand_on = hand_on
        self._flow_limit = flow_limit
        self._queue: deque[Packet] = deque()
        self._timer = Timer(self._wake)

    def enqueue(self, packet: Packet) -> bool:
        """Take a packet, hand on whatever may leave by now; False to drop it."""
        if not self._queue and packet.edt_ns <= self._cpu.clock:
            self._hand_on(packet)
            return True
        if len(self._queue) >= self._flow_limit:
            return False
        self._queue.append(packet)
        self._release()
        return True

    def _wake(self) -> None:
        self._cpu.transmit_later(self._release)

    def _release(self) -> None:
        queue = self._queue
        now = self._cpu.clock
        while queue and queue[0].edt_ns <= now:
            self._hand_on(queue.popleft())
        if queue:
            due = queue[0].edt_ns
            if not self._timer.serial or self._timer.soft_ns != due:
                self._cpu.start(self._timer, due, FQ_TIMER_SLACK_NS)


class Loss:
    """Loses packets at random, each for itself; a GSO packet is one.

    The kernel's own random numbers are others, so only the share is the kernel's.
    Source: net/sched/sch_netem.c, loss_event(), 6.12.
    """

    __slots__ = ("_hand_on", "_random", "_share")

    def __init__(self, hand_on: Hand, share: float, rng: random.Random) -> None:
        self._hand_on = hand_on
        self._share = share
        self._random = rng

    def enqueue(self, packet: Packet) -> None:
        """Hand a packet on, or lose it."""
        if self._random.random() >= self._share:
            self._hand_on(packet)


class LateDevice:
    """A device that holds on to what has left: our veth-late-tx.patch.

    done: told of each packet when it is complete.
    """

    __slots__ = ("_cpu", "_done", "_held", "_late", "_timer")

    def __init__(self, cpu: Cpu, done: Hand, late: LateTx) -> None:
        self._cpu = cpu
        self._done = done
        self._late = late
        self._held: list[Packet] = []
        self._timer = Timer(self._interrupt)

    def keep(self, packet: Packet) -> None:
        """Hold on to a packet; to all no longer, if they fill the ring."""
        self._held.append(packet)
        if len(self._held) >= self._late.ring:
            self._cpu.cancel(self._timer)
            self._interrupt()
        elif len(self._held) == 1:
            self._cpu.start(self._timer, self._cpu.clock + self._late.delay)

    def _interrupt(self) -> None:
        # dev_consume_skb_irq(): what is complete is freed in the NET_TX softirq.
        held, self._held = self._held, []
        self._cpu.transmit_later(lambda: self._complete(held))

    def _complete(self, held: list[Packet]) -> None:
        for packet in reversed(held):  # net_tx_action() takes the last first
            self._done(packet)


class Netem:
    """A delay and a rate, FIFO: one direction of the path.

    delay: ns.  rate: bit/s.  limit: packets it may hold; a GSO packet is one.
    Source: net/sched/sch_netem.c, 6.12.
    """

    __slots__ = ("_cpu", "_delay", "_hand_on", "_limit", "_queue", "_rate", "_timer")

    def __init__(self, cpu: Cpu, hand_on: Hand, delay: int, rate: int, limit: int):
        self._cpu = cpu
        self._hand_on = hand_on
        self._delay = delay - delay % PSCHED_TICK_NS
        self._rate = rate // _BITS
        self._limit = limit
        self._queue: deque[tuple[int, Packet]] = deque()
        self._timer = Timer(self._wake)

    def enqueue(self, packet: Packet) -> None:
        """Take a packet; it leaves after those before it, its time and the delay.

        A packet that finds the queue full is lost.
        """
        queue = self._queue
        if len(queue) >= self._limit:
            return
        now = self._cpu.clock
        delay = self._delay
        if queue:
            last = queue[-1][0]
            delay = max(0, delay - (last - now))
            now = last
        queue.append(
            (now + delay + packet.wire_bytes() * NS_PER_S // self._rate, packet)
        )
        self._release()

    def _wake(self) -> None:
        self._cpu.transmit_later(self._release)

    def _release(self) -> None:
        queue = self._queue
        now = self._cpu.clock
        while queue and queue[0][0] <= now:
            self._hand_on(queue.popleft()[1])
        if queue:
            due = queue[0][0]
            if not self._timer.serial or self._timer.soft_ns != due:
                self._cpu.start(self._timer, due)
