"""Guests, booted: the kernels that were built last, in User-Mode Linux and in QEMU."""

import tempfile
from pathlib import Path

from testbed.doctor.finding import DEFAULT, Finding, have, lack
from testbed.errors import TestbedError, Unavailable
from testbed.held import recording
from testbed.kernels.cache import newest
from testbed.machine.machine import Job
from testbed.machine.qemu import Accelerator, boots_by, may_use_kvm, require_qemu
from testbed.machine.uml import UmlMachine
from testbed.process import Stop
from testbed.spec.kernel import Arch, BuiltKernel
from testbed.store import new_run_id

_KERNEL = "6.12"  # what experiments boot unless they say
_BOOT_S = 60.0
_BY_NAME = {"KVM boot": Accelerator.KVM, "TCG boot": Accelerator.TCG}


def try_uml() -> tuple[Finding, ...]:
    """Boot a UML kernel, run a command in it and power it off."""
    entry = newest(_KERNEL, Arch.UM)
    if entry is None:
        told = "no UML kernel built"
        return (lack(DEFAULT, told, "python -m testbed kernel build"),)
    try:
        seconds = _boot_uml(entry.built)
    except Unavailable as error:
        return (lack(DEFAULT, error.what, error.remedy),)
    except TestbedError as error:
        return (lack(DEFAULT, str(error), "what ptrace and disk above say"),)
    release = entry.built.identity.release
    return (have(DEFAULT, f"{release} booted and powered off in {seconds:.1f} s"),)


def _boot_uml(kernel: BuiltKernel) -> float:
    """Return how long it took, in seconds. Raises TestbedError where it does not."""
    with (
        recording(f"doctor-{new_run_id()}") as held,
        tempfile.TemporaryDirectory(prefix="testbed-doctor-") as name,
    ):
        folder = Path(name).resolve()
        job = Job(argv=("true",), folder=folder, deadline_s=_BOOT_S, held=held)
        outcome = UmlMachine().run(kernel, job, lambda _line: None, Stop())
    return outcome.wall_ns / 1e9


def try_kvm() -> tuple[Finding, ...]:
    """Boot a bzImage by KVM: there are hosts with a /dev/kvm on which none boots."""
    if not may_use_kvm():
        fix = "modprobe kvm_intel or kvm_amd, and be of the group kvm; TCG takes none"
        return (lack("KVM boot", "no /dev/kvm that this user may open", fix),)
    return (_try_qemu("KVM boot"),)


def try_tcg() -> tuple[Finding, ...]:
    """Boot a bzImage by TCG, which translates its instructions."""
    return (_try_qemu("TCG boot"),)


def _try_qemu(name: str) -> Finding:
    by = _BY_NAME[name]
    try:
        require_qemu()
    except Unavailable as error:
        return lack(name, error.what, error.remedy)
    entry = newest(_KERNEL, Arch.X86_64)
    if entry is None:
        fix = "python -m testbed kernel build --arch x86_64"
        return lack(name, "no bzImage built", fix)
    release = entry.built.identity.release
    if boots_by(by, entry.built.image):
        return have(name, f"{release} boots")
    others = "--machine uml takes no QEMU" + ", qemu goes by TCG" * (name[0] == "K")
    return lack(name, f"{release} did not boot within {by.deadline_s:g} s", others)
