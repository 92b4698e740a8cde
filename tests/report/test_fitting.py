"""What a fit looks like: as lines, as rows and as JSON."""

import json

from testbed.model.fit import Candidate, Fit
from testbed.model.policies import POLICIES
from testbed.model.worlds import World
from testbed.report.fitting import FIT_HEAD, fit_json, fit_lines, fit_rows

CANDIDATE = Candidate(
    policy=POLICIES[0],
    world=World(sndbuf=1_000_000, pacing_rate=20_000_000),
    packets=400,
    same=399,
    match=399 / 400,
    size_distance=0.01,
    attribution={"cwnd_quota": 0.2, "autosize": 0.7975},
    first_miss=1012,
)
FIT = Fit(
    verdict="packet sizes are those of a rule",
    candidates=(CANDIDATE,) * 7,
    best=(POLICIES[0],),
    rows=(1000, 1400),
    packets=5000,
    ends="a loss, or a gap in the capture, shows there",
    delay_ns=1_500_000,
)


def test_a_row_has_the_rule_its_kernels_and_what_cut_the_packets() -> None:
    rows = fit_rows(FIT)

    assert len(rows) == 5
    assert len(rows[0]) == len(FIT_HEAD)
    assert rows[0] == (
        POLICIES[0].rule,
        POLICIES[0].kernels,
        "99.7%",
        "1%",
        "autosize 79.7%, cwnd_quota 20%",
    )


def test_the_lines_say_which_packets_and_what_was_not_known() -> None:
    assert fit_lines(FIT) == (
        "packet sizes are those of a rule",
        f"packets 1 000 to 1 399 of 5 000: {FIT.ends}",
        "cwnd was unknown when they began: taken from what was under way",
        "an ACK is taken to be at the sender 1.500 ms later than here",
    )


def test_of_a_trace_without_a_fit_only_the_reason_is_told() -> None:
    fit = Fit(verdict="cannot be fitted: 3 data packets are too few", packets=3)

    assert fit_lines(fit) == (fit.verdict,)
    assert fit_rows(fit) == ()
    assert fit_json(fit)["candidates"] == []
    assert fit_json(fit)["last_row"] is None


def test_json_has_every_candidate_and_what_it_took_for_granted() -> None:
    told = json.loads(json.dumps(fit_json(FIT), allow_nan=False))

    assert (told["first_row"], told["last_row"], told["packets"]) == (1000, 1399, 400)
    assert told["best"] == ["min_rtt-growth"]
    assert len(told["candidates"]) == 7
    assert told["candidates"][0]["assumed"] == {
        "congestion": "cubic",
        "sndbuf": 1_000_000,
        "paced": True,
        "max_pacing_rate": 160_000_000,
    }
    assert told["candidates"][0]["first_miss"] == 1012
