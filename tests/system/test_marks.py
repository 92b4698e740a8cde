"""DCTCP over a queue that marks, on the real kernel, and the model's prediction."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.main import main

pytestmark = pytest.mark.guest

EXPERIMENT = """
question: Does a DCTCP stream keep the queue at the threshold of its marks?
patch: {{subject: none, author: none, date: "2026-11-30", commit: null, version: null,
         mail: none, fate: none}}
path: {{rtt: 50us, rate: {rate}, queue: 1000, mtu: {mtu}, shaper: htb,
        discipline: fq_codel, ce_threshold: {threshold}}}
workload: {{bytes: {size}, congestion: dctcp, family: {family}}}
variants:
  plain: {{about: as it is}}
claims: []
"""


@pytest.fixture(
    params=[
        pytest.param(("10gbit", 1500, 4, "50us", "50MB"), id="d10"),
        pytest.param(("10gbit", 4168, 6, "50us", "50MB"), id="d10m6"),
        pytest.param(("100gbit", 1500, 4, "20us", "100MB"), id="d100"),
        pytest.param(("100gbit", 4168, 6, "20us", "100MB"), id="d100m6"),
    ],
    scope="module",
)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return what --json says of a run, and its TCP_INFO samples."""
    keys = ("rate", "mtu", "family", "threshold", "size")
    values = dict(zip(keys, request.param, strict=True))
    folder: Path = tmp_path_factory.mktemp("marks")
    file = folder / "dctcp.yaml"
    file.write_text(EXPERIMENT.format(**values))
    with pytest.MonkeyPatch.context() as patched, (folder / "json").open("w") as out:
        patched.setattr("sys.stdout", out)
        assert main(["run", str(file), "--json", "--out", str(folder / "out")]) == 0
    (told,) = json.loads((folder / "json").read_text())["runs"]
    (samples,) = folder.glob("out/**/tcp_info.json")
    told["samples"] = json.loads(samples.read_text())
    return told


def test_the_receiver_sees_marks_and_the_sender_hears_of_them(
    run: dict[str, Any],
) -> None:
    sender, receiver = run["counters"]["sender"], run["counters"]["receiver"]
    marks = receiver.get("IpExtInCEPkts", 0) + receiver.get("Ip6InCEPkts", 0)

    assert marks > 0
    assert sender["TcpExtTCPDeliveredCE"] > 0
    assert sender.get("TcpRetransSegs", 0) == 0


def test_the_queue_stays_at_the_threshold(run: dict[str, Any]) -> None:
    rtts = sorted(sample["rtt"] for sample in run["samples"])

    # 50 us of path, up to 50 us of threshold, and a packet of 54 us on the wire.
    assert rtts[len(rtts) // 2] < 50 + 50 + 54


def test_the_model_predicts_the_packets(run: dict[str, Any]) -> None:
    # measured: 100 % for all four.
    assert run["model"]["match"] >= 0.95
