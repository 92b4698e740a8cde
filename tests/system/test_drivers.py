"""iperf3 and netperf drive real flows, and what they say of them is held to be true."""

import hashlib
import json
from pathlib import Path

import pytest
from commands import needs_netperf, run_json, run_testbed

from testbed.cli.main import main
from testbed.spec.drivers import DRIVERS

pytestmark = pytest.mark.guest
HEAD = """\
question: Do drivers drive?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
topology: rack_local
path: {rtt: 1ms, rate: 100mbit, queue: 100}
workload: {duration: 1s}
variants:
"""
IPERF3 = """\
  iperf3: {workload: {driver: iperf3}}
  iperf3-set:
    workload:
      {driver: iperf3, family: 6, flows: 2, congestion: reno, pacing_rate: 40mbit,
       sndbuf: 500000, rcvbuf: 500000, send_size: 64KB}
  iperf3-uncaptured: {workload: {driver: iperf3}, capture: false}
"""
NETPERF = """\
  netperf:
    workload:
      {driver: netperf, duration: null, bytes: 3000000, send_size: 100000,
       sndbuf: 400000}
  netperf-many:
    workload:
      driver: netperf
      stagger: 20ms
      family: 6
      rcvbuf: 500000
      groups: [{flows: 2, congestion: reno}, {flows: 1, congestion: cubic}]
  netperf-asks: {workload: {driver: netperf, request_size: 80000, response_size: 3000}}
"""


def runs_of(folder: Path, variants: str) -> dict[str, dict]:
    (folder / "drivers.yaml").write_text(HEAD + variants)
    answer = run_json(folder, "drivers.yaml")
    return {run["variant"]: run for run in answer["runs"]}


@pytest.fixture(scope="module")
def iperf3(kernel, tmp_path_factory) -> dict[str, dict]:
    """Return what run --json says of each workload that iperf3 drives."""
    return runs_of(tmp_path_factory.mktemp("iperf3"), IPERF3)


@pytest.fixture(scope="module")
def netperf(kernel, tmp_path_factory) -> dict[str, dict]:
    """Return what run --json says of each workload that netperf drives."""
    return runs_of(tmp_path_factory.mktemp("netperf"), NETPERF)


def test_iperf3_fills_the_link_as_it_says(iperf3) -> None:
    run = iperf3["iperf3"]
    (flow,) = run["workload"]["flows"]

    assert run["metrics"]["throughput"]["mean"] == pytest.approx(95e6, rel=0.05)
    assert flow["told"]["receiver.bits_per_second"] == pytest.approx(95e6, rel=0.05)
    assert flow["port"] == 5001


def test_iperf3s_flows_are_as_they_were_asked_for(iperf3) -> None:
    run = iperf3["iperf3-set"]

    rates = [
        8e9 * flow["bytes"] / (flow["end_ns"] - flow["begin_ns"])
        for flow in run["workload"]["flows"]
    ]
    assert rates == pytest.approx([40e6] * 2, rel=0.05)
    assert run["metrics"]["throughput"]["mean"] == pytest.approx(80e6, rel=0.05)


def test_what_iperf3_says_is_all_there_is_of_an_uncaptured_run(iperf3) -> None:
    run = iperf3["iperf3-uncaptured"]

    assert "tso_size" not in run["metrics"]
    assert run["metrics"]["throughput"]["mean"] == pytest.approx(95e6, rel=0.05)


def test_tcp_info_of_another_programs_sockets_is_sampled(iperf3) -> None:
    run = iperf3["iperf3-set"]

    samples = json.loads((Path(run["folder"]) / "tcp_info.json").read_text())

    assert {each["flow"] for each in samples} == {0, 1}
    assert len(samples) == pytest.approx(2000, rel=0.1)
    assert samples[-1]["bytes_acked"] == pytest.approx(5e6, rel=0.1)


def test_the_kernel_says_why_iperf3s_packets_have_their_sizes(iperf3) -> None:
    run = iperf3["iperf3"]

    assert sum(run["attribution"].values()) == pytest.approx(1)
    assert "iperf3" in run["model"]["unreached"]


def test_the_same_seed_gives_the_same_bytes(iperf3, tmp_path) -> None:
    (again,) = runs_of(tmp_path, IPERF3.splitlines(keepends=True)[0]).values()

    first, second = (
        hashlib.sha256(Path(run["captures"]["sender"]).read_bytes()).hexdigest()
        for run in (iperf3["iperf3"], again)
    )
    assert first == second


def test_what_iperf3_cannot_do_is_told_before_anything_starts(tmp_path) -> None:
    (tmp_path / "bad.yaml").write_text(
        HEAD + "  bad:\n    workload: {driver: iperf3, stagger: 1ms}\n"
    )

    done = run_testbed("run", "bad.yaml", cwd=tmp_path)

    assert done.returncode == 2
    assert "bad.yaml:8: " in done.stderr
    assert "iperf3 starts its flows together" in done.stderr
    assert not (tmp_path / "captures").exists()


def test_a_driver_that_is_not_installed_is_told_with_the_command_that_fixes_it(
    kernel, tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "lacks.yaml").write_text(
        HEAD + "  netperf: {workload: {driver: netperf}}\n"
    )
    drivers = DRIVERS["netperf"]
    monkeypatch.setattr(
        "testbed.machine.guest.missing_programs",
        lambda packages, _path: {
            name: drivers[name] for name in set(drivers) & set(packages)
        },
    )
    monkeypatch.chdir(tmp_path)

    status = main(["run", "lacks.yaml"])

    assert status == 3
    assert "to fix it: apt-get install netperf" in capsys.readouterr().err


@needs_netperf
def test_netperf_sends_the_bytes_it_was_asked_for(netperf) -> None:
    run = netperf["netperf"]
    (flow,) = run["workload"]["flows"]

    sizes = run["metrics"]["tso_size"]
    assert flow["bytes"] == 3_000_000 == round(sizes["mean"] * sizes["n"])
    assert run["model"]["match"] >= 0.99


@needs_netperf
def test_netperfs_flows_start_in_turn_and_each_has_its_congestion_control(
    netperf,
) -> None:
    flows = netperf["netperf-many"]["workload"]["flows"]

    assert [flow["told"]["LOCAL_CONG_CONTROL"] for flow in flows] == [
        "reno",
        "reno",
        "cubic",
    ]
    begun = [flow["begin_ns"] - flows[0]["begin_ns"] for flow in flows]
    assert begun == sorted(begun)
    assert begun[1] >= 15_000_000


@needs_netperf
def test_netperfs_transactions_are_counted_and_timed(netperf) -> None:
    run = netperf["netperf-asks"]
    (flow,) = run["workload"]["flows"]

    latency = run["metrics"]["latency"]
    assert latency["n"] == flow["transactions"] > 100
    assert latency["mean"] == pytest.approx(1e9 / 124.4, rel=0.02)
    assert run["metrics"]["transactions"]["mean"] == pytest.approx(
        flow["told"]["TRANSACTION_RATE"], rel=0.001
    )


@needs_netperf
def test_the_2014_patch_is_reproduced_with_netperf_as_in_its_mail(
    kernel, tmp_path
) -> None:
    answer = run_json(
        tmp_path, "refine-tso-autosizing", "--set", "workload.driver=netperf"
    )

    verdicts = {claim["verdict"] for claim in answer["claims"]}
    before, after = answer["runs"]
    assert verdicts == {"reproduced"}
    assert before["counters"]["sender"]["TcpOutSegs"] > 1385  # its control connection
    assert [run["model"]["match"] for run in (before, after)] == [1.0, 1.0]
