"""A real kernel in real time: variants in turns on the host's clock, and a ratio."""

import json
import time
from pathlib import Path

import pytest
from commands import run_json

pytestmark = pytest.mark.guest
#: The same work twice, once in packets of one segment.
WORK = """\
question: What does it cost to send packets that are not joined?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
topology: rack_local
path: {rtt: 1ms, rate: 1gbit, queue: 1000}
workload: {bytes: 8MB}
variants:
  before: {sender: {offloads: {tcp-segmentation-offload: false,
    generic-segmentation-offload: false}}}
  after: {}
claims:
  - {metric: cpu, before: 200ms, after: 100ms, source: none, needs: real}
  - {metric: TcpOutSegs, before: 5794, after: 5794, source: none}
"""


@pytest.fixture(scope="module")
def told(kernel, tmp_path_factory) -> tuple[dict, int, int]:
    """Return what run --json says, and the host's time before and after it."""
    folder: Path = tmp_path_factory.mktemp("real")
    (folder / "work.yaml").write_text(WORK)
    began = time.time_ns()
    answer = run_json(folder, "work.yaml", "--machine", "uml-real", "--repeat", "2")
    return answer, began, time.time_ns()


def test_the_clock_is_the_hosts(told) -> None:
    answer, began, ended = told

    for run in answer["runs"]:
        assert (run["machine"], run["clock"]) == ("uml-real", "real")
        assert began < run["workload"]["begin_ns"] < run["workload"]["end_ns"] < ended
        assert 0 < run["virtual_seconds"] < run["wall_seconds"]
        stored = json.loads((Path(run["folder"]) / "environment.json").read_text())
        assert "time-travel" not in stored["command_line"]


def test_variants_take_turns(told) -> None:
    runs = sorted(told[0]["runs"], key=lambda run: run["workload"]["begin_ns"])

    assert [(run["variant"], run["repeat"]) for run in runs] == [
        ("before", 1),
        ("after", 1),
        ("before", 2),
        ("after", 2),
    ]


def test_work_costs_time_there(told) -> None:
    cpu = {
        (run["variant"], run["repeat"]): run["metrics"]["cpu"]["mean"]
        for run in told[0]["runs"]
    }

    assert min(cpu.values()) > 1_000_000
    claim = told[0]["claims"][0]
    measured = {name: (cpu[name, 1] + cpu[name, 2]) / 2 for name in ("before", "after")}
    assert claim["measured"] == measured
    assert claim["ratio"]["measured"] == measured["after"] / measured["before"]


def test_two_repeats_leave_no_interval_and_no_verdict(told) -> None:
    claim = told[0]["claims"][0]

    assert claim["ratio"]["interval"] is None
    assert claim["verdict"] == "not comparable"
    assert claim["why"].endswith("an interval takes 5 repeats, and there are 2")


def test_nothing_is_captured_and_counters_are_counted(told) -> None:
    answer = told[0]

    assert all(run["captures"] == {} for run in answer["runs"])
    assert answer["claims"][1]["ratio"] is None
    assert answer["claims"][1]["verdict"] == "reproduced"
