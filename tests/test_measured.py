"""A measured run: the sample of the sender's state that a moment is known by."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report.builders import MSS, START_NS, experiment, measured, run, samples, steady

from testbed.trace.decisions import COLUMNS, Decisions

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


def decided(*seqs: int) -> Decisions:
    """Return decisions in which every column but seq counts from its place on."""
    columns = {name: np.arange(len(seqs)) + 100 * at for at, name in enumerate(COLUMNS)}
    return Decisions(**{**columns, "seq": np.array(seqs)})


def test_the_kernels_own_state_is_returned_where_it_said_so(tmp_path: Path) -> None:
    plain = measured(run(experiment(), "before", tmp_path), steady(3, 1), {})
    told = decided(0, 2 * MSS)

    state = replace(plain, decisions=told).deciding_on(2)

    assert state is not None
    assert state["srtt_us"] == told.srtt_us[1]
    assert state["snd_una"] + state["snd_wnd"] == told.wnd_end[1]


def test_of_a_packet_that_was_lost_or_sent_again_nothing_is_known(
    tmp_path: Path,
) -> None:
    seen = steady(3, 1)
    again = replace(seen, seq=np.array([0, MSS, 0]))
    plain = measured(run(experiment(), "before", tmp_path), again, {})
    told = replace(plain, decisions=decided(0))

    assert told.deciding_on(0) is not None
    assert told.deciding_on(1) is None
    assert told.deciding_on(2) is None
    assert plain.deciding_on(0) is None
