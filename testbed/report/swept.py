"""A sweep as people read it: its charts, its table, its page.

Start with Swept and swept_page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.errors import SpecError
from testbed.facts import MEANINGS, UNITS
from testbed.measured import MeasuredRun
from testbed.report.grid import Grid
from testbed.report.meanings import COUNTERS
from testbed.report.numbers import amount, plural
from testbed.report.sheet import Part, Picture, Sheet, render_sheet
from testbed.spec.experiment import Experiment
from testbed.spec.grid import Axis
from testbed.units import parse_rate, parse_ratio, parse_size, parse_time

if TYPE_CHECKING:
    from testbed.report.charts import Line

#: Of each variant, each figure's mean over the repeats, by name: a metric, a quantile
#: of one ("rtt.p99"), a counter at the sender, or "receiver.TcpOutSegs".
Figures = Mapping[str, Mapping[str, float]]

_QUANTILES = ("p50", "p99")
#: What is drawn, besides what the experiment claims something about.
_CHARTED = (
    *("throughput", "transactions", "latency.p50", "tso_size", "tso_segs"),
    *("ack_stretch", "send_gap", "rtt", "retransmits"),
)
_LINES_AXES, _HEAT_AXES = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptPoint:
    """The results of one point. at: its value on each axis.  run_id: of its runs."""

    at: tuple[str, ...]
    run_id: str
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """A sweep's results. experiment: as it is where no axis says otherwise.

    broken: points without a result, and why.  command: what reproduces it.
    """

    experiment: Experiment
    axes: tuple[Axis, ...]
    points: tuple[SweptPoint, ...]
    broken: tuple[tuple[tuple[str, ...], str], ...]
    command: str

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of each point."""
        return tuple(each.name for each in self.experiment.variants)

    @property
    def total(self) -> int:
        """How many points there are, the broken ones too."""
        return len(self.points) + len(self.broken)

    def value(self, at: tuple[str, ...], variant: str, name: str) -> float | None:
        """Return one figure of a point, None if there is none."""
        found = (each for each in self.points if each.at == at)
        point = next(found, None)
        return None if point is None else point.figures.get(variant, {}).get(name)


def figures_of(runs: Sequence[MeasuredRun]) -> dict[str, float]:
    """Return every figure of the repeats of a variant, as means over them."""
    names: dict[tuple[str, str], str] = {}
    for each in runs:
        for name in each.metrics:
            for full in (name, *(f"{name}.{part}" for part in _QUANTILES)):
                names[full, "sender"] = full
        for host, counters in each.counters.items():
            prefix = "" if host == "sender" else f"{host}."
            names |= {(name, host): prefix + name for name in sorted(counters)}
    means = {
        told: _mean([each.value(name, host) for each in runs])
        for (name, host), told in names.items()
    }
    return {name: value for name, value in means.items() if value is not None}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def charted(swept: Swept) -> tuple[str, ...]:
    """Return the figures that are drawn and tabled: those of which there is a value."""
    claimed = (
        each.metric if each.host == "sender" else f"{each.host}.{each.metric}"
        for each in swept.experiment.claims
    )
    known = {
        name
        for each in swept.points
        for figures in each.figures.values()
        for name in figures
    }
    return tuple(each for each in dict.fromkeys((*_CHARTED, *claimed)) if each in known)


def unit_of(name: str) -> str:
    """Return the unit of a figure, "" of a count."""
    return UNITS.get(name.partition(".")[0], "")


def swept_grid(swept: Swept, names: Sequence[str], most: int | None = None) -> Grid:
    """Return a row a point and variant. most: how many rows, None for all."""
    keys = [axis.key for axis in swept.axes]
    rows = [
        (
            *each.at,
            variant,
            *(amount(figures.get(name), unit_of(name)) for name in names),
        )
        for each in swept.points
        for variant, figures in each.figures.items()
    ]
    return Grid(
        title=f"{len(swept.points)} of {plural(swept.total, 'point')}",
        head=(*keys, "variant", *names),
        rows=tuple(rows[:most]),
    )


def swept_page(swept: Swept) -> str:
    """Return the page: a chart for each figure, one table, what broke and why."""
    names = charted(swept)
    keys = " and ".join(axis.key for axis in swept.axes)
    parts = [_charts_part(swept, name, at) for at, name in enumerate(names)]
    parts.append(Part(title="All points", grids=(swept_grid(swept, names),)))
    if swept.broken:
        parts.insert(0, Part(title="Broken", lines=tuple(broken_lines(swept))))
    parts.append(Part(title="Reproduce it", lines=(swept.command,), preformatted=True))
    return render_sheet(
        Sheet(
            title=f"{swept.experiment.name} over {keys}",
            lines=(
                swept.experiment.question,
                f"{len(swept.points)} of {plural(swept.total, 'point')}, each with "
                f"{', '.join(swept.variants)}",
                *(f"{axis.key}: {', '.join(axis.values)}" for axis in swept.axes),
            ),
            parts=parts,
        )
    )


