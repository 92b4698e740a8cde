"""Machines side by side: whose value is where, and how far apart they are."""

from dataclasses import replace
from io import StringIO

import pytest
from report.builders import result
from rich.console import Console

from testbed.report.machines import machine_grid, spread
from testbed.report.result import Result
from testbed.report.table import machines_table


@pytest.fixture
def results(tmp_path) -> list[Result]:
    """Return one result, as if from two machines, the other's values 10 % larger."""
    one = result(tmp_path)
    runs = tuple(
        replace(each, run=replace(each.run, machine="qemu")) for each in one.runs
    )
    verdicts = tuple(
        replace(
            each,
            measured={
                name: value and value * 1.1 for name, value in each.measured.items()
            },
        )
        for each in one.verdicts
    )
    return [one, replace(one, runs=runs, verdicts=verdicts)]


def test_each_machine_has_a_column_of_what_it_measured(results) -> None:
    grid = machine_grid(results)

    assert grid.head == ("", "claimed", "uml", "qemu", "spread")
    claim = results[0].experiment.claims[0]
    variant = next(iter(claim.claimed))
    assert grid.rows[0][0] == f"{claim.metric} {variant}"
    assert grid.rows[0][-1] == "10.0%"
    assert grid.rows[0][2] != grid.rows[0][3]
    assert grid.rows[-1][0] == "claims reproduced"


def test_without_claims_what_is_usual_is_shown_of_every_variant(results) -> None:
    bare = [
        replace(each, experiment=replace(each.experiment, claims=()), verdicts=())
        for each in results
    ]

    names = [row[0] for row in machine_grid(bare).rows]

    assert f"TcpOutSegs {bare[0].variants()[0]}" in names


@pytest.mark.parametrize(
    ("values", "share"),
    [
        pytest.param([100, 110, 105], 0.1, id="of-largest-over-smallest"),
        pytest.param([100, None], None, id="one-is-unknown"),
        pytest.param([100], None, id="one-alone"),
        pytest.param([0, 5], None, id="of-nothing"),
    ],
)
def test_the_spread_is(values, share) -> None:
    assert spread(values) == (share and pytest.approx(share))


def test_every_machine_is_named_once_above_the_table(results) -> None:
    out = StringIO()
    Console(file=out, width=100).print(machines_table(results))

    shown = out.getvalue()

    assert shown.count("machine uml, virtual clock") == 1
    assert shown.count("machine qemu, virtual clock") == 1
