"""What a machine in real time shares with its host: when that is too much, and told."""

import os

import pytest

from testbed.errors import Unavailable
from testbed.machine import sharing
from testbed.machine.sharing import (
    cpu_model,
    describe_host,
    hypervisor_flag,
    keeping_to,
    own_processors,
    require_quiet,
)

CPUINFO = """\
processor\t: 0
model name\t: A CPU @ 2.0GHz
flags\t\t: fpu vme hypervisor lahf_lm

processor\t: 1
model name\t: Another
"""


@pytest.fixture
def host(monkeypatch):
    """Return a function that gives the host two processors and a load."""

    def give(load: float) -> None:
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 9.0, 9.0))
        monkeypatch.setattr(os, "cpu_count", lambda: 2)

    return give


def test_a_host_is_quiet_up_to_a_task_for_each_processor(host) -> None:
    host(2.0)

    require_quiet()


def test_a_busy_host_is_refused_with_what_overrules_that(host) -> None:
    host(2.1)

    with pytest.raises(Unavailable, match=r"a load of 1\.05 for each") as told:
        require_quiet()

    assert "--force-load" in told.value.remedy
    assert "--machine uml" in told.value.remedy


@pytest.mark.parametrize(
    ("allowed", "wanted", "own"),
    [
        ({0, 1, 2, 3}, 1, (3,)),
        ({0, 1, 2, 3}, 2, (2, 3)),
        ({0, 1}, 2, ()),
        ({5}, 1, ()),
        ({0, 1}, 0, ()),
    ],
)
def test_a_machines_own_processors_are_the_last_of_several(
    allowed, wanted, own, monkeypatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: allowed)

    assert own_processors(wanted) == own


def test_a_child_keeps_to_its_processors_and_goes_on(monkeypatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, cpus: done.append(cpus))

    keeping_to((3,), lambda: done.append("then"))()
    keeping_to((), lambda: done.append("free"))()

    assert done == [(3,), "then", "free"]


def test_the_host_is_described_by_its_processor_and_load(host) -> None:
    host(0.5)

    told = describe_host()

    assert (told["load"], told["processors"]) == (0.5, 2)
    assert told["virtualisation"]
    assert told["kernel"] == os.uname().release


def test_cpuinfo_tells_model_and_whether_it_is_a_guests() -> None:
    assert cpu_model(CPUINFO) == "A CPU @ 2.0GHz"
    assert cpu_model("") == "unknown"
    assert hypervisor_flag(CPUINFO) == "some"
    assert hypervisor_flag(CPUINFO.replace("hypervisor", "vmx")) == "none"


def test_without_systemd_the_flag_tells_of_virtualisation(monkeypatch) -> None:
    monkeypatch.setattr(sharing.shutil, "which", lambda _name: None)

    assert describe_host()["virtualisation"] in ("some", "none")
