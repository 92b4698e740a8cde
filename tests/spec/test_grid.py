"""A grid over settings."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from builders import an_experiment

from testbed.errors import SpecError
from testbed.spec.experiment import Experiment
from testbed.spec.grid import Axis, parse_axis, points_of


def load(settings: Sequence[str]) -> Experiment:
    return replace(an_experiment(), question=" ".join(settings))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("path.rtt=1ms,10ms", ("1ms", "10ms"), id="two"),
        pytest.param("path.rtt=1ms", ("1ms",), id="one"),
        pytest.param("path.rtt=1ms, 10ms", ("1ms", "10ms"), id="space"),
        pytest.param('path.rtt="4,8",16', ("4,8", "16"), id="comma-in-a-value"),
        pytest.param("path.rtt=a=1,b=2", ("a=1", "b=2"), id="equals-in-a-value"),
    ],
)
def test_an_axis_is_a_key_and_its_values(text, values) -> None:
    assert parse_axis(text) == Axis(key="path.rtt", values=values)


@pytest.mark.parametrize(
    "text", ["path.rtt", "=1", "path.rtt=", "path.rtt=1,,2", "path.rtt=1,1"]
)
def test_what_is_no_axis_is_a_mistake(text) -> None:
    with pytest.raises(SpecError, match=f"--grid {re.escape(text)}"):
        parse_axis(text)


def test_a_grid_has_every_combination_the_last_axis_changing_fastest() -> None:
    axes = (parse_axis("a=1,2"), parse_axis("b=x,y"))

    points = points_of(axes, load)

    assert [each.at for each in points] == [
        ("1", "x"),
        ("1", "y"),
        ("2", "x"),
        ("2", "y"),
    ]
    assert points[1].experiment.question == "a=1 b=y"


def test_kernels_are_named_as_text_not_as_numbers() -> None:
    points = points_of((parse_axis("kernel=6.1,6.10"),), load)

    kernels = [[each.kernel for each in p.experiment.variants] for p in points]
    assert kernels == [["6.1", "6.1"], ["6.10", "6.10"]]


def test_one_key_on_two_axes_is_a_mistake() -> None:
    with pytest.raises(SpecError, match="each key needs one --grid"):
        points_of((parse_axis("a=1"), parse_axis("a=2")), load)


def test_a_grid_beyond_reason_is_a_mistake() -> None:
    values = ",".join(map(str, range(300)))

    with pytest.raises(SpecError, match="90000 points"):
        points_of((parse_axis(f"a={values}"), parse_axis(f"b={values}")), load)
