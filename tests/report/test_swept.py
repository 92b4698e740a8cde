"""Sweeps as people read them."""

import csv
import io
from dataclasses import replace

import pytest
from builders import a_claim, an_experiment

from testbed.export.swept import swept_csv, swept_json
from testbed.report.swept import (
    Swept,
    SweptPoint,
    broken_lines,
    charted,
    numbers_of,
    swept_grid,
    swept_page,
)
from testbed.spec.grid import Axis

RTT = Axis(key="path.rtt", values=("1ms", "10ms"))
RATE = Axis(key="path.rate", values=("1gbit", "2gbit"))


def point(*at: str, rate: float = 1e9) -> SweptPoint:
    figures = {"throughput": rate, "rtt": 1e6, "rtt.p99": 2e6, "TcpOutSegs": 1385.0}
    faster = {**figures, "throughput": 2 * rate}
    return SweptPoint(
        at=at,
        run_id=f"run-{'-'.join(at)}",
        figures={"before": figures, "after": faster},
    )


def swept(*points: SweptPoint, axes: tuple[Axis, ...] = (RTT,), broken=()) -> Swept:
    return Swept(
        experiment=an_experiment(a_claim({"before": 10, "after": 20})),
        axes=axes,
        points=points,
        broken=broken,
        command="python -m testbed sweep it",
    )


LINE = swept(point("1ms"), point("10ms", rate=5e8))
MAP = swept(
    *(point(rtt, rate) for rtt in RTT.values for rate in RATE.values), axes=(RTT, RATE)
)


def test_what_is_known_and_what_is_claimed_is_drawn() -> None:
    assert charted(LINE) == ("throughput", "rtt", "TcpOutSegs")


def test_the_table_has_a_row_a_point_and_variant() -> None:
    grid = swept_grid(LINE, ("throughput", "rtt"))

    assert grid.head == ("path.rtt", "variant", "throughput", "rtt")
    assert grid.rows[1] == ("1ms", "after", "2.00 Gbit/s", "1.00 ms")
    assert len(grid.rows) == 4


def test_one_axis_gives_a_line_chart_a_figure() -> None:
    page = swept_page(LINE)

    assert page.count("<figure") == 3
    assert "before: 1ms 1.00 Gbit/s, 10ms 500 Mbit/s" in page
    assert "python -m testbed sweep it" in page


def test_two_axes_give_a_heat_map_a_figure_with_the_ratio() -> None:
    page = swept_page(MAP)

    assert page.count("<figure") == 3
    assert "after / before" in page
    assert "Heat maps of throughput over path.rtt and path.rate" in page


def test_more_axes_give_a_heat_map_for_each_value_of_the_others() -> None:
    kernel = Axis(key="kernel", values=("6.1", "6.12"))
    points = [replace(e, at=(k, *e.at)) for k in kernel.values for e in MAP.points]

    page = swept_page(swept(*points, axes=(kernel, RTT, RATE)))

    assert page.count("<figure") == 6
    assert "throughput over path.rtt and path.rate, kernel 6.12" in page


def test_a_point_that_is_missing_leaves_a_gap() -> None:
    holed = replace(MAP, points=MAP.points[:-1], broken=((("10ms", "2gbit"), "lost"),))

    assert holed.value(("10ms", "2gbit"), "before", "throughput") is None
    assert list(broken_lines(holed)) == ["path.rtt=10ms path.rate=2gbit: lost"]
    assert "3 of 4 points" in swept_page(holed)


def test_a_sweep_of_which_nothing_is_left_is_still_a_page() -> None:
    page = swept_page(swept(broken=((("1ms",), "it <broke>"),)))

    assert "path.rtt=1ms: it &lt;broke&gt;" in page
    assert "<figure" not in page


def test_the_same_sweep_gives_the_same_page() -> None:
    assert swept_page(MAP) == swept_page(MAP)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        pytest.param(("1ms", "40ms"), (1e6, 4e7), id="times"),
        pytest.param(("100mbit", "1gbit"), (1e8, 1e9), id="rates"),
        pytest.param(("0.5", "2"), (0.5, 2.0), id="numbers"),
        pytest.param(("64KB", "1MB"), (65536.0, 1048576.0), id="sizes"),
        pytest.param(("cubic", "bbr"), None, id="names"),
        pytest.param(("1ms", "1gbit"), None, id="mixed"),
    ],
)
def test_values_of_one_kind_have_places_on_an_axis(values, numbers) -> None:
    assert numbers_of(values) == numbers


def test_csv_has_every_figure_of_every_point() -> None:
    rows = list(csv.DictReader(io.StringIO(swept_csv(MAP))))

    assert len(rows) == 8
    assert rows[0]["path.rtt"] == "1ms"
    assert rows[0]["variant"] == "before"
    assert float(rows[1]["throughput"]) == 2e9
    assert rows[0]["run_id"] == "run-1ms-1gbit"


def test_json_names_where_each_point_is_and_what_broke() -> None:
    found = swept_json(replace(LINE, broken=((("5ms",), "lost"),)))

    assert found["points"][1]["at"] == {"path.rtt": "10ms"}
    assert found["points"][1]["variants"]["before"]["throughput"] == 5e8
    assert found["broken"] == [{"at": {"path.rtt": "5ms"}, "why": "lost"}]
