"""Points for tests of sweeps, on a machine that runs nothing."""

from dataclasses import replace
from pathlib import Path

from builders import BUILT, a_variant, an_experiment
from fakes import FakeMachine

from testbed.pipeline import Plan
from testbed.spec.grid import Point
from testbed.spec.path import Path as NetworkPath
from testbed.sweep.task import Task


def a_plan(out: Path, machine: FakeMachine | None = None, **changed: object) -> Plan:
    plan = Plan(
        machine=machine or FakeMachine(),
        seed=1,
        repeats=1,
        out=out,
        command="sweep it",
        abreast=1,
    )
    return replace(plan, **changed)  # type: ignore[arg-type]


def a_task(plan: Plan, number: int = 1, rtt: int = 1, name: str = "before") -> Task:
    path = NetworkPath(rtt=rtt * 1_000_000, rate=10**9, queue=1000)
    variants = (a_variant(name, path=path), a_variant("after", path=path))
    return Task(
        number=number,
        point=Point(
            at=(f"{rtt}ms",), experiment=replace(an_experiment(), variants=variants)
        ),
        kernels={"6.12": BUILT},
        plan=plan,
    )


class Heard:
    """A watch that remembers how far a sweep was said to be."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, str]] = []

    def sweep(self, done: int, total: int, told: str) -> None:
        self.told.append((done, total, told))