def broken_lines(swept: Swept) -> Iterator[str]:
    """Say which points are broken, and why."""
    for at, why in swept.broken:
        named = zip((axis.key for axis in swept.axes), at, strict=True)
        yield f"{' '.join(f'{key}={value}' for key, value in named)}: {why}"


def _charts_part(swept: Swept, name: str, at: int) -> Part:
    metric = name.partition(".")[0]
    meaning = MEANINGS.get(metric) or COUNTERS.get(metric, "")
    return Part(
        title=name,
        lines=(meaning,) if meaning else (),
        pictures=tuple(_pictures(swept, name, f"chart-{at}")),
    )


def _pictures(swept: Swept, name: str, prefix: str) -> Iterator[Picture]:
    """Yield a line chart over one axis; over more, a heat map of the last two.

    One for each combination of the other axes.
    """
    if len(swept.axes) == _LINES_AXES:
        yield _lines(swept, name, prefix)
        return
    outer = swept.axes[:-_HEAT_AXES]
    places = dict.fromkeys(each.at[: len(outer)] for each in swept.points)
    for number, place in enumerate(places):
        yield _heat(swept, name, f"{prefix}-{number}", place)


def _lines(swept: Swept, name: str, prefix: str) -> Picture:
    from testbed.report import charts  # noqa: PLC0415  # has matplotlib imported

    (axis,) = swept.axes
    lines = [
        charts.Line(
            name=variant,
            values=tuple(swept.value((at,), variant, name) for at in axis.values),
        )
        for variant in swept.variants
    ]
    drawn = (axis.key, axis.values, numbers_of(axis.values))
    return Picture(
        name=prefix,
        svg=charts.line_chart(prefix, drawn, lines, (name, unit_of(name))),
        alt=f"{name} over {axis.key}. "
        + "; ".join(_told(each, axis, unit_of(name)) for each in lines),
        caption=f"{name} over {axis.key}, a line a variant.",
    )


def _told(line: "Line", axis: Axis, unit: str) -> str:
    pairs = zip(axis.values, line.values, strict=True)
    return f"{line.name}: " + ", ".join(f"{at} {amount(v, unit)}" for at, v in pairs)


def _heat(swept: Swept, name: str, prefix: str, outer: tuple[str, ...]) -> Picture:
    from testbed.report import charts  # noqa: PLC0415  # has matplotlib imported

    down, across = swept.axes[-_HEAT_AXES:]
    unit = unit_of(name)
    cells = {
        variant: tuple(
            tuple(swept.value((*outer, y, x), variant, name) for x in across.values)
            for y in down.values
        )
        for variant in swept.variants
    }
    panels = [
        charts.Panel(name=variant, values=values, unit=unit)
        for variant, values in cells.items()
    ]
    first, last = swept.variants[0], swept.variants[-1]
    if first != last:
        ratios = tuple(
            tuple(map(_ratio, over, under))
            for over, under in zip(cells[last], cells[first], strict=True)
        )
        ratio = f"{last} / {first}"
        panels.append(charts.Panel(name=ratio, values=ratios, unit="", alone=True))
    where = ", ".join(
        f"{axis.key} {at}" for axis, at in zip(swept.axes, outer, strict=False)
    )
    told = f"{name} over {down.key} and {across.key}" + (f", {where}" if where else "")
    return Picture(
        name=prefix,
        svg=charts.heat_map(
            prefix, (down.key, down.values), (across.key, across.values), panels
        ),
        alt=f"Heat maps of {told}; the table below has the numbers.",
        caption=f"{told}: a panel a variant, in the same colours; {last} over {first} "
        "in its own.",
    )


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def numbers_of(values: Sequence[str]) -> tuple[float, ...] | None:
    """Return values as numbers of one kind (times, rates, sizes, shares), else None."""
    kinds = (float, parse_time, parse_rate, parse_size, parse_ratio)
    found = (_all_as(parse, values) for parse in kinds)
    return next((each for each in found if each is not None), None)


def _all_as(
    parse: Callable[[str], float], values: Sequence[str]
) -> tuple[float, ...] | None:
    try:
        return tuple(float(parse(each)) for each in values)
    except (ValueError, SpecError):
        return None
