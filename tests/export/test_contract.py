"""The JSON of the contract: what a script may rely on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from report.builders import AFTER, STATE, in_real_time, result

from testbed.export.contract import results_json
from testbed.predicted import Unreached
from testbed.report.result import Result


@pytest.fixture
def stored(tmp_path: Path) -> Result:
    plain = result(tmp_path)
    for name in ("workload", "environment"):
        (tmp_path / f"{name}.json").write_text("{}")
    return plain


def answer(of: Result) -> dict:
    return json.loads(json.dumps(results_json([of]), allow_nan=False))


def test_a_run_has_what_the_model_says_beside_it(stored: Result) -> None:
    model = answer(stored)["runs"][0]["model"]

    assert model["match"] == 1.0
    assert model["packets"] == {"measured": 50, "predicted": 50}
    assert model["first_divergence"] is None
    assert (model["size_distance"], model["stretch_distance"]) == (0.0, 0.0)
    assert model["attribution"] == {"autosize": 0.75, "cwnd_quota": 0.25}
    assert model["counters"]["sender"]["IpOutRequests"] == 601
    assert model["metrics"]["tso_segs"]["n"] == 50
    assert model["metrics"]["tso_segs"]["unit"] == "segments"


def test_a_first_divergence_has_both_packets_and_both_senders(stored: Result) -> None:
    found = answer(stored)["runs"][1]["model"]["first_divergence"]

    assert found["index"] == 0
    assert found["measured"] == {"time_ns": 40_000_000, "seq": 0, "length": 10_000}
    assert found["predicted"] == {"time_ns": 40_000_000, "seq": 0, "length": 5_000}
    assert found["sender"]["measured"]["snd_cwnd"] == 10
    assert found["sender"]["predicted"] == STATE


def test_a_kernel_that_sends_no_more_has_no_packet_and_no_sender(
    stored: Result,
) -> None:
    after = stored.predicted("after")
    assert after is not None
    assert after.match is not None
    assert after.match.first_divergence is not None
    ended = replace(after.match.first_divergence, measured=None)
    held = replace(after, match=replace(after.match, first_divergence=ended))

    found = answer(replace(stored, predictions={"after": held}))["runs"][1]["model"]

    assert found["first_divergence"]["measured"] is None
    assert found["first_divergence"]["sender"]["measured"] is None


def test_a_variant_the_model_does_not_reach_says_why(stored: Result) -> None:
    gone = {"after": Unreached(variant="after", why="too far")}

    runs = answer(replace(stored, predictions=gone))["runs"]

    assert runs[1]["model"] == {"unreached": "too far"}
    assert "model" not in runs[0]


def test_a_repeat_says_which_run_the_model_was_held_against(stored: Result) -> None:
    again = replace(stored.runs[0], run=replace(stored.runs[0].run, repeat=2))

    runs = answer(replace(stored, runs=(*stored.runs, again)))["runs"]

    assert [each["repeat"] for each in runs] == [1, 1, 2]
    assert [each["model"]["repeat"] for each in runs] == [1, 1, 1]


def test_a_claim_has_three_voices(stored: Result) -> None:
    claim = answer(stored)["claims"][2]

    assert claim["metric"] == "TcpOutSegs"
    assert claim["claimed"] == {"before": 1400, "after": 1400}
    assert claim["measured"] == {
        "before": 7001,
        "after": AFTER["receiver"]["TcpOutSegs"],
    }
    assert claim["model"] == {"before": 7001, "after": 8008}


def test_a_ratio_has_what_was_claimed_measured_and_its_interval(tmp_path) -> None:
    (claim,) = results_json([replace(in_real_time(tmp_path), runs=())])["claims"]

    assert claim["ratio"] == {
        "over": "after",
        "under": "before",
        "claimed": pytest.approx(1.4446, abs=1e-4),
        "measured": 1.351,
        "interval": [1.092, 1.738],
        "pairs": 10,
    }


def test_in_virtual_time_there_is_no_ratio(stored: Result) -> None:
    assert [each["ratio"] for each in answer(stored)["claims"]] == [None] * 4
