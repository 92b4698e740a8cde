from collections.abc import Callable

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
