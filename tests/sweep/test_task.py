"""What a point is known by, and how a finished one is found again."""

import shutil
from dataclasses import replace
from pathlib import Path

from builders import BUILT
from sweep.points import a_plan, a_task

from testbed.process import Stop
from testbed.sweep.here import record_task
from testbed.sweep.task import Points, Task


def finished(task: Task) -> tuple[Points, Path]:
    points = Points(task.plan.out, "an-experiment")
    folder = record_task(task, Stop())
    assert isinstance(folder, Path)
    points.keep(task, folder)
    return points, folder


def test_the_same_point_has_the_same_hash(tmp_path) -> None:
    here, there = a_plan(tmp_path), a_plan(tmp_path / "elsewhere")

    assert a_task(here).hash == a_task(there, number=2).hash


def test_all_that_decides_changes_the_hash(tmp_path) -> None:
    plan = a_plan(tmp_path)
    kernel = replace(BUILT, identity=replace(BUILT.identity, build_id="00"))

    hashes = {
        a_task(plan).hash,
        a_task(plan, rtt=2).hash,
        a_task(a_plan(tmp_path, seed=2)).hash,
        a_task(a_plan(tmp_path, repeats=2)).hash,
        replace(a_task(plan), kernels={"6.12": kernel}).hash,
    }

    assert len(hashes) == 5


def test_what_a_kernel_is_called_does_not_change_the_hash(tmp_path) -> None:
    task = a_task(a_plan(tmp_path))
    named = replace(BUILT, identity=replace(BUILT.identity, name="mine"))

    assert replace(task, kernels={"6.12": named}).hash == task.hash


def test_a_finished_point_is_found_again(tmp_path) -> None:
    task = a_task(a_plan(tmp_path))
    points, folder = finished(task)

    assert points.find(task) == folder
    assert points.find(a_task(task.plan, rtt=2)) is None


def test_a_point_whose_runs_are_gone_is_not_finished(tmp_path) -> None:
    task = a_task(a_plan(tmp_path))
    points, folder = finished(task)
    shutil.rmtree(folder)

    assert points.find(task) is None


def test_a_point_with_a_void_run_is_not_finished(tmp_path) -> None:
    task = a_task(a_plan(tmp_path))
    points, folder = finished(task)
    record = folder / "after" / "1" / "run.json"
    record.write_text(record.read_text().replace('"whole"', '"void"'))

    assert points.find(task) is None


def test_a_point_is_forgotten(tmp_path) -> None:
    task = a_task(a_plan(tmp_path))
    points, _folder = finished(task)

    points.forget(task)

    assert points.find(task) is None
