"""QEMU: any bzImage on a PC of its own, by KVM where that works, else by TCG.

KVM is tried, not believed: some hosts have a /dev/kvm on which no guest ever gets past
its BIOS. TCG translates instructions, and goes everywhere, many times slower. Both keep
the host's time. With -icount the guest's time is what it has executed, 2 ns an
instruction, and jumps ahead when the guest has nothing to do: the host's load cannot
touch it, but a guest's work takes time, unlike in UML's virtual time.

The guest's root is the host's file system by 9p, exported read-only, and only the job's
folder is writable (see guest.py). A kernel of ours has 9p built in and needs no
initramfs; for one of a distribution we make one with its modules (initramfs.py).

virtme-ng does much the same, but its own first process takes some seconds of TCG, and
keeps the console for itself.

Read first: QemuMachine.run, qemu_argv, accelerator.
"""

import enum
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from testbed.errors import Unavailable
from testbed.kernels.distribution import distribution_kernel, modules_of
from testbed.machine.guest import (
    FOLDER,
    INSIDE,
    MEMORY_MB,
    PACKAGES,
    Boot,
    boot,
    guest_init,
    require_programs,
)
from testbed.machine.initramfs import MODULES, initramfs, lacking
from testbed.machine.machine import (
    LAB_PATH,
    Job,
    Outcome,
    add_to_environment,
    programs_of,
)
from testbed.machine.needs import needs_of
from testbed.process import Stop, missing_programs, stream
from testbed.spec.experiment import Experiment, Variant
from testbed.spec.kernel import HOST_KERNEL, Arch, BuiltKernel, is_image
from testbed.spec.names import PATIENT_VARIABLE

PROGRAM = "qemu-system-x86_64"
_PACKAGE = "qemu-system-x86"
#: What a kernel with modules takes on the host besides.
_FOR_MODULES = {"busybox": "busybox-static", "modprobe": "kmod"}
_KVM = Path("/dev/kvm")
#: A guest says its first word in half a second where KVM works, by TCG in some.
_DEADLINES_S = {"kvm": 10.0, "tcg": 60.0}
#: The kernel's own word that it came as far as looking for its root, or, where it has
#: an empty one built in, for its first program.
_ALIVE = ("Unable to mount root fs", "No working init found")
#: no_timer_check: a busy host makes a guest miss the ticks it looks for at boot, and
#: panic. tsc=reliable: nor is its clock to be given up because of such.
_KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable"
#: 2**1 ns an instruction, about what TCG takes for one; time jumps when all is idle.
_ICOUNT = ("-icount", "shift=1,sleep=off", "-rtc", "base=2025-06-15T15:06:40,clock=vm")
_ROOT_TAG, _JOB_TAG = "hostroot", "job"
#: msize: what moves at once, bytes; the most that virtio's ring holds.
_9P = "trans=virtio,version=9p2000.L,msize=512000"
_ROOT_OPTIONS = f"{_9P},ro,cache=loose"  # nobody is to change what the guest reads
_JOB_OPTIONS = f"{_9P},cache=mmap"
#: Where the job's folder is at first: every host's root has this one, and mount(8)
#: writes nothing there, as it does into /run.
_FIRST = "/tmp"  # noqa: S108
_MOST_CPUS = 4


class Accelerator(enum.Enum):
    """Who executes the guest's instructions: the value is QEMU's name."""

    KVM = "kvm"
    TCG = "tcg"

    @property
    def deadline_s(self) -> float:
        """Return when a guest that boots has long been up."""
        return _DEADLINES_S[self.value]


class QemuMachine:
    """Runs a bzImage in the host's time."""

    name = "qemu"
    clock = "real"
    arch = Arch.X86_64
    _counts = False

    def check(self, experiment: Experiment) -> None:
        """Find QEMU, and what a distribution's kernel lacks. See Machine.check."""
        variants = experiment.variants
        require_programs({**PACKAGES, **programs_of(variants)})
        require_qemu()
        for each in variants:
            if each.kernel == HOST_KERNEL:
                raise Unavailable(
                    f"the kernel {HOST_KERNEL!r} is the one that runs this host",
                    remedy="--machine host; or --kernel FILE with its image, such as "
                    f"/boot/vmlinuz-{os.uname().release}",
                )
            if is_image(each.kernel):
                require_modules(each)

    def run(
        self,
        kernel: BuiltKernel,
        job: Job,
        on_line: Callable[[str], None],
        stop: Stop,
    ) -> Outcome:
        """Boot, run the job, power off. See Machine.run."""
        require_programs({**PACKAGES, **job.programs})
        require_qemu()
        by = Accelerator.TCG if self._counts else accelerator(kernel.image)
        if self._counts:
            # Time jumps to the next timer when all wait, be it for the host's files: a
            # deadline inside is over in a moment on a busy host. The job's is left.
            job = replace(job, env={**job.env, PATIENT_VARIABLE: "1"})
        with job.held.scratch(job.folder / FOLDER) as folder:
            more = list(_ICOUNT if self._counts else ())
            shares = [f"mount --bind {_FIRST} {INSIDE[1:]}"]
            if is_image(kernel.identity.name):
                more += ("-initrd", str(_pack_initramfs(kernel, folder)))
                shares.append(share_modules(modules_of(kernel)))
            init = folder / "init"
            init.write_text(guest_init(job, sys.executable, *shares))
            init.chmod(0o755)
            argv = (*qemu_argv(kernel.image, job.folder, by), *more)
            own = 0 if self._counts else processors(by)
            env = {"PATH": LAB_PATH}
            start = Boot(argv=argv, cwd=folder, env=env, processors=own)
            outcome = boot(kernel, start, job, on_line, stop)
        add_to_environment(job.folder, {"accelerator": by.value})
        return outcome


