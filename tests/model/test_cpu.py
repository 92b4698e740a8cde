from collections.abc import Callable

import pytest

from testbed.model.cpu import Cpu, Machine, Timer
from testbed.model.packet import Packet

IDEAL = Machine(tick=1, min_delta=0)


def noting(cpu: Cpu, notes: list[int]) -> Callable[[], None]:
    return lambda: notes.append(cpu.clock)


def test_a_timer_without_slack_runs_at_its_time() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    cpu.start(Timer(noting(cpu, notes)), 1000)
    cpu.run()

    assert notes == [1000]


def test_a_timer_with_slack_runs_at_the_end_of_it_if_nothing_else_happens() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    cpu.start(Timer(noting(cpu, notes)), 1000, 500)
    cpu.run()

    assert notes == [1500]


def test_a_timer_with_slack_runs_with_an_interrupt_that_comes_first() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    cpu.start(Timer(noting(cpu, notes)), 1000, 500)
    cpu.start(Timer(lambda: None), 1200)
    cpu.run()

    assert notes == [1200]


def test_a_timer_runs_on_the_first_tick_on_which_it_has_expired() -> None:
    cpu, notes = Cpu(Machine(), 0), list[int]()
    cpu.start(Timer(noting(cpu, notes)), 1000)
    cpu.run()

    assert notes == [1024]


def test_a_cancelled_timer_does_not_run() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    timer = Timer(noting(cpu, notes))
    cpu.start(timer, 1000)
    cpu.cancel(timer)
    cpu.run()

    assert notes == []


def test_a_moved_timer_runs_once() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    timer = Timer(noting(cpu, notes))
    cpu.start(timer, 1000)
    cpu.start(timer, 2000)
    cpu.run()

    assert notes == [2000]


def test_a_timer_that_was_first_and_is_moved_leaves_no_interrupt_behind() -> None:
    # __hrtimer_start_range_ns(): it forces the clock's timer to be set anew.
    cpu, notes = Cpu(Machine(), 0), list[int]()
    timer = Timer(lambda: None)
    cpu.start(timer, 1000)
    cpu.start(Timer(noting(cpu, notes)), 900, 5000)
    cpu.start(timer, 3000)
    cpu.run()

    assert notes == [3072]


def test_packets_come_before_tasklets_and_tasklets_before_processes() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[str]()

    def interrupt() -> None:
        cpu.wake(lambda: notes.append("process"))
        cpu.tasklet(lambda: notes.append("tasklet"))
        cpu.receive(lambda _: notes.append("packet"), Packet(0, 0, 1, 52))

    cpu.start(Timer(interrupt), 1000)
    cpu.run()

    assert notes == ["packet", "tasklet", "process"]


def test_only_a_process_pays_for_looking_at_the_clock() -> None:
    cpu, notes = Cpu(Machine(), 1024), list[int]()
    cpu.start(Timer(lambda: notes.append(cpu.paid_clock() - cpu.clock)), 2048)
    paid = cpu.paid_clock()
    cpu.run()

    assert (paid, notes) == (1280, [0])


def test_time_that_a_process_spends_delays_what_was_due_meanwhile() -> None:
    # arch/um/kernel/time.c: interrupts are off in time_travel_update_time_rel().
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    cpu.start(Timer(noting(cpu, notes)), 1000)
    cpu.spend(5000)

    assert notes == [5000]


def test_time_spent_before_a_timer_is_due_runs_nothing() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    cpu.start(Timer(noting(cpu, notes)), 1000)
    cpu.spend(999)

    assert notes == []


def test_the_clock_is_a_multiple_of_its_tick() -> None:
    cpu = Cpu(Machine(), 1000)
    cpu.spend(300)

    assert cpu.clock == 1280  # of 1300


def test_a_reading_takes_until_the_next_tick() -> None:
    cpu = Cpu(Machine(), 1000)
    first = cpu.paid_clock()

    assert (first, cpu.paid_clock(3)) == (1024, 1024 + 3 * 256)


