"""A run that an earlier version stored is still read, measured and drawn.

One of each format there has been: only 1 so far, though records have grown within it.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from testbed.pipeline import measured_result
from testbed.report.drawn import draw
from testbed.report.page import render
from testbed.report.result import Result
from testbed.store import FORMAT, Run

REFERENCE = Path(__file__).parent.parent / "captures/reference"


class SilentWatch:
    def kernel(self, *_told: object) -> None:
        """Nothing is built."""

    def run(self, _run: Run, _phase: str) -> None:
        """Nobody looks."""


def stored(format_number: int) -> Result:
    (folder,) = (REFERENCE / f"stored-format-{format_number}").iterdir()
    with ThreadPoolExecutor() as workers:
        return measured_result(folder, SilentWatch(), workers)


@pytest.mark.parametrize("format_number", range(1, FORMAT + 1))
def test_a_run_of_each_format_is_read_as_what_was_told_when_it_was_new(
    format_number: int,
) -> None:
    found = stored(format_number)

    before = found.first("before")
    assert before.metrics["tso_segs"].summary().n == 72
    assert before.counters["sender"]["TcpRetransSegs"] > 0
    assert before.attribution == pytest.approx(
        {"autosize": 71 / 72, "end_of_data": 1 / 72}, abs=0.01
    )
    assert "0 of 5 claims reproduced" in render([draw(found)])
