"""Points on this machine: side by side in virtual time, in turns in real time."""

import os
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from testbed.errors import TestbedError
from testbed.kernels.progress import Progress
from testbed.pipeline import record
from testbed.process import Stop
from testbed.store import Run
from testbed.sweep.task import Task

#: What became of a point: the folder of its runs, or why there is none.
Outcome = Path | TestbedError


class Unwatched:
    """Sees nothing: the phases of many runs at once are nothing to look at."""

    def kernel(self, name: str, progress: Progress) -> None:
        """See no build."""

    def run(self, run: Run, phase: str) -> None:
        """See no run."""


def record_here(tasks: Sequence[Task]) -> Generator[tuple[Task, Outcome], None, None]:
    """Run points, as many at a time as there are cores; yield each as it ends.

    A point that breaks does not stop the others. Closing the iterator does, or what is
    raised at it; what had not ended is void then.
    """
    if not tasks:
        return
    real = tasks[0].plan.machine.clock == "real"
    abreast = 1 if real else len(os.sched_getaffinity(0))
    stop = Stop()
    with ThreadPoolExecutor(max_workers=abreast) as pool:
        futures = {pool.submit(record_task, task, stop): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:  # Ctrl-C too: no machine may outlive this
            for future in futures:
                future.cancel()
            stop.set()
            raise


def record_task(task: Task, stop: Stop) -> Outcome:
    """Run one point, one machine at a time; return its folder or what went wrong."""
    own = Stop()  # record() sets it if one of the point's runs fails
    try:
        with stop.watching(own.set):
            return record(
                task.point.experiment, task.kernels, task.plan, Unwatched(), own
            )
    except TestbedError as error:
        return error