def test_a_postponed_timer_runs_at_its_last_time_only() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    timer = Timer(noting(cpu, notes))
    cpu.postpone(timer, 1000)
    cpu.postpone(timer, 3000)
    cpu.postpone(timer, 2000)
    cpu.run()

    assert notes == [2000]


def test_a_postponed_timer_may_move_before_its_first_time() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    timer = Timer(noting(cpu, notes))
    cpu.postpone(timer, 3000)
    cpu.postpone(timer, 1000)
    cpu.run()

    assert notes == [1000]


def test_a_postponed_timer_does_not_hold_others_up() -> None:
    cpu, notes, others = Cpu(IDEAL, 0), list[int](), list[int]()
    timer = Timer(noting(cpu, notes))
    cpu.postpone(timer, 1000)
    cpu.start(Timer(noting(cpu, others)), 2000)
    cpu.postpone(timer, 3000)
    cpu.run()

    assert (notes, others) == ([3000], [2000])


def test_a_postponed_timer_may_be_started_again_once_it_ran() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()
    timer = Timer(noting(cpu, notes))
    cpu.postpone(timer, 1000)
    cpu.run()
    cpu.postpone(timer, 2000)
    cpu.run()

    assert notes == [1000, 2000]


def test_a_cancelled_timer_that_is_not_first_leaves_the_clocks_timer_alone() -> None:
    # __remove_hrtimer(); to set it anew, 256 ns before it is due, would be 500 ns.
    cpu, notes = Cpu(Machine(), 0), list[int]()
    later = Timer(lambda: None)
    cpu.start(Timer(noting(cpu, notes)), 1000)
    cpu.start(later, 5000)
    cpu.spend(800)
    cpu.cancel(later)
    cpu.run()

    assert notes == [1024]


@pytest.mark.parametrize(
    ("on_time", "order"),
    [
        pytest.param(True, ["timer's", "read", "packet"], id="waits-for-the-time"),
        pytest.param(False, ["packet", "timer's", "read"], id="waits-for-a-socket"),
    ],
)
def test_who_is_awake_runs_what_softirqs_have_left(
    *, on_time: bool, order: list[str]
) -> None:
    cpu, notes = Cpu(IDEAL, 0), list[str]()

    def process() -> None:
        notes.append("timer's")
        cpu.spend(10)
        notes.append("read")
        cpu.finish()

    def interrupt() -> None:
        (cpu.wake_on_time if on_time else cpu.wake)(process)
        cpu.transmit_later(
            lambda: cpu.receive(lambda _: notes.append("packet"), Packet(0, 0, 1, 52))
        )

    cpu.start(Timer(interrupt), 1000)
    cpu.run()

    assert notes == order


def test_softirqs_that_raise_softirqs_become_ksoftirqds_after_ten_rounds() -> None:
    cpu, rounds = Cpu(IDEAL, 0), list[bool]()

    def again() -> None:
        rounds.append(cpu.ksoftirqd)
        if not cpu.ksoftirqd:
            cpu.tasklet(again)

    cpu.start(Timer(lambda: cpu.tasklet(again)), 1000)
    cpu.run()

    assert rounds == [False] * 10 + [True]
    assert not cpu.ksoftirqd


def test_an_interrupt_while_a_process_runs_also_runs_what_is_left() -> None:
    cpu, notes = Cpu(IDEAL, 0), list[int]()

    def process() -> None:
        cpu.spend(20)
        cpu.finish()

    def interrupt() -> None:
        cpu.wake_on_time(process)
        cpu.transmit_later(lambda: cpu.transmit_later(noting(cpu, notes)))

    cpu.start(Timer(interrupt), 1000)
    cpu.start(Timer(lambda: None), 1015)
    cpu.run()

    assert notes == [1020]
