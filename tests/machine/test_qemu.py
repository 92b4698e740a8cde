"""The QEMU machines: their command line, what they try, what they refuse."""

import os
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from builders import BUILT, a_variant, an_experiment
from kernels.images import module_tree

from testbed.errors import MachineLost, Unavailable
from testbed.machine import qemu
from testbed.machine.machine import Job
from testbed.machine.qemu import (
    Accelerator,
    QemuCountingMachine,
    QemuMachine,
    accelerator,
    boots_by_kvm,
    command_line,
    first_command,
    machine_argv,
    qemu_argv,
    share_modules,
)
from testbed.process import Stop
from testbed.spec.kernel import HOST_KERNEL, BuiltKernel

IMAGE = Path("/cache/bzImage")
ENDS = "echo 3 1.5 > $here/.answer"


def pairs(argv: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the values of each option."""
    found: dict[str, list[str]] = {}
    for name, value in pairwise(argv):
        found.setdefault(name, []).append(value)
    return found


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that puts a script in QEMU's place, and a KVM that opens."""
    path = tmp_path / "bin"
    path.mkdir()
    places = f"{path}:{qemu.LAB_PATH}"
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(qemu, "LAB_PATH", places)
    monkeypatch.setattr(qemu, "_KVM", tmp_path / "kvm")
    monkeypatch.setitem(qemu._DEADLINES_S, "kvm", 0.5)
    monkeypatch.setenv("PATH", places)
    boots_by_kvm.cache_clear()

    def put(script: str) -> None:
        (path / qemu.PROGRAM).write_text(f"#!/bin/sh\nhere={tmp_path}/run\n{script}\n")
        (path / qemu.PROGRAM).chmod(0o755)

    yield put
    boots_by_kvm.cache_clear()


@pytest.fixture
def job(tmp_path) -> Job:
    (tmp_path / "run").mkdir()
    return Job(argv=("true",), folder=tmp_path / "run", deadline_s=5)


def test_tcg_has_one_processor_and_the_most_features_it_knows() -> None:
    given = pairs(machine_argv(IMAGE, Accelerator.TCG))

    assert given["-accel"] == ["tcg"]
    assert given["-cpu"] == ["max"]
    assert given["-smp"] == ["1"]


def test_kvm_has_the_hosts_processor_and_up_to_four() -> None:
    given = pairs(machine_argv(IMAGE, Accelerator.KVM))

    assert given["-cpu"] == ["host"]
    assert int(given["-smp"][0]) == min(os.cpu_count() or 1, 4)


def test_the_hosts_root_is_lent_read_only_and_the_jobs_folder_is_not() -> None:
    root, folder = pairs(qemu_argv(IMAGE, Path("/a,b"), Accelerator.TCG))["-fsdev"]

    assert ",path=/," in root
    assert root.endswith(",readonly=on")
    assert ",path=/a,,b," in folder
    assert "readonly" not in folder


def test_no_path_of_a_run_is_on_the_kernels_command_line() -> None:
    one, other = (
        pairs(qemu_argv(IMAGE, Path(name), Accelerator.TCG))["-append"]
        for name in ("/a", "/b")
    )

    assert one == other == [command_line()]


def test_the_first_command_reaches_the_shell_in_one_piece() -> None:
    given = command_line()

    # The kernel parts words as a shell does, but knows no quotes but the double ones.
    assert "'" not in given
    assert "\\" not in given
    assert tuple(shlex.split(given.partition(" -- ")[2])) == first_command()[1:]
    assert f"init={first_command()[0]} " in given
    assert len(given) < 2048  # COMMAND_LINE_SIZE of x86


@pytest.mark.parametrize(
    "last_words",
    [
        "VFS: Unable to mount root fs on unknown-block(0,0)",
        "No working init found.  Try passing init= option to kernel.",
    ],
)
def test_kvm_is_used_where_a_kernel_comes_as_far_as_its_root(
    last_words, program
) -> None:
    program(f'case "$*" in *"-accel kvm"*) echo "{last_words}";; esac')

    assert accelerator(IMAGE) is Accelerator.KVM


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep 60", id="never-leaves-its-bios"),
        pytest.param("echo Kernel panic - no timer", id="panics-before"),
        pytest.param("echo failed to initialize kvm; exit 1", id="refuses"),
    ],
)
def test_kvm_is_not_used_where_a_guest(script, program) -> None:
    program(script)

    assert accelerator(IMAGE) is Accelerator.TCG


