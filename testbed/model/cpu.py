"""The one CPU that sender, router and receiver share: clock, hrtimers, softirqs.

Computing takes no time, as in User-Mode Linux with time-travel=inf-cpu, where only a
process that reads the clock moves it. A timer with slack runs with whatever interrupt
comes after its soft expiry, so what the other timers do shows in the pacing.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from testbed.compiled import let_signals_in
from testbed.errors import SpecError
from testbed.model.events import EventQueue
from testbed.model.packet import Packet
from testbed.units import NS_PER_S

Work = Callable[[], None]
Handler = Callable[[Packet], None]
NS_PER_US = 1_000
NS_PER_MS = 1_000_000
#: Of virtual time: a million samples at the usual rate, some hundred MB.
_LONGEST_NS = 1_000 * NS_PER_S
_BREATHE_EVERY = 1_000
#: Timers that were moved or cancelled stay in the queue until there are so many.
_MOST_STALE = 100
#: Rounds of softirqs before ksoftirqd goes on: MAX_SOFTIRQ_RESTART, kernel/softirq.c.
#: Its other limit, of 2 ms, takes a clock that moves meanwhile.
_MOST_ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What of the machine shows in the packets. Times in ns.

    tick: a clock reading is a multiple of it, and costs a process as much.  min_delta:
    the shortest the timer can be set to.  captured: the devices' packets are captured
    by a process of the same CPU.  The defaults are the lab's on User-Mode Linux.
    """

    tick: int = 256
    min_delta: int = 500


class Timer:
    """A hrtimer: it runs at the first interrupt from soft_ns on, at hard_ns if none.

    queued_ns: of its place in the queue, which is not after hard_ns.
    """

    __slots__ = ("callback", "hard_ns", "queued_ns", "serial", "soft_ns")

    def __init__(self, callback: Work) -> None:
        self.callback = callback
        self.serial = 0  # of its place in the queue; 0: not queued
        self.soft_ns = self.hard_ns = self.queued_ns = 0


