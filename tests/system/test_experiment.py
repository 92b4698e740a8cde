"""Whole experiments on a real kernel: the 2014 patch, repeatability, every setting."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import CHECKOUT, run_json, run_testbed

from testbed.trace.capture import read_capture
from testbed.trace.decisions import read_decisions

pytestmark = pytest.mark.guest


def digests(answer: dict) -> list[str]:
    paths = (
        run["captures"][where]
        for run in answer["runs"]
        for where in ("sender", "receiver")
    )
    return [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths]


@contextmanager
def busy_cores():
    spin = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.fixture(scope="module")
def answer(kernel, tmp_path_factory) -> dict:
    """Return what the 2014 experiment prints with seed 1."""
    return run_json(tmp_path_factory.mktemp("first"), "refine-tso-autosizing")


def test_the_2014_patch_still_saves_the_packets_it_claimed(answer) -> None:
    before, after = (run["counters"]["sender"] for run in answer["runs"])

    assert before["IpOutRequests"] == pytest.approx(599, rel=0.10)
    assert after["IpOutRequests"] / before["IpOutRequests"] <= 0.45
    assert before["TcpOutSegs"] == pytest.approx(1397, rel=0.02)
    assert after["TcpOutSegs"] == pytest.approx(1397, rel=0.02)


def test_the_transfer_takes_about_as_long_as_it_did(answer) -> None:
    times = [run["workload"]["elapsed_ns"] / 1e9 for run in answer["runs"]]

    assert times == pytest.approx([0.36, 0.36], rel=0.15)


@pytest.mark.parametrize("side", [0, 1], ids=["before", "after"])
def test_packet_sizes_agree_with_the_counters(answer, side) -> None:
    run = answer["runs"][side]
    counters = run["counters"]["sender"]
    data_packets = run["metrics"]["tso_size"]["n"]
    # All but the packets without payload: SYN, the handshake's ACK, FIN's ACK.
    assert counters["IpOutRequests"] - data_packets in range(5)
    segments = run["metrics"]["tso_segs"]["mean"] * data_packets

    assert counters["TcpOutSegs"] == pytest.approx(segments, rel=0.02)


def test_every_claim_of_the_2014_patch_is_reproduced(answer) -> None:
    verdicts = {claim["metric"]: claim["verdict"] for claim in answer["claims"]}

    assert verdicts == dict.fromkeys(
        ("IpInReceives", "IpOutRequests", "TcpOutSegs", "IpExtOutOctets", "throughput"),
        "reproduced",
    )


def test_the_model_predicts_the_kernels_packets(answer, tmp_path) -> None:
    folder = Path(answer["runs"][0]["folder"]).parents[1]

    done = run_testbed(
        "model",
        "refine-tso-autosizing",
        "--against",
        str(folder),
        "--json",
        cwd=tmp_path,
    )

    matches = [each["match"] for each in json.loads(done.stdout)["predictions"]]
    assert [each["match"] >= 0.99 for each in matches] == [True, True]


@pytest.mark.parametrize("side", [0, 1], ids=["before", "after"])
def test_a_run_says_how_well_the_model_fits_it(answer, side) -> None:
    model = answer["runs"][side]["model"]
    claim = next(each for each in answer["claims"] if each["metric"] == "TcpOutSegs")

    assert model["match"] >= 0.99
    assert model["packets"]["predicted"] == pytest.approx(
        model["packets"]["measured"], rel=0.01
    )
    assert claim["model"] == claim["measured"]


def test_kernel_and_model_name_the_same_rules(answer, tmp_path) -> None:
    done = run_testbed("model", "refine-tso-autosizing", "--json", cwd=tmp_path)

    predictions = json.loads(done.stdout)["predictions"]
    said = {run["variant"]: run["attribution"] for run in answer["runs"]}
    assert said == {
        each["variant"]: pytest.approx(each["attribution"], abs=0.01)
        for each in predictions
    }


@pytest.mark.parametrize("side", [0, 1], ids=["before", "after"])
def test_the_kernel_decides_on_every_packet_of_the_capture(answer, side) -> None:
    run = answer["runs"][side]

    decided = read_decisions(Path(run["folder"]) / "decisions.csv")

    (trace,) = read_capture(Path(run["captures"]["sender"])).traces
    assert decided.seq.tolist() == trace.seq.tolist()
    assert decided.length.tolist() == trace.length.tolist()


def test_the_same_seed_gives_the_same_bytes_with_both_cores_busy(
    answer, tmp_path
) -> None:
    with busy_cores():
        again = run_json(tmp_path, "refine-tso-autosizing")

    assert digests(again) == digests(answer)


def test_four_at_once_give_the_same_bytes_as_one(answer, tmp_path) -> None:
    folders = [tmp_path / str(turn) for turn in range(4)]
    for folder in folders:
        folder.mkdir()

    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda folder: run_json(folder, "refine-tso-autosizing"), folders)
        )

    assert [digests(each) for each in answers] == [digests(answer)] * 4


def test_where_a_run_lies_does_not_show_in_its_bytes(answer, tmp_path) -> None:
    deep = tmp_path / "a" / "much-longer-name-than-the-first-one" / "and" / "deeper"
    deep.mkdir(parents=True)

    again = run_json(deep, "refine-tso-autosizing")

    assert digests(again) == digests(answer)


def test_what_python_has_compiled_does_not_show_in_the_bytes(answer, tmp_path) -> None:
    bare = tmp_path / "checkout"
    for name in ("testbed", "topologies"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / name, bare / name, ignore=ignored)

    again = run_json(tmp_path, "refine-tso-autosizing", checkout=bare)

    assert digests(again) == digests(answer)


def test_another_seed_gives_other_bytes(answer, tmp_path) -> None:
    other = run_json(tmp_path, "refine-tso-autosizing", "--seed", "2")

    assert not set(digests(other)) & set(digests(answer))


EVERY_SETTING = """\
question: Does every setting take?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
workload: {bytes: 300000}
variants:
  netem-with-loss:
    path: {rtt: 1ms, rate: 1gbit, queue: 100, loss: 10%}
    workload: {bytes: 3000000}
  tbf: {path: {rtt: 1ms, rate: 1gbit, queue: 1000, shaper: tbf}}
  htb-with-fq-codel:
    path: {rtt: 1ms, rate: 1gbit, queue: 100, shaper: htb, discipline: fq_codel}
  rack-with-ipv6:
    topology: rack_local
    path: {rtt: 50us, rate: 100gbit, mtu: 4168}
    sender:
      qdisc: {fq: {flow_limit: 400, maxrate: 30gbit}}
      link_sizes: {gso_max_size: 185000}
      sysctls: {net.ipv4.tcp_tso_rtt_log: 0}
    receiver:
      link_sizes: {gro_max_size: 185000}
      offloads: {generic-receive-offload: false}
    workload:
      {bytes: 9000000, family: 6, congestion: dctcp, sndbuf: 4000000, rcvbuf: 9000000}
  paced-for-a-time:
    workload: {bytes: null, duration: 100ms, pacing_rate: 80mbit, congestion: reno}
    sender: {qdisc: none, offloads: {tcp-segmentation-offload: false}}
  host-pfifo: {sender: {qdisc: {pfifo: {limit: 500}}}}
