"""A measured run: the sample of the sender's state that a moment is known by."""

from pathlib import Path

import pytest
from report.builders import START_NS, experiment, measured, run, samples, steady

MS = 1_000_000


@pytest.mark.parametrize(
    ("since_start_ns", "cwnd"),
    [
        pytest.param(40 * MS, 10, id="at-the-first"),
        pytest.param(50 * MS - 1, 10, id="just-before-the-second"),
        pytest.param(50 * MS, 11, id="at-the-second"),
        pytest.param(999 * MS, 12, id="after-the-last"),
    ],
)
def test_the_last_sample_by_then_is_returned(
    tmp_path: Path, since_start_ns: int, cwnd: int
) -> None:
    one = measured(run(experiment(), "before", tmp_path), steady(2, 2), {}, samples(3))

    found = one.sample_before(since_start_ns)

    assert found is not None
    assert found["snd_cwnd"] == cwnd
    assert found["time_ns"] <= START_NS + since_start_ns


def test_before_the_first_sample_there_is_none(tmp_path: Path) -> None:
    one = measured(run(experiment(), "before", tmp_path), steady(2, 2), {}, samples(3))

    assert one.sample_before(40 * MS - 1) is None