class Cpu:
    """Runs interrupts, then softirqs, then processes, at the times timers ask for.

    clock: what a reading of the clock says, in ns; _now is finer.  ksoftirqd: whether
    it is what runs softirqs now, as they raised others in too many rounds.
    """

    __slots__ = (
        "_backlog",
        "_began",
        "_busy",
        "_fire_ns",
        "_in_interrupt",
        "_min_delta",
        "_now",
        "_on_time",
        "_runnable",
        "_tasklets",
        "_tick",
        "_timers",
        "_transmitters",
        "clock",
        "ksoftirqd",
    )

    def __init__(self, machine: Machine, now: int) -> None:
        self._now = self._began = now
        self._tick = machine.tick
        self.clock = now - now % machine.tick
        self._min_delta = machine.min_delta
        self._on_time: Work | None = None
        self._timers: EventQueue[Timer] = EventQueue()
        self._fire_ns = 0
        self._in_interrupt = False
        self._busy = False  # with an interrupt or softirqs
        self.ksoftirqd = False
        self._transmitters: deque[Work] = deque()
        self._backlog: deque[tuple[Handler, Packet]] = deque()
        self._tasklets: deque[Work] = deque()
        self._runnable: deque[Work] = deque()

    def paid_clock(self, times: int = 1) -> int:
        """Read the clock where a process may be what reads it: it pays until the tick.

        So it is in User-Mode Linux with our uml-clock-phase.patch: what lay between the
        last tick and now is gone.
        """
        if not self._busy:
            tick = self._tick
            self.spend(tick - self._now % tick)
            for _ in range(times - 1):
                self.spend(tick - self._now % tick)
        return self.clock

    def spend(self, time_ns: int) -> None:
        """Let time pass, as only a process can; what interrupts comes at its end.

        User-Mode Linux has interrupts off meanwhile: time_travel_update_time_rel(),
        arch/um/kernel/time.c.
        """
        self._now += time_ns
        self.clock = self._now - self._now % self._tick
        if self._timers.heap and self._fire_ns <= self._now:
            self._interrupt()

    def start(self, timer: Timer, soft_ns: int, slack_ns: int = 0) -> None:
        """Start or move a timer."""
        if len(self._timers.heap) > _MOST_STALE:
            self._timers.keep(lambda serial, each: each.serial == serial)
        moved = timer.serial
        was_first = moved and self._timers.heap[0][1] == moved
        timer.soft_ns = soft_ns
        timer.hard_ns = timer.queued_ns = soft_ns + slack_ns
        timer.serial = serial = self._timers.push(timer.hard_ns, timer)
        if moved:
            self._drop_stale()
        if was_first or self._timers.heap[0][1] == serial:
            self._program()

    def postpone(self, timer: Timer, time_ns: int) -> None:
        """Start or move a timer that is mostly moved to later, and seldom runs."""
        if timer.serial and time_ns >= timer.queued_ns:
            timer.soft_ns = timer.hard_ns = time_ns
            if self._timers.heap[0][1] == timer.serial:
                self._drop_stale()
                self._program()
        else:
            self.start(timer, time_ns)

    def cancel(self, timer: Timer) -> None:
        """Forget a timer, if it is queued."""
        if timer.serial:
            first = self._timers.heap[0][1] == timer.serial
            timer.serial = 0
            self._drop_stale()
            if first:
                self._program()

    def transmit_later(self, work: Work) -> None:
        """Have a qdisc run in the NET_TX softirq of this interrupt."""
        self._transmitters.append(work)

    def receive(self, handler: Handler, packet: Packet) -> None:
        """Put a packet on the backlog of NET_RX; a process waits until it is done."""
        self._backlog.append((handler, packet))
        if not self._busy:
            self._busy = True
            self._run_softirqs()
            self._busy = False

    def tasklet(self, work: Work) -> None:
        """Have work done after all packets on the backlog."""
        self._tasklets.append(work)

    def wake(self, process: Work) -> None:
        """Have a process run when interrupts and softirqs are done."""
        self._runnable.append(process)

    def wake_on_time(self, process: Work) -> None:
        """Have a process run before what softirqs have left, which it runs by finish().

        Once a process is awake, handle_softirqs() leaves what a round has raised:
        kernel/softirq.c.  measured, with the kernel's sched_switch and softirq_entry:
        that process comes before ksoftirqd, which was woken after it, and runs what is
        left as soon as it enables softirqs.  What waits for a socket does that first of
        all, to lock it; what waits for the time reads the clock before.
        """
        self._on_time = process
        self._runnable.append(process)

    def finish(self) -> None:
        """Run the softirqs that are left, as a process: local_bh_enable()."""
        self._busy = True
        self._run_softirqs()
        self._busy = False

    def run(self) -> None:
        """Run until no timer and no process is left.

        Raises SpecError if that takes more than _LONGEST_NS.
        """
        runnable, heap = self._runnable, self._timers.heap
        interrupts = 0
        while runnable or heap:
            while runnable:
                process = runnable.popleft()
                self._on_time = None if process is self._on_time else self._on_time
                process()
            if heap:
                self._now = now = max(self._now, self._fire_ns)
                self.clock = now - now % self._tick
                self._interrupt()
                interrupts += 1
                if not interrupts % _BREATHE_EVERY:
                    self._breathe()

    def stop(self) -> None:
        """Forget all that is to come, so that run() ends."""
        self._runnable.clear()
        self._timers.keep(_none)

    def _breathe(self) -> None:
        let_signals_in()
        if self._now - self._began > _LONGEST_NS:
            seconds = _LONGEST_NS // NS_PER_S
            raise SpecError(f"it takes more than {seconds} s: the model stops there")

    def _program(self) -> None:
        """Set the clock's timer to when the first timer's slack ends."""
        heap = self._timers.heap
        if heap and not self._in_interrupt:
            due = max(heap[0][0], self.clock + self._min_delta)
            # Our uml-clock-phase.patch: the first tick on which it has expired.
            self._fire_ns = due + -due % self._tick

    def _drop_stale(self) -> None:
        """Keep what was moved or cancelled from being first."""
        heap = self._timers.heap
        while heap:
            queued_ns, serial, timer = heap[0]
            if serial == timer.serial:
                if timer.hard_ns <= queued_ns:
                    return
                timer.queued_ns = timer.hard_ns
                timer.serial = self._timers.push(timer.hard_ns, timer)
            self._timers.pop()

    def _interrupt(self) -> None:
        heap, clock = self._timers.heap, self.clock
        self._busy = self._in_interrupt = True
        while heap and (timer := heap[0][2]).soft_ns <= clock:
            self._timers.pop()
            self._drop_stale()
            timer.serial = 0
            timer.callback()
        self._in_interrupt = False
        self._program()
        self._run_softirqs()
        self._busy = False

    def _run_softirqs(self) -> None:
        """Run rounds of softirqs; one has what was raised before it began."""
        transmitters, tasklets = self._transmitters, self._tasklets
        backlog = self._backlog
        rounds = 0
        while transmitters or backlog or tasklets:
            self.ksoftirqd = rounds >= _MOST_ROUNDS
            rounds += 1
            sends, packets, works = len(transmitters), bool(backlog), len(tasklets)
            for _ in range(sends):
                transmitters.popleft()()
            while packets and backlog:
                handler, packet = backlog.popleft()
                handler(packet)
            for _ in range(works):
                tasklets.popleft()()
            if self._on_time and self._runnable[0] is self._on_time:
                break
        self.ksoftirqd = False


def _none(serial: int, timer: Timer) -> bool:
    """Want no timer."""
    return False