def test_kvm_is_not_tried_where_one_may_not_open_it(program, monkeypatch) -> None:
    program("echo Unable to mount root fs")
    monkeypatch.setattr(qemu, "_KVM", Path("/nowhere/kvm"))

    assert accelerator(IMAGE) is Accelerator.TCG


def test_the_answer_is_the_jobs_status_and_the_environment_says_by_what(
    program, job
) -> None:
    program(f"{ENDS}; echo '{{}}' > $here/environment.json; echo said")
    said: list[str] = []

    outcome = QemuMachine().run(BUILT, job, said.append, Stop())

    assert (outcome.status, outcome.virtual_ns) == (3, 1_500_000_000)
    assert said == ["said"]
    told = (job.folder / "environment.json").read_text()
    assert '"accelerator": "tcg"' in told
    assert not (job.folder / ".machine").exists()


def test_a_counting_clock_takes_no_kvm(program, job) -> None:
    program(
        f'{ENDS}; echo "$*"; case "$*" in *kvm*) echo Unable to mount root fs;; esac'
    )
    said: list[str] = []

    QemuCountingMachine().run(BUILT, job, said.append, Stop())

    assert "-accel tcg" in said[0]
    assert "-icount shift=1,sleep=off" in said[0]


def test_a_guest_that_gives_no_answer_is_lost(program, job) -> None:
    program("echo Kernel panic - not syncing: VFS")

    with pytest.raises(MachineLost, match="panicked"):
        QemuCountingMachine().run(BUILT, job, lambda _line: None, Stop())


def test_a_host_without_qemu_is_told_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr(qemu, "LAB_PATH", "/nowhere")

    with pytest.raises(Unavailable, match="apt-get install .*qemu-system-x86") as told:
        qemu.require_qemu()

    assert "--machine uml-real" in told.value.remedy


def test_the_kernel_that_runs_the_host_is_not_booted(program) -> None:
    program("")
    variant = a_variant("before", kernel=HOST_KERNEL)

    with pytest.raises(Unavailable, match="runs this host") as told:
        QemuMachine().check(replace(an_experiment(), variants=(variant,)))

    assert "--machine host; or --kernel FILE" in told.value.remedy


@pytest.fixture
def image(tmp_path) -> Path:
    """Return a distribution's kernel whose modules lack fq."""
    return module_tree(tmp_path, "netem", "veth", "tcp_cubic", "sch_netem", "af_packet")


def test_a_distributions_kernel_is_refused_with_all_that_it_lacks(
    image, program, monkeypatch
) -> None:
    program("")
    monkeypatch.setattr(qemu, "_FOR_MODULES", {})
    sender = replace(a_variant().sender, qdisc=None)
    variant = a_variant(
        kernel=str(image), sender=sender, switches={"tcp.one": 1}, capture=True
    )
    congested = replace(variant.workload, congestion="bbr")
    variant = replace(variant, workload=congested)

    with pytest.raises(Unavailable) as told:
        QemuMachine().check(replace(an_experiment(), variants=(variant,)))

    assert "6.1.0-9-amd64" in told.value.what
    assert "\n  module tcp_bbr\n  kernel switch tcp.one: a patch of ours" in (
        told.value.what
    )
    assert "sch_netem" not in told.value.what


def test_a_distributions_kernel_comes_with_its_modules(
    image, program, job, monkeypatch
) -> None:
    program(f'{ENDS}; echo "$*"; cat .machine/init init')
    (job.folder.parent / "bin" / "busybox").write_bytes(b"program")
    (job.folder.parent / "bin" / "busybox").chmod(0o755)
    identity = replace(BUILT.identity, name=str(image), release="6.1.0-9-amd64")
    said: list[str] = []

    QemuCountingMachine().run(
        BuiltKernel(image=image, identity=identity), job, said.append, Stop()
    )

    assert f"-initrd {job.folder}/.machine/initramfs" in said[0]
    modules = image.parent.parent / "lib" / "modules" / "6.1.0-9-amd64"
    assert share_modules(modules) in said
