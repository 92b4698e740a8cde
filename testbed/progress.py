"""How far things are: one live line a task on a terminal, plain lines in a pipe."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from testbed.kernels.progress import Progress as Build
from testbed.lab.sofar import SoFar, sofar
from testbed.report.numbers import amount, plural
from testbed.spec.workload import Workload
from testbed.store import Run

_ENDED = ("whole", "void", "measured")
_BITS, _NS = 8, 1_000_000_000
#: In a pipe a run's traffic is told of so often, in seconds.
_EVERY_S = 10.0
_PERCENT = 100


class ConsoleWatch:
    """Shows what is going on. Not a number of it is a result."""

    def __init__(
        self, console: Console, bars: Progress, *, quiet: bool = False
    ) -> None:
        self._console = console
        self._bars = bars
        self._quiet = quiet
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, str] = {}
        self._began: dict[str, tuple[float, int]] = {}
        self._sent: dict[str, SoFar] = {}
        self._told_at: dict[str, float] = {}
        self._folders: dict[str, None] = {}

    def kernel(self, name: str, progress: Build) -> None:
        """Show how far the build of a kernel is."""
        what = f"kernel {name}: {progress.phase}"
        self._show(what, progress.done, progress.total, progress.detail)

    def run(self, run: Run, phase: str) -> None:
        """Show what a run is doing."""
        self._folders[str(run.folder.parents[1])] = None
        what = f"{run.experiment.name} {run.variant} #{run.repeat}"
        told = sofar(phase)
        if told is not None:
            self._traffic(what, told, run.spec().workload)
            return
        self._show(what, int(phase in _ENDED), 1, phase)

    def sweep(self, done: int, total: int, told: str) -> None:
        """Show how many points of a sweep are done, and how long the others take."""
        if self._console.is_terminal:
            self._show("points", done, total, f"{done} of {total}, {told}")
            return
        left = self._time_left("points", done, total)
        self._line(f"point {done} of {total}: {told}{left}")

    def folders(self) -> tuple[str, ...]:
        """Return the folders of the runs that were seen, in their order."""
        return tuple(self._folders)

    def _traffic(self, what: str, told: SoFar, workload: Workload) -> None:
        """Show the time on the machine, the rate since the last time, the packets."""
        last = self._sent.get(what, SoFar(since=0, bytes=0, packets=0))
        self._sent[what] = told
        since = max(1, told.since - last.since)
        rate = (told.bytes - last.bytes) * _BITS * _NS / since
        detail = (
            f"traffic {amount(told.since, 'ns')}, {amount(rate, 'bit/s')}, "
            f"{plural(told.packets, 'packet')}"
        )
        if self._console.is_terminal:
            done = int(share_done(told, workload) * _PERCENT)
            self._show(what, done, _PERCENT, detail)
        elif time.monotonic() - self._told_at.get(what, 0) >= _EVERY_S:
            self._told_at[what] = time.monotonic()
            self._line(f"{what}: {detail}")

    def _time_left(self, what: str, done: int, total: int) -> str:
        since, before = self._began.setdefault(what, (time.monotonic(), done))
        if not before < done < total:
            return ""
        seconds = (time.monotonic() - since) / (done - before) * (total - done)
        return f"; about {_clock(seconds)} left"

    def _show(self, what: str, done: int, total: int, detail: str) -> None:
        if self._quiet:
            return
        if not self._console.is_terminal:
            self._say(what, done, total, detail)
            return
        if what not in self._tasks:
            # With its detail, or a line drawn before the update would lack it.
            self._tasks[what] = self._bars.add_task(
                what, total=total or None, detail=detail
            )
        self._bars.update(
            self._tasks[what], completed=done, total=total or None, detail=detail
        )

    def _say(self, what: str, done: int, total: int, detail: str) -> None:
        # A line a phase, and one at every tenth of what is counted.
        tenth = f" {done * 10 // total * 10}%" if total > 1 else f": {detail}"
        left = self._time_left(what, done, total) if total > 1 else ""
        if self._said.get(what) != tenth:
            self._said[what] = tenth
            self._line(f"{what}{tenth}{left}")

    def _line(self, text: str) -> None:
        if not self._quiet:
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def share_done(told: SoFar, workload: Workload) -> float:
    """Return the share of a workload that is done, from 0 to 1, as far as one can."""
    if workload.duration is not None:
        return min(1.0, told.since / workload.duration)
    whole = (workload.bytes or 0) * workload.flows
    return min(1.0, told.bytes / whole) if whole else 0.0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextmanager
def watching(console: Console, *, quiet: bool = False) -> Iterator[ConsoleWatch]:
    """Show progress on a console for as long as the block lasts; quiet: show none.

    If the block is interrupted, say where the runs are that it had begun.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", style="dim"),
    )
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=hidden) as bars:
        watch = ConsoleWatch(console, bars, quiet=quiet)
        try:
            yield watch
        except KeyboardInterrupt:
            for folder in watch.folders():
                told = f"testbed: what was recorded is in {folder}"
                console.print(told, highlight=False, markup=False, soft_wrap=True)
            raise
