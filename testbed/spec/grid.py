"""A grid over settings: every combination of some values of some keys.

`--grid path.rtt=1ms,10ms` is an axis; a value that has a comma in it is quoted, as in
CSV. Start with parse_axis and points_of.
"""

import csv
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from testbed.errors import PlacedError
from testbed.spec.choose import with_kernels
from testbed.spec.experiment import Experiment

#: The axis that names kernels as `run --kernel` does, and not as YAML values: 6.10 is
#: not 6.1.
KERNEL = "kernel"
#: More are a mistake in typing, not a plan: at 3 s a point, a day and a half.
_MOST_POINTS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One key and the values it takes, as they were typed."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination. at: its value on each axis.  experiment: with these set."""

    at: tuple[str, ...]
    experiment: Experiment


def parse_axis(text: str) -> Axis:
    """Return the axis that "KEY=V1,V2" is. Raises PlacedError for what is none."""
    key, equals, rest = text.partition("=")
    values = next(csv.reader([rest], skipinitialspace=True), [])
    if not equals or not key or not all(values) or not values:
        raise PlacedError(f"--grid {text}: write KEY=V1,V2, such as path.rtt=1ms,10ms")
    twice = [each for each in values if values.count(each) > 1]
    if twice:
        raise PlacedError(f"--grid {text}: {twice[0]} is there twice")
    return Axis(key=key, values=tuple(values))


def points_of(
    axes: Sequence[Axis], load: Callable[[Sequence[str]], Experiment]
) -> tuple[Point, ...]:
    """Return every point of a grid, the last axis changing fastest.

    load: the experiment with "key=value" settings. Raises SpecError for a point that
    it refuses, and for axes of one key.
    """
    keys = [each.key for each in axes]
    if len(set(keys)) < len(keys):
        raise PlacedError("--grid: each key needs one --grid, with all its values")
    number = 1
    for each in axes:
        number *= len(each.values)
    if number > _MOST_POINTS:
        raise PlacedError(f"--grid: {number} points are more than {_MOST_POINTS}")
    return tuple(
        Point(at=at, experiment=_at(keys, at, load))
        for at in itertools.product(*(each.values for each in axes))
    )


def _at(
    keys: Sequence[str], at: Sequence[str], load: Callable[[Sequence[str]], Experiment]
) -> Experiment:
    named = list(zip(keys, at, strict=True))
    experiment = load([f"{key}={value}" for key, value in named if key != KERNEL])
    kernels = [value for key, value in named if key == KERNEL]
    return with_kernels(experiment, kernels) if kernels else experiment
