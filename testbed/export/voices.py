"""The traces of a result: each run's first flow as measured, and what the model says.

What exports packet by packet walk over. Start with voices.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.measured import MeasuredRun
from testbed.report.result import Result
from testbed.trace.trace import Trace

MEASURED, MODEL = "measured", "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """One trace of a result. said_by: MEASURED or MODEL, which goes with repeat 1."""

    run: MeasuredRun
    said_by: str
    trace: Trace

    @property
    def name(self) -> str:
        """Return a name that can be a file's: "before-1", "before-1-model"."""
        model = f"-{MODEL}" if self.said_by == MODEL else ""
        return f"{self.run.run.variant}-{self.run.run.repeat}{model}"


def voices(result: Result) -> Iterator[Voice]:
    """Yield what was measured of each run, and after its first what the model says.

    Runs without a capture have no trace, and are left out.
    """
    for run in result.runs:
        if run.trace is not None:
            yield Voice(run=run, said_by=MEASURED, trace=run.trace)
        predicted = result.predicted(run.run.variant)
        if predicted and run is result.first(run.run.variant):
            yield Voice(run=run, said_by=MODEL, trace=predicted.trace)
