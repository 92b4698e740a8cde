"""A host before and after a run: what differs, and whose it is."""

import os
import subprocess
from dataclasses import replace

import pytest

from testbed.machine.leftovers import (
    Left,
    Snapshot,
    compare,
    parse_sysctls,
    processes_of,
    take_snapshot,
)

RUN = "20260101T000000Z-abcd"
BEFORE = Snapshot(
    links=frozenset({"lo", "eth0"}),
    namespaces=frozenset({"mine"}),
    mounts=frozenset({"/", "/proc"}),
    modules=frozenset({"veth"}),
    settings={"net.ipv4.tcp_sack": "1", "qdisc of eth0": "fq"},
)


def left(**after) -> Left:
    return compare(BEFORE, replace(BEFORE, **after), RUN)


def test_a_host_that_is_as_it_was_has_nothing_left() -> None:
    assert left() == Left(ours=(), others=())


@pytest.mark.parametrize(
    ("after", "told"),
    [
        pytest.param(
            {"namespaces": {"mine", f"testbed-{RUN}-h1"}},
            f"namespace testbed-{RUN}-h1 was left",
            id="namespace",
        ),
        pytest.param(
            {"mounts": {"/", "/proc", f"/run/netns/testbed-{RUN}-h1"}},
            f"mount /run/netns/testbed-{RUN}-h1 was left",
            id="mount",
        ),
        pytest.param(
            {"links": {"lo", "eth0", "abcd-h1-eth0"}},
            "link abcd-h1-eth0 was left",
            id="link",
        ),
        pytest.param(
            {"settings": {"net.ipv4.tcp_sack": "0", "qdisc of eth0": "fq"}},
            "net.ipv4.tcp_sack was '1' and is '0'",
            id="sysctl",
        ),
        pytest.param(
            {"settings": {"net.ipv4.tcp_sack": "1", "qdisc of eth0": "pfifo"}},
            "qdisc of eth0 was 'fq' and is 'pfifo'",
            id="qdisc",
        ),
    ],
)
def test_what_bears_the_runs_mark_or_was_changed_is_the_runs(after, told) -> None:
    assert left(**after) == Left(ours=(told,), others=())


@pytest.mark.parametrize(
    ("after", "told"),
    [
        pytest.param(
            {"namespaces": {"mine", "testbed-20260101T000000Z-9999-h1"}},
            "namespace testbed-20260101T000000Z-9999-h1 came",
            id="another-run",
        ),
        pytest.param({"links": {"lo"}}, "link eth0 is gone", id="unplugged"),
        pytest.param(
            {"modules": {"veth", "sch_fq"}}, "module sch_fq was loaded", id="module"
        ),
    ],
)
def test_what_bears_no_mark_is_somebody_elses(after, told) -> None:
    assert left(**after) == Left(ours=(), others=(told,))


def test_settings_of_what_came_or_went_are_no_change() -> None:
    settings = {"net.ipv4.tcp_sack": "1", "net.ipv6.conf.new.mtu": "1500"}

    assert left(settings=settings) == Left(ours=(), others=())


def test_sysctls_that_move_by_themselves_are_left_out() -> None:
    text = (
        "fs.file-nr = 1 0 9\nkernel.random.uuid = 1f\nkernel.pid_max = 9\n"
        "sysctl: permission denied on key 'x'\nnet.netfilter.nf_conntrack_count = 3\n"
    )

    assert parse_sysctls(text) == {"kernel.pid_max": "9"}


def test_a_snapshot_sees_this_host() -> None:
    before = take_snapshot()

    assert "lo" in before.links
    assert "/proc" in before.mounts
    assert before.settings["net.ipv4.tcp_sack"] in "01"


@pytest.mark.parametrize(("run", "found"), [("r-1", True), ("r-11", False)])
def test_a_process_of_a_run_is_found_by_its_environment(run, found) -> None:
    env = {**os.environ, "TESTBED_RUN": "r-1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["/bin/cat"], env=env, bufsize=0, **pipes) as process:
        process.stdin.write(b"?")
        process.stdout.read(1)  # until then /proc may not have its environment yet
        told = processes_of(run)

    assert told == ((f"process {process.pid} (cat) was left",) if found else ())
