"""A sweep on a machine that runs nothing: what is run, skipped, broken and measured."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes import FakeMachine
from sweep.points import Heard, a_plan, a_task

from testbed.store import load_run
from testbed.sweep.here import record_here
from testbed.sweep.run import sweep
from testbed.sweep.task import Points, Task


def swept(tasks: list[Task], watch: Heard | None = None):
    points = Points(tasks[0].plan.out, "an-experiment")
    with ThreadPoolExecutor() as workers:
        return sweep(tasks, record_here, points, workers, watch or Heard())


def test_every_point_is_run_and_measured(tmp_path) -> None:
    plan = a_plan(tmp_path)

    results, broken = swept([a_task(plan, 1), a_task(plan, 2, rtt=2)])

    assert broken == ()
    assert [each.at for each in results] == [("1ms",), ("2ms",)]
    assert results[0].figures["before"]["TcpOutSegs"] == 10
    assert results[0].figures["after"]["tso_size.p99"] == 100


def test_finished_points_are_not_run_again(tmp_path) -> None:
    machine, watch = FakeMachine(), Heard()
    plan = a_plan(tmp_path, machine)
    first, _broken = swept([a_task(plan, 1)])

    again, _broken = swept([a_task(plan, 1), a_task(plan, 2, rtt=2)], watch)

    assert len(machine.seeds) == 4  # two variants a point, each point once
    assert again[0].run_id == first[0].run_id
    assert watch.told[0] == (1, 2, "1 were finished before")
    assert watch.told[-1] == (2, 2, "2ms: whole")


def test_a_broken_point_does_not_stop_the_rest(tmp_path) -> None:
    plan = a_plan(tmp_path, FakeMachine(fails=frozenset({"bad"})))

    results, broken = swept([a_task(plan, 1, name="bad"), a_task(plan, 2, rtt=2)])

    assert [each.at for each in results] == [("2ms",)]
    assert [(each.number, each.at) for each in broken] == [(1, ("1ms",))]
    assert "panicked" in broken[0].why


def test_a_broken_point_is_run_again_next_time(tmp_path) -> None:
    machine = FakeMachine(fails=frozenset({"bad"}))
    task = a_task(a_plan(tmp_path, machine), name="bad")
    swept([task])
    machine.fails = frozenset()

    results, broken = swept([task])

    assert (len(results), broken) == (1, ())


def test_a_point_that_cannot_be_measured_is_broken_and_forgotten(tmp_path) -> None:
    task = a_task(a_plan(tmp_path, FakeMachine(dropped=3)))

    results, broken = swept([task])

    assert results == ()
    assert "3 packets dropped" in broken[0].why
    assert Points(tmp_path, "an-experiment").find(task) is None


def test_what_is_raised_at_a_sweep_ends_every_machine(tmp_path) -> None:
    plan = a_plan(tmp_path)
    recording = record_here([a_task(plan, at, rtt=at) for at in range(1, 9)])
    next(recording)

    with pytest.raises(KeyboardInterrupt):
        recording.throw(KeyboardInterrupt)

    with pytest.raises(StopIteration):
        next(recording)


def test_a_point_on_its_own_leaves_an_ordinary_run(tmp_path) -> None:
    (_task, folder) = next(record_here([a_task(a_plan(tmp_path))]))

    assert isinstance(folder, Path)
    assert folder.parent == tmp_path / "an-experiment"
    assert load_run(folder / "before" / "1").whole
