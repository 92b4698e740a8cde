"""The machine host: what it starts, and what it refuses before it starts anything."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_variant, an_experiment

from testbed.errors import Unavailable
from testbed.held import Record
from testbed.machine import host
from testbed.machine.host import HostMachine, cell_argv, cell_env, switches_of
from testbed.machine.machine import Job
from testbed.spec.experiment import Experiment, Variant

JOB = Job(
    argv=("/run/venv/bin/python", "-m", "testbed.lab", ".", "/run/venvs"),
    folder=Path("/captures/a run"),
    env={"PYTHONPATH": "/run/testbed", "PYTHONHASHSEED": "0"},
    views={"/run/venv": Path("/home/me/.venv"), "/run/testbed": Path("/src/testbed")},
    held=Record("20260101T000000Z-abcd"),
)


def of(*variants: Variant) -> Experiment:
    return replace(an_experiment(), variants=variants)


def test_the_lab_runs_in_namespaces_of_its_own_and_dies_with_them() -> None:
    argv = cell_argv(JOB)

    assert argv[:8] == (
        *("unshare", "--mount", "--pid", "--net", "--ipc", "--fork"),
        *("--kill-child", "--mount-proc"),
    )
    assert argv[8:14] == (
        *("--", sys.executable, "-I", "-S"),
        *(str(Path(host.__file__).with_name("cell.py")), "/captures/a run"),
    )


def test_paths_inside_are_the_hosts_own() -> None:
    assert cell_argv(JOB)[14:] == (
        *("/home/me/.venv/bin/python", "-m", "testbed.lab", ".", "/run/venvs"),
    )


def test_the_lab_is_told_its_run_and_nothing_of_the_callers_environment() -> None:
    assert cell_env(JOB) == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TMPDIR": "/dev/shm",
        "PYTHONPATH": "/src/testbed",
        "PYTHONHASHSEED": "0",
        "TESTBED_RUN": "20260101T000000Z-abcd",
    }


def test_without_root_it_says_how_to_have_it(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(Unavailable, match="takes root") as raised:
        HostMachine().check(of(a_variant(kernel="host")))

    assert raised.value.exit_code == 3
    assert raised.value.remedy == (
        "sudo python -m testbed ...; or --machine uml, which needs no root"
    )


def test_another_kernel_than_this_is_refused() -> None:
    with pytest.raises(Unavailable, match="runs this very kernel, not 6.12") as raised:
        HostMachine().check(of(a_variant(kernel="6.12"), a_variant(kernel="host")))

    assert raised.value.remedy.startswith("leave --kernel out")


def test_switches_are_named_once_each() -> None:
    variants = [
        a_variant(switches={"tcp.one": "1"}),
        a_variant(switches={"tcp.one": "0", "veth.two": "x"}),
    ]

    one, two = switches_of(variants)

    assert one.startswith("kernel switch tcp.one: a patch of ours")
    assert two.startswith("kernel switch veth.two: ")
