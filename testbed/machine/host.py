"""This very host: its own kernel, in real time, for whoever is root on it.

The lab runs in a cell: mount, process, IPC and network namespaces of its own, with
every mount read-only but the run's folder. When its first process dies, for whatever
reason, the kernel ends all others and forgets their mounts, links and sysctls. What can
be seen outside are the hosts' network namespaces, by names that bear the run's id
(`ip netns exec testbed-<run-id>-h1 ss -ti` looks into a run); those are held.

Read first: HostMachine.run, cell_argv.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from testbed.errors import InfrastructureError, MachineLost, Unavailable
from testbed.held import Kind, Record, Thing, mount_points
from testbed.machine.cell import TEMPORARY
from testbed.machine.leftovers import compare, processes_of, take_snapshot
from testbed.machine.machine import (
    LAB_PATH,
    LAB_PROGRAMS,
    Job,
    Outcome,
    add_to_environment,
    programs_of,
)
from testbed.machine.needs import missing, needs_of, remedy
from testbed.process import Finished, Stop, missing_programs, run, stream
from testbed.spec.experiment import Experiment, Variant
from testbed.spec.kernel import HOST_KERNEL, Arch, BuiltKernel
from testbed.spec.names import HOSTS, NAMESPACES, RUN_VARIABLE, namespace_name
from testbed.user import filing_as_root, is_root

#: What the cell and the lab need -> the package it comes in.
PACKAGES = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "umount": "mount",
    "chown": "coreutils",
    **LAB_PROGRAMS,
}
_CELL = Path(__file__).with_name("cell.py")
_TIMEOUT_S = 20
_TAIL = 15
_USE_UML = "--machine uml, which needs no root"


class HostMachine:
    """Runs a job as this host's root. Side by side, runs would share its processors."""

    name = "host"
    clock = "real"
    arch = Arch.X86_64

    def check(self, experiment: Experiment) -> None:
        """Try on this kernel what the variants need of it. See Machine.check."""
        variants = experiment.variants
        require_own_kernel(variants)
        require_rights_and_programs(programs_of(variants))
        needs = dict.fromkeys(need for each in variants for need in needs_of(each))
        lacks = missing(needs)
        told = dict.fromkeys((*map(str, lacks), *switches_of(variants)))
        if told:
            raise Unavailable(
                f"this host's kernel, {os.uname().release}, cannot do what "
                f"{experiment.name} asks:\n" + "\n".join(f"  {each}" for each in told),
                remedy=remedy(lacks),
            )

    def run(
        self,
        kernel: BuiltKernel,
        job: Job,
        on_line: Callable[[str], None],
        stop: Stop,
    ) -> Outcome:
        """Name the namespaces, run the job in its cell, look at what is left."""
        before = take_snapshot()
        tail: deque[str] = deque(maxlen=_TAIL)

        def take(line: str) -> None:
            tail.append(line)
            on_line(line)

        with _named_namespaces(job.held), _given_back(job.folder):
            began = time.monotonic_ns()
            ended = stream(
                cell_argv(job),
                take,
                timeout_s=job.deadline_s,
                cwd=job.folder,
                env=cell_env(job),
                stop=stop,
                on_start=job.held.note_process,
            )
            wall_ns = time.monotonic_ns() - began
        left = compare(before, take_snapshot(), job.held.run_id)
        told = {"left": left.ours, "changed_by_others": left.others}
        add_to_environment(job.folder, told)
        _require_nothing((*processes_of(job.held.run_id), *left.ours))
        if ended.timed_out or ended.status < 0:
            raise MachineLost(_obituary(job, ended, tuple(tail)))
        return Outcome(status=ended.status, wall_ns=wall_ns, virtual_ns=wall_ns)


def require_rights_and_programs(programs: Mapping[str, str]) -> None:
    """Raise Unavailable unless this is root, and has what a lab needs.

    programs: those that a workload starts, and the apt packages they are in.
    """
    if not is_root():
        raise Unavailable(
            "the machine host builds its network on this kernel, which takes root",
            remedy=f"sudo python -m testbed ...; or {_USE_UML}",
        )
    absent = missing_programs({**PACKAGES, **programs}, LAB_PATH)
    if absent:
        raise Unavailable(
            f"the machine host needs {', '.join(absent)}",
            remedy=f"apt-get install {' '.join(sorted(set(absent.values())))}",
        )


