"""Runs on this very host, as its root: real results, and a host left as it was."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from commands import needs_netperf, run_json, run_testbed
from leavings import look, processes_under

from testbed.errors import InfrastructureError, MachineLost
from testbed.held import Record
from testbed.kernels.running import running_kernel
from testbed.machine.host import HostMachine
from testbed.machine.machine import Job
from testbed.machine.needs import congestion_need, missing, needs_of
from testbed.process import Stop
from testbed.spec.load import load_experiment

pytestmark = [
    pytest.mark.guest,
    pytest.mark.skipif(os.geteuid() != 0, reason="the machine host takes root"),
]
#: What every kernel with namespaces can do: a rate, no delay.
BARE = """\
question: What does this kernel do behind a rate alone?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
path: {rtt: 0ms, rate: 200mbit, queue: 1000, shaper: tbf}
sender: {qdisc: none}
workload: {bytes: 2000000, congestion: reno}
variants:
  only: {}
"""
HOST = ("bare.yaml", "--machine", "host", "--repeat", "1", "--set", "capture=true")


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "bare.yaml").write_text(BARE)
    return tmp_path


def environment(answer: dict) -> dict:
    path = Path(answer["runs"][0]["folder"]) / "environment.json"
    return dict(json.loads(path.read_text()))


def test_a_run_measures_this_kernel_and_leaves_the_host_as_it_was(folder) -> None:
    before = look()

    answer = run_json(folder, *HOST)

    assert look() == before
    (run,) = answer["runs"]
    assert run["kernel"]["release"] == os.uname().release
    assert (run["machine"], run["clock"]) == ("host", "real")
    assert run["workload"]["bytes"] == 2_000_000
    # 2 MB behind 200 Mbit/s; the bucket of 256 KB that goes at once, and the host's
    # own load, make it no more exact than that.
    assert 0.5 < run["metrics"]["throughput"]["mean"] / 200e6 < 1.3
    assert environment(answer)["left"] == []


def test_links_and_namespaces_bear_the_runs_id(folder) -> None:
    answer = run_json(folder, *HOST)

    run_id = Path(answer["runs"][0]["folder"]).parents[1].name
    links = environment(answer)["hosts"]["h1"]["links"]
    assert {each["ifname"] for each in links} == {"lo", f"{run_id[-4:]}-h1-eth0"}


@pytest.mark.parametrize(
    "driver", ["iperf3", pytest.param("netperf", marks=needs_netperf)]
)
def test_the_tools_of_the_field_run_here_too(folder, driver) -> None:
    before = look()
    setting = f"workload={{driver: {driver}, duration: 1s, bytes: null}}"

    answer = run_json(folder, *HOST, "--set", setting)

    assert 0.5 < answer["runs"][0]["metrics"]["throughput"]["mean"] / 200e6 < 1.3
    assert look() == before


def test_two_runs_at_once_do_not_disturb_each_other(folder) -> None:
    before = look()

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _turn: run_json(folder, *HOST), range(2)))

    assert [each["runs"][0]["workload"]["bytes"] for each in answers] == [2_000_000] * 2
    assert [environment(each)["left"] for each in answers] == [[], []]
    assert look() == before


def test_the_2014_experiment_is_refused_with_all_it_lacks_here(folder) -> None:
    experiment = load_experiment("refine-tso-autosizing", clock="real")
    lacks = missing(need for each in experiment.variants for need in needs_of(each))

    done = run_testbed("run", "refine-tso-autosizing", "--machine", "host", cwd=folder)

    assert done.returncode == 3
    assert "kernel switch tcp.sendmsg_autosize" in done.stderr
    assert "--machine uml" in done.stderr
    for each in lacks:
        assert each.need.what in done.stderr
        assert f"CONFIG_{each.need.option}" in done.stderr or each.need.module in (
            done.stderr
        )
    assert not (folder / "captures").exists()


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        pytest.param(
            "workload.congestion=nonesuch", "congestion control nonesuch", id="cc"
        ),
        pytest.param(
            'sender={"sysctls": {"net.ipv4.tcp_mem": "1 2 3"}, "qdisc": "none"}',
            "sysctl net.ipv4.tcp_mem of a network namespace",
            id="sysctl-of-the-whole-host",
        ),
    ],
)
def test_what_this_kernel_cannot_do_is_refused_before_the_run(
    folder, setting, complaint
) -> None:
    before = look()

    done = run_testbed("run", *HOST, "--set", setting, cwd=folder)

    assert done.returncode == 3
    assert complaint in done.stderr
    assert not (folder / "captures").exists()
    assert look() == before


def test_a_congestion_control_that_is_loaded_is_found() -> None:
    shown = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()

    assert missing([congestion_need(name) for name in shown.split()]) == ()


def in_a_cell(folder: Path, script: str) -> list[str]:
    lines: list[str] = []
    job = Job(argv=("/bin/sh", "-c", script), folder=folder, held=Record("by-hand"))
    HostMachine().run(running_kernel(), job, lines.append, Stop())
    return lines


def test_a_lab_can_write_its_folder_and_nothing_else(tmp_path) -> None:
    (tmp_path / "share").mkdir()

    lines = in_a_cell(
        tmp_path / "share",
        f"id -u; echo kept > file; echo bad > {tmp_path}/outside;"
        "sysctl -w kernel.panic=7; sysctl -w net.ipv4.tcp_sack=0",
    )

    assert lines[0] == "0"
    assert sum("Read-only file system" in each for each in lines) == 1
    assert 'permission denied on key "kernel.panic"' in lines[2]
    assert (tmp_path / "share" / "file").read_text() == "kept\n"
    assert [each.name for each in tmp_path.iterdir()] == ["share"]


def test_what_a_lab_leaves_running_ends_with_it(tmp_path) -> None:
    in_a_cell(tmp_path, "setsid sleep 600 & setsid sleep 600 & echo up")

    assert processes_under(tmp_path) == []


def test_a_lab_that_does_not_end_is_ended(tmp_path) -> None:
    job = Job(argv=("/bin/sleep", "600"), folder=tmp_path, deadline_s=1)
    before = look()

    with pytest.raises(MachineLost, match="did not end within 1 s"):
        HostMachine().run(running_kernel(), job, lambda _line: None, Stop())

    assert processes_under(tmp_path) == []
    assert look() == before


def test_a_lab_that_is_killed_takes_all_it_started_along(tmp_path) -> None:
    job = Job(argv=("/bin/sh", "-c", "sleep 600 & echo up; wait"), folder=tmp_path)
    before = look()

    def kill(_line: str) -> None:
        os.kill(processes_under(tmp_path)[0], signal.SIGKILL)

    with pytest.raises(MachineLost, match="was ended by signal 9"):
        HostMachine().run(running_kernel(), job, kill, Stop())

    assert processes_under(tmp_path) == []
    assert look() == before


def test_a_setting_of_the_host_that_changes_meanwhile_voids_the_run(tmp_path) -> None:
    sysctl = Path("/proc/sys/net/ipv4/tcp_challenge_ack_limit")
    was = sysctl.read_text()
    job = Job(argv=("/bin/sh", "-c", "echo up; sleep 1"), folder=tmp_path)

    def change(_line: str) -> None:
        sysctl.write_text(str(int(was) - 1))

    try:
        with pytest.raises(
            InfrastructureError, match="net.ipv4.tcp_challenge_ack_limit was"
        ):
            HostMachine().run(running_kernel(), job, change, Stop())
    finally:
        sysctl.write_text(was)
