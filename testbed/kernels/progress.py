"""How far a build is, and make's output as such."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal[
    "unpack", "copy", "patch", "configure", "compile", "wait", "install", "remove"
]

_STEP = re.compile(r"  (?:CC|AS|LD|AR)\s+(?:\[\w+\]\s*)?(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One report from a running build.

    done, total: in the phase's own unit (bytes, files, compiler calls); total is at
    least 1 and an estimate, done never exceeds it.  detail: what is in hand.
    """

    phase: Phase
    done: int
    total: int
    detail: str

    def __post_init__(self) -> None:
        if not 0 <= self.done <= self.total or self.total < 1:
            raise ValueError(f"{self.done} of {self.total} is no progress")


OnProgress = Callable[[Progress], None]


class Counter:
    """Counts the steps of one phase against an estimate that may be too low."""

    def __init__(self, phase: Phase, total: int, on_progress: OnProgress) -> None:
        self.phase: Phase = phase
        self.total = max(total, 1)
        self.done = 0
        self._on_progress = on_progress

    def step(self, detail: str, *, by: int = 1) -> None:
        """Count one more step (or several) and report."""
        self.done += by
        self._report(min(self.done, self.total), detail)

    def finish(self, detail: str) -> None:
        """Report the phase as complete, whatever the estimate was."""
        self._report(self.total, detail)

    def _report(self, done: int, detail: str) -> None:
        self._on_progress(
            Progress(phase=self.phase, done=done, total=self.total, detail=detail)
        )


def built_file(line: str) -> str | None:
    """Return the file that this line of make's output says is being built, if any."""
    match = _STEP.match(line)
    return match[1] if match else None
