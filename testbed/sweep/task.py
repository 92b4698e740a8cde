"""Task: a point to run, and the hash of all that decides what comes out.

A finished point is an ordinary run folder, <out>/<experiment>/<run-id>; beside it
<out>/<experiment>/points/<hash>.json says which. So a point is found again by any
sweep that has it, and is run again when its kernel, a setting or the lab is another.
Start with Task and Points.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

import testbed
from testbed.errors import BuildError, SpecError, StoreError
from testbed.files import read_json, sha256
from testbed.kernels.progress import Progress
from testbed.kernels.resolve import resolve
from testbed.pipeline import Plan
from testbed.spec.codec import encode
from testbed.spec.grid import Point
from testbed.spec.kernel import BuiltKernel
from testbed.store import explained, load_runs, write_text

FORMAT = 1
_CHECKOUT = Path(testbed.__file__).parent.parent
#: What decides about packets, beside the kernel: the code that runs in the machine, and
#: the code that boots it.
_DECIDING = (
    *("testbed/lab/*.py", "testbed/lab_job.py", "testbed/machine/*.py"),
    *("testbed/spec/*.py", "topologies/*.py"),
)
#: What a variant is called does not matter, and its kernel has an identity.
_NAMES = ("about", "kernel")


@dataclass(frozen=True, kw_only=True)
class Task:
    """A point to run. number: its place in the grid, from 1.

    kernels: by the names the variants use.
    """

    number: int
    point: Point
    kernels: Mapping[str, BuiltKernel]
    plan: Plan

    @cached_property
    def hash(self) -> str:
        """Of all that decides what comes out, in hex."""
        variants = [
            {
                **{
                    name: each
                    for name, each in encode(one).items()
                    if name not in _NAMES
                },
                "kernel": self.kernels[one.kernel].identity.build_id,
                "release": self.kernels[one.kernel].identity.release,
            }
            for one in self.point.experiment.variants
        ]
        said = {
            "format": FORMAT,
            "variants": variants,
            "machine": self.plan.machine.name,
            "seed": self.plan.seed,
            "repeats": self.plan.repeats,
            "code": code_hash(),
        }
        return sha256(json.dumps(said, sort_keys=True).encode())[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A point that could not be run or measured, and why. number: its task's."""

    number: int
    at: tuple[str, ...]
    why: str


class BuildWatch(Protocol):
    """Whoever wants to see how far the build of a kernel is."""

    def kernel(self, name: str, progress: Progress) -> None:
        """Be told."""


def code_hash() -> str:
    """Return the hash of this testbed's code as far as it decides about packets."""
    found = hashlib.sha256()
    for pattern in _DECIDING:
        for path in sorted(_CHECKOUT.glob(pattern)):
            found.update(f"{path.relative_to(_CHECKOUT)}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:32]


def tasks_of(
    points: Sequence[Point], plan: Plan, watch: BuildWatch
) -> tuple[tuple[Task, ...], tuple[Broken, ...]]:
    """Return the tasks that points are, and the points whose kernel does not build.

    Kernels are built first if need be. Raises SpecError for one nobody knows.
    """
    every = (each for point in points for each in point.experiment.variants)
    names = dict.fromkeys(each.kernel for each in every)
    built = {name: _built(name, plan, watch) for name in names}
    tasks, broken = [], []
    for number, point in enumerate(points, start=1):
        own = {each.kernel: built[each.kernel] for each in point.experiment.variants}
        kernels = {n: each for n, each in own.items() if isinstance(each, BuiltKernel)}
        if len(kernels) == len(own):
            task = Task(number=number, point=point, kernels=kernels, plan=plan)
            tasks.append(task)
        else:
            why = next(str(e) for e in own.values() if isinstance(e, BuildError))
            broken.append(Broken(number=number, at=point.at, why=why))
    return tuple(tasks), tuple(broken)


def kernels_of(tasks: Sequence[Task]) -> tuple[BuiltKernel, ...]:
    """Return every kernel that tasks need, once."""
    found = {each.image: each for task in tasks for each in task.kernels.values()}
    return tuple(found.values())


def _built(name: str, plan: Plan, watch: BuildWatch) -> BuiltKernel | BuildError:
    try:
        return resolve(name, partial(watch.kernel, name), plan.machine.arch)
    except BuildError as error:
        return error


class Points:
    """The finished points of an experiment below an --out folder."""

    def __init__(self, out: Path, experiment: str) -> None:
        self._home = out / experiment

    @property
    def home(self) -> Path:
        """Where the runs of the experiment are."""
        return self._home

    def find(self, task: Task) -> Path | None:
        """Return the folder of the runs of a finished point; None if there is none."""
        name = read_json(self._note(task)).get("run")
        if not isinstance(name, str):
            return None
        try:
            runs = load_runs(self._home / name)
        except (SpecError, StoreError):  # somebody removed it
            return None
        expected = len(task.point.experiment.variants) * task.plan.repeats
        whole = len(runs) == expected and all(each.whole for each in runs)
        return self._home / name if whole else None

    def keep(self, task: Task, folder: Path) -> None:
        """Note that a point is finished, and its runs lie in a folder of home."""
        note = self._note(task)
        with explained(note):
            note.parent.mkdir(parents=True, exist_ok=True)
        write_text(note, json.dumps({"format": FORMAT, "run": folder.name}) + "\n")

    def forget(self, task: Task) -> None:
        """Have a point run again next time."""
        self._note(task).unlink(missing_ok=True)

    def _note(self, task: Task) -> Path:
        return self._home / "points" / f"{task.hash}.json"