def require_own_kernel(variants: Sequence[Variant]) -> None:
    """Raise Unavailable for a variant of another kernel than this very one."""
    others = sorted({each.kernel for each in variants} - {HOST_KERNEL})
    if others:
        raise Unavailable(
            f"the machine host runs this very kernel, not {', '.join(others)}",
            remedy=f"leave --kernel out; or {_USE_UML}",
        )


def switches_of(variants: Sequence[Variant]) -> tuple[str, ...]:
    """Name the kernel switches that variants need, and why a host has none."""
    names = sorted({name for each in variants for name in each.switches})
    why = "a patch of ours; what a host has under /sys/module is all of the host's"
    return tuple(f"kernel switch {name}: {why}" for name in names)


def cell_argv(job: Job) -> tuple[str, ...]:
    """Return the command that runs the job where it can write its folder alone."""
    apart = ("--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child")
    close = (sys.executable, "-I", "-S", str(_CELL), str(job.folder))
    return (
        "unshare",
        *apart,
        "--mount-proc",
        "--",
        *close,
        *seen_outside(job.argv, job),
    )


def cell_env(job: Job) -> dict[str, str]:
    """Return the whole environment of the lab."""
    own = {"PATH": LAB_PATH, "HOME": "/root", "LANG": "C.UTF-8", "TMPDIR": TEMPORARY}
    given = dict(zip(job.env, seen_outside(job.env.values(), job), strict=True))
    return {**own, **given, RUN_VARIABLE: job.held.run_id}


def seen_outside(words: Iterable[str], job: Job) -> tuple[str, ...]:
    """Return words of a job with its paths inside turned into the host's."""
    turned = tuple(words)
    for inside, host in job.views.items():
        turned = tuple(
            str(host) + word.removeprefix(inside)
            if word == inside or word.startswith(f"{inside}/")
            else word
            for word in turned
        )
    return turned


@contextmanager
def _named_namespaces(held: Record) -> Iterator[None]:
    with ExitStack() as stack:
        if not NAMESPACES.is_dir():  # nobody has named one since this host came up
            place = Thing(kind=Kind.PLACE, at=str(NAMESPACES))
            stack.enter_context(held.holding(place, _leave_place))
            with filing_as_root():
                NAMESPACES.mkdir(exist_ok=True)
        for host in HOSTS:
            name = namespace_name(held.run_id, host)
            stack.enter_context(_named_namespace(held, NAMESPACES / name))
        yield


def _leave_place() -> None:
    with filing_as_root(), suppress(OSError):  # others have names in it
        NAMESPACES.rmdir()


@contextmanager
def _named_namespace(held: Record, path: Path) -> Iterator[None]:
    at = str(path)

    def unlink() -> None:
        with filing_as_root():
            path.unlink(missing_ok=True)

    def unmount() -> None:
        if at in mount_points():
            run(("umount", "--lazy", at), timeout_s=_TIMEOUT_S)

    with (
        held.holding(Thing(kind=Kind.FILE, at=at), unlink),
        held.holding(Thing(kind=Kind.MOUNT, at=at), unmount),
    ):
        with filing_as_root():
            path.parent.mkdir(exist_ok=True)  # another run may have just removed it
            path.touch(exist_ok=False)
        run(("unshare", f"--net={at}", "--", "true"), timeout_s=_TIMEOUT_S)
        yield


@contextmanager
def _given_back(folder: Path) -> Iterator[None]:
    """Have what root writes into the folder belong to the folder's owner afterwards."""
    try:
        yield
    finally:
        owner = folder.stat()
        whose = f"{owner.st_uid}:{owner.st_gid}"
        run(("chown", "-R", "-h", whose, str(folder)), timeout_s=_TIMEOUT_S)


def _require_nothing(left: Sequence[str]) -> None:
    if left:
        raise InfrastructureError(
            f"the host is not as it was before the run: {'; '.join(left)}"
        )


def _obituary(job: Job, ended: Finished, tail: tuple[str, ...]) -> str:
    how = f"was ended by signal {-ended.status}"
    if ended.timed_out:
        how = f"did not end within {job.deadline_s:g} s and was killed"
    said = "\n".join(f"  | {line}" for line in tail) or "  | (nothing)"
    return f"the lab on this host {how}; its last words:\n{said}"
