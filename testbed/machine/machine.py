"""What every machine is: a kernel that runs one command, and says how it went."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from testbed.files import write_whole
from testbed.held import Record
from testbed.process import Stop
from testbed.spec.drivers import DRIVERS
from testbed.spec.experiment import Experiment, Variant
from testbed.spec.kernel import Arch, BuiltKernel

#: What the lab runs on any machine -> the package it comes in, and where it looks.
LAB_PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sysctl": "procps",
    "ifconfig": "net-tools",
    "mnexec": "mininet",
}
LAB_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command to run as a machine's root.

    folder: the one folder that the command may write; it is started there, wherever
    that is inside.  views: path inside to the host's folder that is to be seen there.
    Paths inside must not depend on the host's: their length shows in virtual time.
    programs: what it starts beside what every machine needs, and their apt packages.
    seed: what the machine's randomness grows from.  deadline_s: wall-clock seconds
    after which the machine is ended, whatever it is doing.  held: where the machine
    writes down what it makes on the host.
    """

    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, Path] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    deadline_s: float = 300
    held: Record = field(default_factory=lambda: Record("unrecorded"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a job went. status: its exit status.  virtual_ns: time on the machine."""

    status: int
    wall_ns: int
    virtual_ns: int


def programs_of(variants: Sequence[Variant]) -> dict[str, str]:
    """Return the programs that variants start, and the apt packages they are in."""
    drivers = {each.workload.driver for each in variants}
    return {name: each for one in drivers for name, each in DRIVERS[one].items()}


def add_to_environment(folder: Path, told: Mapping[str, object]) -> None:
    """Add to the environment.json in a job's folder; a lab that failed wrote none."""
    path = folder / "environment.json"
    if path.is_file():
        whole = {**json.loads(path.read_text()), **told}
        write_whole(path, (json.dumps(whole, indent=1, sort_keys=True) + "\n").encode())


class Machine(Protocol):
    """A way to run a kernel. clock: "virtual" or "real".  arch: of kernels it boots."""

    name: str
    clock: str
    arch: Arch

    def check(self, experiment: Experiment) -> None:
        """Raise Unavailable, with a remedy, for what it needs and is not here.

        Called before anything is made for a run.
        """

    def run(
        self,
        kernel: BuiltKernel,
        job: Job,
        on_line: Callable[[str], None],
        stop: Stop,
    ) -> Outcome:
        """Run the job to its end, or to stop, handing on each line of the console.

        Raises Unavailable when it lacks a program, and MachineLost when the machine
        panicked, hung or ended without an answer.
        """
        ...
