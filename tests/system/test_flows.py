"""Many flows and transactions on a real kernel, and packets beyond 64 KB."""

from itertools import pairwise
from pathlib import Path

import pytest
from commands import run_json

pytestmark = pytest.mark.guest
#: The rack of 2022, a little of it.
FLOWS = """\
question: Do many flows do as they are told?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
topology: rack_local
path:
  {rtt: 40us, rate: 10gbit, mtu: 4168, queue: 1000,
   link_sizes: {gso_max_size: 185000, gro_max_size: 185000}}
workload: {family: 6}
variants:
  groups:
    workload:
      duration: 50ms
      stagger: 1ms
      groups:
        - {flows: 3, congestion: dctcp, pacing_rate: 80mbit}
        - {flows: 5, congestion: reno, pacing_rate: 8mbit}
  uncaptured:
    workload: {flows: 600, bytes: 100000}
    capture: false
  transactions:
    workload:
      {flows: 2, duration: 5ms, request_size: 80000, response_size: 80000}
"""


@pytest.fixture(scope="module")
def runs(kernel, tmp_path_factory) -> dict[str, dict]:
    """Return what run --json says of each workload."""
    folder: Path = tmp_path_factory.mktemp("flows")
    (folder / "flows.yaml").write_text(FLOWS)
    answer = run_json(folder, "flows.yaml")
    return {run["variant"]: run for run in answer["runs"]}


def test_each_group_keeps_its_pacing_rate(runs) -> None:
    flows = runs["groups"]["workload"]["flows"]

    rates = [8e9 * f["bytes"] / (f["end_ns"] - f["begin_ns"]) for f in flows]
    assert rates[:3] == pytest.approx([80e6] * 3, rel=0.15)
    assert rates[3:] == pytest.approx([8e6] * 5, rel=0.15)


def test_flows_start_one_after_the_other(runs) -> None:
    begun = [each["begin_ns"] for each in runs["groups"]["workload"]["flows"]]

    gaps = [later - one for one, later in pairwise(begun)]
    assert gaps == pytest.approx([1_000_000] * 7, rel=0.05)


def test_metrics_are_of_all_flows_and_what_the_kernel_says_of_the_first(runs) -> None:
    run = runs["groups"]

    carried = sum(each["bytes"] for each in run["workload"]["flows"])
    sizes = run["metrics"]["tso_size"]
    assert sizes["mean"] * sizes["n"] == pytest.approx(carried)
    assert sum(run["attribution"].values()) == pytest.approx(1)


def test_the_model_says_that_it_does_not_reach_them(runs) -> None:
    assert "many flows" in runs["groups"]["model"]["unreached"]


def test_what_is_not_captured_is_counted_and_timed(runs) -> None:
    run = runs["uncaptured"]

    assert run["captures"] == {}
    assert "tso_size" not in run["metrics"]
    assert [each["bytes"] for each in run["workload"]["flows"]] == [100_000] * 600
    assert run["metrics"]["segs_per_ack"]["mean"] > 1
    assert run["metrics"]["throughput"]["mean"] > 0


def test_a_packet_beyond_64_kb_passes_the_router_whole(runs) -> None:
    run = runs["transactions"]

    assert run["metrics"]["tso_size"]["p90"] == 80_000
    assert "Icmp6InPktTooBigs" not in run["counters"]["sender"]


def test_transactions_are_counted_and_timed(runs) -> None:
    run = runs["transactions"]

    done = sum(each["transactions"] for each in run["workload"]["flows"])
    assert run["metrics"]["latency"]["n"] == done > 10
    assert run["metrics"]["latency"]["mean"] > 40_000
    assert run["metrics"]["transactions"]["mean"] == pytest.approx(
        done / 0.005, rel=0.1
    )