class QemuCountingMachine(QemuMachine):
    """Runs the same by TCG, on a clock that counts the guest's instructions."""

    name = "qemu-icount"
    clock = "virtual"
    _counts = True


def require_qemu() -> None:
    """Raise Unavailable where there is no QEMU."""
    if missing_programs({PROGRAM: _PACKAGE}, LAB_PATH):
        raise Unavailable(
            f"the machine qemu needs {PROGRAM}",
            remedy=f"apt-get install --no-install-recommends {_PACKAGE}; or "
            "--machine uml-real",
        )


def require_modules(variant: Variant) -> None:
    """Raise Unavailable for what a distribution's kernel has not, by its modules."""
    require_programs(_FOR_MODULES)
    kernel = distribution_kernel(Path(variant.kernel))
    wanted = [need.module for need in needs_of(variant) if need.module]
    absent = lacking(modules_of(kernel), (*MODULES, "veth", *wanted))
    switches = (f"kernel switch {name}: a patch of ours" for name in variant.switches)
    told = [*(f"module {name}" for name in absent), *switches]
    if told:
        raise Unavailable(
            f"the kernel {kernel.identity.release} does not have what {variant.name} "
            "asks:\n" + "\n".join(f"  {each}" for each in told),
            remedy="a kernel of `kernel build --arch x86_64`, which has all of it",
        )


def accelerator(image: Path) -> Accelerator:
    """Return KVM where that kernel boots by it within ten seconds, else TCG."""
    return Accelerator.KVM if boots_by_kvm(image) else Accelerator.TCG


def may_use_kvm() -> bool:
    """Tell whether there is a /dev/kvm that this user may open; it may not work."""
    return os.access(_KVM, os.R_OK | os.W_OK)


@cache
def boots_by_kvm(image: Path) -> bool:
    """Try whether a kernel boots by KVM. Asked once a process."""
    return may_use_kvm() and boots_by(Accelerator.KVM, image)


def boots_by(by: Accelerator, image: Path) -> bool:
    """Try it: a kernel without a root panics, and QEMU ends."""
    argv = (*machine_argv(image, by), "-append", _KERNEL_OPTIONS)
    done = stream(
        argv, lambda _line: None, timeout_s=by.deadline_s, env={"PATH": LAB_PATH}
    )
    return any(words in done.output for words in _ALIVE)


def processors(by: Accelerator) -> int:
    """Return how many processors a guest has. By TCG they would take turns."""
    return min(os.cpu_count() or 1, _MOST_CPUS) if by is Accelerator.KVM else 1


def machine_argv(image: Path, by: Accelerator) -> tuple[str, ...]:
    """Return the command of a PC that has that kernel, a console, and nothing else."""
    kvm = by is Accelerator.KVM
    return (
        PROGRAM,
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", "pc", "-accel", by.value, "-cpu", "host" if kvm else "max"),
        *("-smp", str(processors(by)), "-m", str(MEMORY_MB)),
        *("-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"),
        *("-kernel", str(image)),
    )


def qemu_argv(image: Path, folder: Path, by: Accelerator) -> tuple[str, ...]:
    """Return the command that boots image and lends it root and the job's folder."""
    return (
        *machine_argv(image, by),
        *("-append", command_line()),
        *_lend(_ROOT_TAG, Path("/"), ",readonly=on"),
        *_lend(_JOB_TAG, folder, ""),
    )


def command_line() -> str:
    """Return the kernel's command line: of all runs the same."""
    shell, *words = first_command()
    return (
        f"{_KERNEL_OPTIONS} norandmaps root={_ROOT_TAG} rootfstype=9p "
        f'rootflags={_ROOT_OPTIONS} ro init={shell} -- {words[0]} "{words[1]}"'
    )


def first_command() -> tuple[str, ...]:
    """Return what a guest does first: it finds the job's folder, and its script."""
    steps = (
        "mount -t devtmpfs dev /dev",
        "exec </dev/null >/dev/console 2>&1",
        f"mount -t 9p -o {_JOB_OPTIONS} {_JOB_TAG} {_FIRST}",
        f"exec {_FIRST}/{FOLDER}/init",
    )
    return ("/bin/sh", "-ec", "; ".join(steps))


def share_modules(modules: Path) -> str:
    """Return what puts a kernel's modules where modprobe looks. See guest_init."""
    at = f"lib/modules/{modules.name}"
    host = shlex.quote(str(modules))
    return f"mkdir -p {at}; mount --bind .{host} {at}"


def _lend(tag: str, folder: Path, more: str) -> tuple[str, ...]:
    path = str(folder).replace(",", ",,")  # QEMU's way to write a comma
    # multidevs: a host's root has several file systems, and inode numbers twice.
    what = f"local,id={tag},path={path},security_model=none,multidevs=remap{more}"
    device = f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"
    return ("-fsdev", what, "-device", device)


def _pack_initramfs(kernel: BuiltKernel, folder: Path) -> Path:
    busybox = Path(shutil.which("busybox", path=LAB_PATH) or "").read_bytes()
    path = folder / "initramfs"
    root = f"mount -t 9p -o {_ROOT_OPTIONS} {_ROOT_TAG}"
    path.write_bytes(initramfs(modules_of(kernel), busybox, root, first_command()))
    return path
