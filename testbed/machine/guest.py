"""What every guest of this host has in common: its root, its first process, its answer.

A guest's root is the host's file system, read-only below a tmpfs overlay; the job's
folder alone is writable. Its first process runs the job there, leaves the job's exit
status and the guest's uptime in that folder, and powers off.

Read first: guest_init, boot.
"""

import shlex
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.errors import MachineLost, Unavailable
from testbed.machine.machine import (
    LAB_PATH,
    LAB_PROGRAMS,
    Job,
    Outcome,
    add_to_environment,
)
from testbed.machine.sharing import keeping_to, own_processors
from testbed.process import Finished, Stop, missing_programs, stream
from testbed.spec.kernel import BuiltKernel

MEMORY_MB = 2048
#: What a guest's first process and the lab run -> the package it comes in.
PACKAGES = {"mount": "mount", "pivot_root": "util-linux", **LAB_PROGRAMS}
#: Where the guest's first process lies; gone once it is up.
FOLDER = ".machine"
#: Where a job's folder is inside.
INSIDE = "/run/job"
#: What apt may need first.
_NOTES = {"netperf": "Debian has netperf in non-free, which /etc/apt has to list"}
#: Exit status and uptime, the guest's last word.
_ANSWER = ".answer"
_ANSWER_WORDS = 2
_TAIL = 15
_PANIC = "Kernel panic"
#: RB_POWER_OFF, linux/reboot.h; UML has no /proc/sysrq-trigger to ask.
_POWER_OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"

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


def guest_init(job: Job, python: str, *shares: str) -> str:
    """Return the shell script that is the guest's first process.

    shares: the commands that put the job's folder at run/job, and whatever else the
    guest is to see, below the current folder, which becomes its root.
    """
    inside = INSIDE.removeprefix("/")
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
        *shares,
        *views,
        f"export PATH={LAB_PATH} HOME=/root LANG=C.UTF-8",
        *exports,
        _ENTER_ROOT,
        f"cd {INSIDE}",
        f"rm -r {FOLDER}",
        "status=0",
        f"{shlex.join(job.argv)} </dev/null 2>&1 || status=$?",
        "read uptime idle </proc/uptime",
        f"echo $status $uptime >{_ANSWER}",
        "sync",
        f"exec {shlex.join((python, '-I', '-S', '-c', _POWER_OFF))}",
    )
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """The host's process that is a guest. env: all of its environment.

    processors: how many of the host's it is to keep to; 0 leaves it all.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    processors: int = 0


def boot(
    kernel: BuiltKernel,
    start: Boot,
    job: Job,
    on_line: Callable[[str], None],
    stop: Stop,
) -> Outcome:
    """Run a guest to its end and return its answer. See Machine.run."""
    tail: deque[str] = deque(maxlen=_TAIL)

    def take(line: str) -> None:
        if not (tail and _PANIC in tail[-1]):  # what follows is a list of addresses
            tail.append(line)
        on_line(line)

    pinned = own_processors(start.processors)
    began = time.monotonic_ns()
    ended = stream(
        start.argv,
        take,
        timeout_s=job.deadline_s,
        cwd=start.cwd,
        env=start.env,
        stop=stop,
        on_start=keeping_to(pinned, job.held.note_process),
    )
    wall_ns = time.monotonic_ns() - began
    if start.processors:
        add_to_environment(job.folder, {"pinned": pinned or "all there are"})
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
    elif any(_PANIC in line for line in tail):
        how = "panicked"
    else:
        how = f"ended without an answer (exit status {ended.status})"
    said = "\n".join(f"  | {line}" for line in tail) or "  | (nothing)"
    return f"the {release} guest {how}; its last words:\n{said}"