"""


@pytest.fixture(scope="module")
def settings_answer(kernel, tmp_path_factory) -> dict[str, dict]:
    """Return the runs of an experiment that uses every kind of setting, by variant."""
    folder = tmp_path_factory.mktemp("settings")
    (folder / "every.yaml").write_text(EVERY_SETTING)
    runs = run_json(folder, "every.yaml")["runs"]
    return {run["variant"]: run for run in runs}


def test_every_kind_of_setting_takes(settings_answer) -> None:
    assert set(settings_answer) == {
        "netem-with-loss",
        "tbf",
        "htb-with-fq-codel",
        "rack-with-ipv6",
        "paced-for-a-time",
        "host-pfifo",
    }


def test_lost_packets_are_sent_again(settings_answer) -> None:
    lossy = settings_answer["netem-with-loss"]

    assert lossy["counters"]["sender"]["TcpRetransSegs"] > 0
    assert lossy["metrics"]["retransmits"]["mean"] > 0


def test_big_tcp_packets_keep_their_true_length(settings_answer) -> None:
    assert settings_answer["rack-with-ipv6"]["metrics"]["tso_size"]["max"] > 65536


def test_a_duration_and_a_pacing_rate_are_kept(settings_answer) -> None:
    paced = settings_answer["paced-for-a-time"]

    assert paced["workload"]["elapsed_ns"] == pytest.approx(100_000_000, rel=0.2)
    assert paced["metrics"]["throughput"]["mean"] == pytest.approx(80e6, rel=0.1)


BAD = """\
question: What does not take?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
workload: {bytes: 1000}
variants:
  only: %s
