"""How far things are: one live line a task on a terminal, plain lines in a pipe."""

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
)

from testbed.kernels.progress import Progress as Build
from testbed.store import Run


class ConsoleWatch:
    """Shows what is going on. Not a number of it is a result."""

    def __init__(self, console: Console, bars: Progress) -> None:
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

    def _show(self, what: str, done: int, total: int, detail: str) -> None:
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
            self._console.print(f"{what}{tenth}", highlight=False, soft_wrap=True)


@contextmanager
def watching(console: Console) -> Iterator[ConsoleWatch]:
    """Show progress on a console for as long as the block lasts."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", style="dim"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        yield ConsoleWatch(console, bars)
