"""A bzImage in QEMU: the 2014 experiment, smaller, beside User-Mode Linux.

By TCG, which every host has, on a clock that counts instructions: what else the host
does cannot make it miss its packets.
"""

import json
from pathlib import Path

import pytest
from commands import run_json

pytestmark = pytest.mark.guest
#: Fifty packets or so before, in three round trips.
SMALL = ("--set", "workload.bytes=300000")
MACHINES = ("uml", "qemu-icount")


@pytest.fixture(scope="module")
def told(kernel, bzimage, tmp_path_factory) -> dict:
    """Return what run --json says of both machines."""
    del kernel, bzimage  # they are built, which may take minutes
    place: Path = tmp_path_factory.mktemp("qemu")
    given = [word for name in MACHINES for word in ("--machine", name)]
    return run_json(place, "refine-tso-autosizing", *given, *SMALL)


def folder(run: dict) -> Path:
    return Path(run["folder"])


def counted(told: dict, machine: str, counter: str) -> dict[str, int]:
    return {
        run["variant"]: run["counters"]["sender"][counter]
        for run in told["runs"]
        if run["machine"] == machine
    }


@pytest.mark.parametrize("counter", ["IpOutRequests", "TcpOutSegs"])
def test_both_machines_count_the_same_packets_within_ten_percent(told, counter) -> None:
    uml, qemu = (counted(told, name, counter) for name in MACHINES)

    assert qemu == {name: pytest.approx(count, rel=0.1) for name, count in uml.items()}


def test_the_guest_is_a_pc_that_translates(told) -> None:
    (run, _other) = (each for each in told["runs"] if each["machine"] == MACHINES[1])

    environment = json.loads((folder(run) / "environment.json").read_text())

    assert environment["accelerator"] == "tcg"
    assert environment["architecture"] == "x86_64"
    assert run["kernel"]["arch"] == "x86_64"
    assert run["kernel"]["release"] in environment["kernel"]


def test_the_path_is_as_long_as_was_asked_for(told) -> None:
    for run in told["runs"]:
        assert 40e6 <= run["metrics"]["rtt"]["p50"] < 41e6


def test_the_guest_leaves_in_its_folder_what_user_mode_linux_leaves(told) -> None:
    names = {
        (run["machine"], run["variant"]): {each.name for each in folder(run).iterdir()}
        for run in told["runs"]
    }

    for variant in ("before", "after"):
        uml, qemu = (names[machine, variant] for machine in MACHINES)
        assert qemu == uml


def test_no_machine_was_refused(told) -> None:
    assert told["refused"] == []
