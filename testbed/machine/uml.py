"""User-Mode Linux: a real kernel as one unprivileged process, on either clock.

In virtual time the clock moves only when every task of the guest sleeps
(time-travel=inf-cpu), so neither the speed nor the load of the host can touch a result.
In real time it is the host's clock: CPU costs time, and no two runs are the same.

The kernel's command line goes into its randomness, so nothing on it may differ between
two runs but the seed; what does differ reaches the guest through the folder the kernel
is started in, which the guest finds as /proc/self/cwd while its root is still the
host's.

The guest's root is the host's file system, and only the job's folder is writable (see
guest.py). UML_HOSTFS_RW holds the kernel itself to that (our patch uml-hostfs-share),
so that not even the guest's root can undo it.

Read first: UmlMachine.run, uml_argv.
"""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from testbed.errors import Unavailable
from testbed.machine.guest import (
    FOLDER,
    INSIDE,
    MEMORY_MB,
    Boot,
    boot,
    guest_init,
    require_programs,
)
from testbed.machine.guest import PACKAGES as GUEST_PACKAGES
from testbed.machine.machine import Job, Outcome, programs_of
from testbed.process import Stop
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import HOST_KERNEL, Arch, BuiltKernel

#: CLOCK_REALTIME of every boot: 2025-06-15 15:06:40 UTC.
BOOT_NS = 1_750_000_000_000_000_000
#: What boots the guest, and what the lab runs in it -> the package it comes in.
PACKAGES = {"setarch": "util-linux", **GUEST_PACKAGES}


class UmlMachine:
    """Runs a built UML kernel in virtual time. Any number can run side by side."""

    name = "uml"
    clock = "virtual"
    arch = Arch.UM

    def check(self, experiment: Experiment) -> None:
        """Find the programs of a guest. See Machine.check."""
        variants = experiment.variants
        require_programs({**PACKAGES, **programs_of(variants)})
        if any(each.kernel == HOST_KERNEL for each in variants):
            raise Unavailable(
                f"the kernel {HOST_KERNEL!r} is this very host's, and boots nowhere",
                remedy="--machine host, or a kernel that `kernel list` shows",
            )

    def run(
        self,
        kernel: BuiltKernel,
        job: Job,
        on_line: Callable[[str], None],
        stop: Stop,
    ) -> Outcome:
        """Boot, run the job, power off. See Machine.run."""
        require_programs({**PACKAGES, **job.programs})
        with job.held.scratch(job.folder / FOLDER) as folder:
            init = folder / "init"
            init.write_text(guest_init(job, sys.executable, share_command(job)))
            init.chmod(0o755)
            argv = uml_argv(kernel.image, job.seed, self.clock)
            real = int(self.clock == "real")  # the guest has one processor
            start = Boot(argv=argv, cwd=folder, env=uml_env(job), processors=real)
            return boot(kernel, start, job, on_line, stop)


class UmlRealMachine(UmlMachine):
    """Runs the same kernel on the host's clock: whatever else runs there shows."""

    name = "uml-real"
    clock = "real"


def uml_argv(image: Path, seed: int, clock: str) -> tuple[str, ...]:
    """Return the command that boots image: the same for all runs but for the seed."""
    virtual = ("time-travel=inf-cpu", f"time-travel-start={BOOT_NS}")
    return (
        "setarch",
        "-R",  # no host ASLR: addresses must not differ between runs
        str(image),
        f"mem={MEMORY_MB}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "init=/proc/self/cwd/init",
        *(virtual if clock == "virtual" else ()),
        f"uml-seed={seed}",
        "uml_dir=uml",
        "umid=m",
        "con=null",
        "con0=null,fd:1",
        "norandmaps",  # nor guest ASLR: where things lie shows in the order of sets
        "quiet",
        "panic=-1",
        "noreboot",
    )


def share_command(job: Job) -> str:
    """Return what puts the job's folder into the guest. See guest_init."""
    folder = shlex.quote(str(job.folder))
    return f"mount -t hostfs share {INSIDE[1:]} -o {folder}"


def uml_env(job: Job) -> dict[str, str]:
    """Return the whole environment of the UML process."""
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "UML_HOSTFS_RW": str(job.folder),
        "TMPDIR": _memory_dir(),
        # glibc's rseq registration confuses the stub processes: uml.md, fix 2.
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
    }


def _memory_dir() -> str:
    """Return where the guest's memory file fits; containers have a tiny /dev/shm."""
    try:
        shm = os.statvfs("/dev/shm")  # noqa: S108  # the kernel unlinks it at once
    except OSError:
        return "/tmp"  # noqa: S108
    fits = shm.f_bavail * shm.f_frsize >= MEMORY_MB << 20
    return "/dev/shm" if fits else "/tmp"  # noqa: S108
