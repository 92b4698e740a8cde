"""User-Mode Linux: a real kernel as one unprivileged process, on either clock.

In virtual time the clock moves only when every task of the guest sleeps
(time-travel=inf-cpu), so neither the speed nor the load of the host can touch a result.
In real time it is the host's clock: CPU costs time, and no two runs are the same.

The kernel's command line goes into its randomness, so nothing on it may differ between
two runs but the seed; what does differ reaches the guest through the folder the kernel
is started in, which the guest finds as /proc/self/cwd while its root is still the
host's.

The guest's root is the host's file system, read-only below a tmpfs overlay; the job's
folder alone is writable. UML_HOSTFS_RW holds the kernel itself to that (our patch
uml-hostfs-share), so that not even the guest's root can undo it.

Read first: UmlMachine.run, guest_init, uml_argv.
"""

import os
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from testbed.errors import MachineLost, Unavailable
from testbed.machine.machine import (
    LAB_PATH,
    LAB_PROGRAMS,
    Job,
    Outcome,
    programs_of,
)
from testbed.process import Finished, Stop, missing_programs, stream
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import HOST_KERNEL, BuiltKernel

#: CLOCK_REALTIME of every boot: 2025-06-15 15:06:40 UTC.
BOOT_NS = 1_750_000_000_000_000_000
MEMORY_MB = 2048
#: What boots the guest, and what the lab runs in it -> the package it comes in.
PACKAGES = {
    "setarch": "util-linux",
    "mount": "mount",
    "pivot_root": "util-linux",
    **LAB_PROGRAMS,
}
#: What apt may need first.
_NOTES = {"netperf": "Debian has netperf in non-free, which /etc/apt has to list"}
#: Where the kernel starts, and the guest's first process lies; gone once it is up.
_FOLDER = ".machine"
#: Where a job's folder is inside.
_INSIDE = "/run/job"
#: Exit status and uptime, the guest's last word.
_ANSWER = ".answer"
_ANSWER_WORDS = 2
_TAIL = 15
#: RB_POWER_OFF, linux/reboot.h; UML has no /proc/sysrq-trigger to ask.
_POWER_OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"


class UmlMachine:
    """Runs a built UML kernel in virtual time. Any number can run side by side."""

    name = "uml"
    clock = "virtual"

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
        with job.held.scratch(job.folder / _FOLDER) as folder:
            init = folder / "init"
            init.write_text(guest_init(job, sys.executable))
            init.chmod(0o755)
            argv = uml_argv(kernel.image, job.seed, self.clock)
            return _boot(kernel, argv, job, on_line, stop)


class UmlRealMachine(UmlMachine):
    """Runs the same kernel on the host's clock: whatever else runs there shows."""

    name = "uml-real"
    clock = "real"


def require_programs(
    packages: Mapping[str, str] = PACKAGES, path: str = LAB_PATH
) -> None:
    """Raise Unavailable naming what the guest will need and this host does not have.

    packages: by program, those of apt.  path: where the guest looks for programs.
    """
    missing = missing_programs(packages, path)
    if missing:
        names = sorted(set(missing.values()))
        notes = (f" ({_NOTES[name]})" for name in names if name in _NOTES)
        raise Unavailable(
            f"a guest needs {', '.join(missing)}, and has only what this host has",
            remedy=f"apt-get install {' '.join(names)}{''.join(notes)}",
        )


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


_NEW_ROOT = """\
mount -t tmpfs overlay /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
cd /mnt/root
mount -t tmpfs run run
"""
_ENTER_ROOT = """\
mkdir -p mnt/host
pivot_root . mnt/host
mount -t proc proc /proc
mount -t sysfs sys /sys
[ ! -d /sys/kernel/tracing ] || mount -t tracefs tracing /sys/kernel/tracing
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /run/netns
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
umount -l /mnt/host
ip link set lo up
"""


def guest_init(job: Job, python: str) -> str:
    """Return the shell script that is the guest's first process."""
    inside = _INSIDE.removeprefix("/")
    views = (
        f"mkdir {at[1:]}; mount --bind .{shlex.quote(str(host))} {at[1:]}"
        for at, host in job.views.items()
    )
    exports = (f"export {name}={shlex.quote(text)}" for name, text in job.env.items())
    lines = (
        "#!/bin/sh",
        "# Give the guest the host's root below an overlay, run a command, power off.",
        "set -e",
        _NEW_ROOT,
        f"mkdir {inside}",
        f"mount -t hostfs share {inside} -o {shlex.quote(str(job.folder))}",
        *views,
        f"export PATH={LAB_PATH} HOME=/root LANG=C.UTF-8",
        *exports,
        _ENTER_ROOT,
        f"cd {_INSIDE}",
        f"rm -r {_FOLDER}",
        "status=0",
        f"{shlex.join(job.argv)} </dev/null 2>&1 || status=$?",
        "read uptime idle </proc/uptime",
        f"echo $status $uptime >{_ANSWER}",
        "sync",
        f"exec {shlex.join((python, '-I', '-S', '-c', _POWER_OFF))}",
    )
    return "\n".join(lines) + "\n"


def _boot(
    kernel: BuiltKernel,
    argv: tuple[str, ...],
    job: Job,
    on_line: Callable[[str], None],
    stop: Stop,
) -> Outcome:
    folder = job.folder / _FOLDER
    tail: deque[str] = deque(maxlen=_TAIL)

    def take(line: str) -> None:
        tail.append(line)
        on_line(line)

    began = time.monotonic_ns()
    ended = stream(
        argv,
        take,
        timeout_s=job.deadline_s,
        cwd=folder,
        env=uml_env(job),
        stop=stop,
        on_start=job.held.note_process,
    )
    wall_ns = time.monotonic_ns() - began
    words = _take_answer(job.folder / _ANSWER)
    if len(words) != _ANSWER_WORDS:
        raise MachineLost(_obituary(kernel, job, ended, tuple(tail)))
    return Outcome(
        status=int(words[0]), wall_ns=wall_ns, virtual_ns=round(float(words[1]) * 1e9)
    )


def _take_answer(path: Path) -> list[str]:
    if not path.is_file():
        return []
    words = path.read_text().split()
    path.unlink()
    return words


def _obituary(
    kernel: BuiltKernel, job: Job, ended: Finished, tail: tuple[str, ...]
) -> str:
    release = kernel.identity.release
    if ended.timed_out:
        how = f"did not end within {job.deadline_s:g} s and was killed"
    elif any("Kernel panic" in line for line in tail):
        how = "panicked"
    else:
        how = f"ended without an answer (exit status {ended.status})"
    said = "\n".join(f"  | {line}" for line in tail) or "  | (nothing)"
    return f"the {release} guest {how}; its last words:\n{said}"