"""


@pytest.mark.parametrize(
    ("variant", "complaint"),
    [
        pytest.param(
            "{switches: {tcp.no_such_switch: 1}}", "tcp.no_such_switch", id="switch"
        ),
        pytest.param(
            "{workload: {congestion: nonesuch}}", "congestion control", id="cc"
        ),
        pytest.param(
            "{sender: {sysctls: {net.ipv4.nonesuch: 1}}}", "nonesuch", id="sysctl"
        ),
        pytest.param(
            "{receiver: {offloads: {large-receive-offload: true}}}",
            "large-receive-offload",
            id="offload",
        ),
    ],
)
def test_a_setting_that_does_not_take_voids_the_run(
    kernel, tmp_path, variant, complaint
) -> None:
    (tmp_path / "bad.yaml").write_text(BAD % variant)

    done = run_testbed("run", "bad.yaml", cwd=tmp_path)

    assert done.returncode == 4
    assert complaint in done.stderr
    (record,) = tmp_path.glob("captures/bad/*/only/1/run.json")
    assert json.loads(record.read_text())["state"] == "void"


@pytest.mark.parametrize("topology", ["long_haul", "rack_local"])
def test_a_topology_works_with_mn_custom(guest, topology) -> None:
    mn = Path(sys.executable).parent / "mn"
    outcome, lines = guest(
        sys.executable,
        str(mn),
        "--custom",
        str(CHECKOUT / "topologies" / f"{topology}.py"),
        "--topo",
        f"{topology},rtt=10ms,rate=100mbit",
        "--controller",
        "none",
        "--test",
        "pingall",
    )

    assert outcome.status == 0, lines
    assert any("0% dropped" in line for line in lines)


@pytest.fixture(scope="module")
def late_completion(kernel, tmp_path_factory) -> dict:
    """Return what the 2019 experiment prints with seed 1."""
    return run_json(tmp_path_factory.mktemp("late"), "tsq-low-pacing-rate")


def test_late_completion_starves_a_sender_and_promptness_is_the_cure(
    late_completion,
) -> None:
    mbit = {
        run["variant"]: run["metrics"]["throughput"]["mean"] / 1e6
        for run in late_completion["runs"]
    }

    assert mbit["patched"] >= 50 * mbit["before"]
    assert mbit["fixed"] > mbit["patched"]
    assert mbit["before"] < mbit["today"] < mbit["patched"]


def test_the_claim_of_the_rejected_patch_is_reproduced(late_completion) -> None:
    assert [claim["verdict"] for claim in late_completion["claims"]] == ["reproduced"]


def test_a_late_sender_has_one_segment_a_packet_and_is_the_models(
    late_completion,
) -> None:
    runs = late_completion["runs"]

    assert {run["metrics"]["tso_segs"]["max"] for run in runs} == {1}
    assert [run["model"]["match"] for run in runs] == [1.0] * 4


@pytest.fixture(scope="module")
def stretch_answer(kernel, tmp_path_factory) -> dict:
    """Return what the 2015 experiment says at its quick scale."""
    return run_json(tmp_path_factory.mktemp("stretch"), "cubic-stretch-acks")


def test_cubic_that_counts_packets_outruns_one_that_counts_acks(stretch_answer) -> None:
    rates = {
        run["variant"]: run["metrics"]["throughput"]["mean"]
        for run in stretch_answer["runs"]
    }

    assert rates["after"] / rates["before"] >= 1.5
    assert rates["after"] / rates["before-simple"] >= 1.3


@pytest.fixture(scope="module")
def v1_answer(kernel, tmp_path_factory) -> dict:
    """Return what the experiment with the v1 of 2014 says."""
    return run_json(tmp_path_factory.mktemp("v1"), "refine-tso-autosizing-v1")


def test_v1_of_2014_falls_short_and_v3_does_not(v1_answer) -> None:
    (claim,) = v1_answer["claims"]

    assert claim["verdict"] == "reproduced"
    assert claim["measured"]["v1"] < 0.96
    assert claim["measured"]["after"] == pytest.approx(1, abs=0.01)


def test_the_model_predicts_v1_too(v1_answer) -> None:
    assert [run["model"]["match"] for run in v1_answer["runs"]] == [1, 1, 1]
