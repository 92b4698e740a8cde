"""A sweep from its points to its results: skip what is done, run the rest, measure all.

Start with sweep.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing
from pathlib import Path
from typing import Protocol

from testbed.errors import InfrastructureError, TestbedError
from testbed.measured import MeasuredRun
from testbed.pipeline import measured_runs
from testbed.report.swept import Figures, SweptPoint, figures_of
from testbed.sweep.here import Outcome
from testbed.sweep.task import Broken, Points, Task

Recorder = Callable[[Sequence[Task]], Generator[tuple[Task, Outcome], None, None]]


class SweepWatch(Protocol):
    """Whoever wants to see how far a sweep is."""

    def sweep(self, done: int, total: int, told: str) -> None:
        """Be told that so many points are done, and which was the last."""


def sweep(
    tasks: Sequence[Task],
    recorder: Recorder,
    points: Points,
    workers: Executor,
    watch: SweepWatch,
) -> tuple[tuple[SweptPoint, ...], tuple[Broken, ...]]:
    """Return the results of all points in their order, and those that are broken.

    recorder: runs points, and yields each as it ends.  workers: measure meanwhile; a
    point that is measured is kept, so that it need not run again.
    """
    measuring: dict[int, tuple[Task, Path, Future[Figures | str]]] = {}
    broken: list[Broken] = []

    def measure(task: Task, folder: Path) -> None:
        future = workers.submit(measured_or_why, folder)
        measuring[task.number] = (task, folder, future)

    found = {task.number: points.find(task) for task in tasks}
    for task in tasks:
        if folder := found[task.number]:
            measure(task, folder)
    todo = [task for task in tasks if not found[task.number]]
    done = len(tasks) - len(todo)
    watch.sweep(done, len(tasks), f"{done} were finished before" if done else "begins")
    with closing(recorder(todo)) as ended:  # an interrupt ends what is running
        for number, (task, outcome) in enumerate(ended, start=done + 1):
            how = "whole"
            if isinstance(outcome, TestbedError):
                broken.append(_broken(task, str(outcome)))
                how = "broken"
            else:
                points.keep(task, outcome)
                measure(task, outcome)
            watch.sweep(number, len(tasks), f"{' '.join(task.point.at)}: {how}")
    results, unmeasured = _results(measuring, points)
    broken += unmeasured
    return results, tuple(sorted(broken, key=lambda each: each.number))


def _broken(task: Task, why: str) -> Broken:
    return Broken(number=task.number, at=task.point.at, why=why)


def _results(
    measuring: Mapping[int, tuple[Task, Path, Future[Figures | str]]], points: Points
) -> tuple[tuple[SweptPoint, ...], list[Broken]]:
    results = []
    broken = []
    for _number, (task, folder, future) in sorted(measuring.items()):
        try:
            found = future.result()
        except BrokenExecutor as error:
            raise InfrastructureError(f"a measuring process ended: {error}") from error
        if isinstance(found, str):
            points.forget(task)
            broken.append(_broken(task, found))
        else:
            at = task.point.at
            results.append(SweptPoint(at=at, run_id=folder.name, figures=found))
    return tuple(results), broken


def measured_or_why(folder: Path) -> Figures | str:
    """Return the figures of each variant of a point, or why there are none.

    Not raised: it goes from a process to another.
    """
    try:
        runs: dict[str, list[MeasuredRun]] = {}
        for each in measured_runs(folder):
            runs.setdefault(each.run.variant, []).append(each)
    except TestbedError as error:
        return str(error)
    return {variant: figures_of(each) for variant, each in runs.items()}
