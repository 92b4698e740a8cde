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
from testbed.store import Run


class ConsoleWatch:
    """Shows what is going on. Not a number of it is a result."""

    def __init__(
        self, console: Console, bars: Progress, *, quiet: bool = False
    ) -> None:
        self._quiet = quiet
        self._began: tuple[float, int] | None = None
        self._console = console
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[str, str] = {}

    def kernel(self, name: str, progress: Build) -> None:
        """Show how far the build of a kernel is."""
        what = f"kernel {name}: {progress.phase}"
        self._show(what, progress.done, progress.total, progress.detail)

    def run(self, run: Run, phase: str) -> None:
        """Show what a run is doing."""
        ended = phase in ("whole", "void", "measured")
        what = f"{run.experiment.name} {run.variant} #{run.repeat}"
        self._show(what, int(ended), 1, phase)

    def sweep(self, done: int, total: int, told: str) -> None:
        """Show how many points of a sweep are done, and how long the others take."""
        if self._console.is_terminal:
            self._show("points", done, total, f"{done}/{total} {told}")
            return
        left = self._time_left(done, total)
        self._line(f"point {done} of {total}: {told}{left}")

    def _time_left(self, done: int, total: int) -> str:
        if self._began is None:
            self._began = (time.monotonic(), done)
        since, before = self._began
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
            self._tasks[what] = self._bars.add_task(what, total=total or None)
        self._bars.update(
            self._tasks[what], completed=done, total=total or None, detail=detail
        )

    def _say(self, what: str, done: int, total: int, detail: str) -> None:
        # A line a phase, and one at every tenth of what is counted.
        tenth = f" {done * 10 // total * 10}%" if total > 1 else f": {detail}"
        if self._said.get(what) != tenth:
            self._said[what] = tenth
            self._line(f"{what}{tenth}")

    def _line(self, text: str) -> None:
        if not self._quiet:
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextmanager
def watching(console: Console, *, quiet: bool = False) -> Iterator[ConsoleWatch]:
    """Show progress on a console for as long as the block lasts; quiet: show none."""
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
        yield ConsoleWatch(console, bars, quiet=quiet)
