"""Stored runs against each other: what is paired, what differs, what does not."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from builders import IDENTITY
from report.builders import result
from rich.console import Console

from testbed.errors import SpecError
from testbed.export.comparison import comparison_json
from testbed.measured import MeasuredRun
from testbed.report.compared import comparison_page, comparison_table
from testbed.report.comparing import Comparison, Row, compare

Runs = tuple[MeasuredRun, ...]


def runs(folder: Path) -> Runs:
    return result(folder).runs


def with_run(of: Runs, **changed: object) -> Runs:
    return tuple(
        replace(each, run=replace(each.run, **changed))  # type: ignore[arg-type]
        for each in of
    )


def counting(of: Runs, packets: int) -> Runs:
    counters = {"sender": {"IpOutRequests": packets}, "receiver": {}}
    return tuple(replace(each, counters=counters) for each in of)


def row(found: Comparison, name: str, pair: int = 0) -> Row:
    return next(each for each in found.pairs[pair].rows if each.name == name)


def shown(found: Comparison) -> str:
    console = Console(file=StringIO(), width=100)
    console.print(comparison_table(found))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_variants_are_paired_by_name(tmp_path) -> None:
    found = compare([runs(tmp_path), runs(tmp_path)])

    assert [each.names for each in found.pairs] == [("before",) * 2, ("after",) * 2]
    assert found.unpaired == {}


def test_a_variant_that_one_side_lacks_is_named(tmp_path) -> None:
    both = runs(tmp_path)

    found = compare([both, both[:1]])

    assert [each.names for each in found.pairs] == [("before", "before")]
    assert found.unpaired == {"A": ("after",)}
    assert "not on all sides: after, of A" in shown(found)


def test_single_variants_are_paired_whatever_they_are_called(tmp_path) -> None:
    before, after = runs(tmp_path)

    found = compare([(before,), (after,)])

    assert found.pairs[0].title == "before against after"
    assert row(found, "tso_segs").values == (2.0, 10.0)
    assert row(found, "tso_segs").ratio(1) == 5.0


def test_sides_without_a_common_variant_are_a_mistake(tmp_path) -> None:
    both = runs(tmp_path)
    (tmp_path / "b").mkdir()
    others = result(tmp_path / "b", ("a", "b"), ()).runs

    with pytest.raises(SpecError, match="A has before, after; B has a, b"):
        compare([both, others])


def test_one_run_cannot_be_compared(tmp_path) -> None:
    with pytest.raises(SpecError, match="give 2 to 26 runs"):
        compare([runs(tmp_path)])


def test_equal_runs_differ_in_nothing(tmp_path) -> None:
    found = compare([runs(tmp_path), runs(tmp_path)])

    assert found.differences == ()
    assert not any(each.differs for pair in found.pairs for each in pair.rows)
    assert "nothing differs but the run" in shown(found)


def test_what_differs_is_told_and_what_does_not(tmp_path) -> None:
    kernel = replace(IDENTITY, release="6.13.1")
    other = with_run(runs(tmp_path), seed=2, kernel=kernel)

    found = compare([runs(tmp_path), other])

    assert [(each.pair, each.what, each.values) for each in found.differences] == [
        ("", "seeds", ("1", "2")),
        ("", "kernel: release", ("6.12.117", "6.13.1")),
    ]
    assert found.same == (
        *("experiment", "scale", "machine", "clock", "testbed"),
        *("settings", "environment"),
    )


def test_a_condition_that_differs_in_one_variant_names_it(tmp_path) -> None:
    before, after = runs(tmp_path)
    (moved,) = with_run((after,), machine="qemu")

    found = compare([(before, after), (before, moved)])

    assert [(each.pair, each.what) for each in found.differences] == [
        ("after", "machine")
    ]


def test_a_value_is_the_mean_of_the_repeats_with_their_range(tmp_path) -> None:
    before = runs(tmp_path)[:1]
    twice = (*counting(before, 90), *counting(before, 110))
    thrice = (*counting(before, 105), *counting(before, 125), *counting(before, 130))

    packets = row(compare([twice, thrice]), "IpOutRequests")

    assert packets.values == (100.0, 120.0)
    assert packets.ranges == ((90.0, 110.0), (105.0, 130.0))
    assert packets.ratio(1) == 1.2
    assert packets.overlaps(1)


def test_what_was_run_once_overlaps_with_nothing(tmp_path) -> None:
    before = runs(tmp_path)[:1]

    packets = row(compare([counting(before, 100)] * 2), "IpOutRequests")

    assert not packets.overlaps(1)


def test_nothing_to_divide_by_is_no_ratio(tmp_path) -> None:
    before = runs(tmp_path)[:1]

    found = compare([counting(before, 0), counting(before, 5)])

    assert row(found, "IpOutRequests").ratio(1) is None


def test_the_page_has_every_figure_and_what_ran(tmp_path) -> None:
    before, after = runs(tmp_path)
    page = comparison_page(compare([(before,), (after,)]))

    assert "before against after" in page
    assert "IpOutRequests" in page
    assert "receiver: TcpOutSegs" in page
    assert "A: python -m testbed run tso --seed 1" in page
    assert "&lt;env of before&gt;" not in page  # one folder here, so nothing differs
    assert "http" not in page


def test_the_same_runs_give_the_same_page(tmp_path) -> None:
    both = [runs(tmp_path), counting(runs(tmp_path), 7)]

    assert comparison_page(compare(both)) == comparison_page(compare(both))


def test_json_has_a_value_a_side(tmp_path) -> None:
    found = comparison_json(compare([runs(tmp_path), counting(runs(tmp_path), 300)]))

    assert [each["label"] for each in found["sides"]] == ["A", "B"]
    figures = found["variants"][0]["figures"]
    (packets,) = [each for each in figures if each["name"] == "IpOutRequests"]
    assert packets["values"] == [601.0, 300.0]
    assert packets["ratios"] == [1.0, 300 / 601]
    assert packets["host"] == "sender"
