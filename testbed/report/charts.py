"""Charts of a sweep: numbers in, SVG text out, the same bytes for the same numbers.

A line chart where there is one axis, a heat map where there are two. Colours as in
plots.py; a heat map says each value in its cell too, so that nothing is told by colour
alone.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from testbed.report.numbers import NOTHING, amount

_INK, _QUIET = "#222222", "#767676"
#: Colours, markers: as the variants have them in plots.py, in their order.
_STYLES = (
    ("#d55e00", "o"),
    ("#004488", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
)
_SETTINGS: Any = {
    "axes.edgecolor": _QUIET,
    "axes.formatter.useoffset": False,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titley": 1.0,  # no ticks are above it, and to look for them takes long
    "font.size": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.color": _INK,
    "text.parse_math": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
_WIDTH, _HEIGHT = 9.0, 3.0
#: Inches: a cell's height and the width its value needs; a panel's least height, and
#: what it needs beside its cells.
_CELL, _WRITTEN, _LEAST_PANEL, _BESIDE = 0.3, 0.74, 2.0, 0.9
_SLANTED = 11  # labels below more columns than this are turned, and no cell is written
_DARK = 0.55  # above this share of the range a cell's value is written in white
#: From the least to the most on an axis: beyond it a logarithm tells more.
_WIDE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: a value at each place of the axis, None where there is none."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One heat map: a row of values for each value of the first axis.

    alone: its colours are its own, not those of the panels that have one scale.
    """

    name: str
    values: tuple[tuple[float | None, ...], ...]
    unit: str
    alone: bool = False

    def cells(self) -> Any:
        """Return the values as an array, nan where there is none."""
        rows = [[np.nan if v is None else v for v in row] for row in self.values]
        return np.array(rows, float)


def line_chart(
    name: str,
    axis: tuple[str, Sequence[str], Sequence[float] | None],
    lines: Sequence[Line],
    quantity: tuple[str, str],
) -> str:
    """Draw values over one axis.

    axis: its name, its values as text, and as numbers if they all are.  quantity: what
    is drawn, and its unit.
    """
    key, texts, places = axis
    at = list(range(len(texts))) if places is None else list(places)
    with _picture(name, (_WIDTH, _HEIGHT), (1, 1)) as ((axes,), out):
        for number, line in enumerate(lines):
            colour, marker = _STYLES[number % len(_STYLES)]
            values = [np.nan if each is None else each for each in line.values]
            axes.plot(at, values, color=colour, marker=marker, ms=4, label=line.name)
        if places is not None and min(places) > 0:
            axes.set_xscale("log" if max(at) / min(at) >= _WIDE else "linear")
        axes.set_xticks(at, texts, minor=False)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.set_xlabel(key)
        axes.set_ylabel(quantity[0])
        known = [v for line in lines for v in line.values if v is not None]
        if known and min(known) >= 0:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(_ticks(quantity[1])))
        axes.grid(visible=True, color="#e4e4e4", lw=0.6)
        axes.set_axisbelow(True)
        axes.legend(loc="best")
    return out[0]


def heat_map(
    name: str,
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    panels: Sequence[Panel],
) -> str:
    """Draw values over two axes, a panel each. down, across: name and values."""
    wide = _WRITTEN * min(len(across[1]), _SLANTED) + _BESIDE
    abreast = max(1, min(len(panels), int(_WIDTH / wide)))
    shape = (-(-len(panels) // abreast), abreast)
    height = max(_LEAST_PANEL, _CELL * len(down[1]) + _BESIDE) * shape[0]
    with _picture(name, (_WIDTH, height), shape) as (axes, out):
        for place, panel in zip(axes, panels, strict=False):
            alike = [each for each in panels if not each.alone]
            ends = _ends([panel] if panel.alone else alike)
            _heat(place, panel, (down, across), ends)
        for place in axes[len(panels) :]:
            place.set_axis_off()
    return out[0]


def _ends(panels: Sequence[Panel]) -> tuple[float, float]:
    every = np.concatenate([each.cells().ravel() for each in panels])
    known = every[np.isfinite(every)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return low, high if high > low else low + 1


def _heat(
    axes: Axes,
    panel: Panel,
    named: tuple[tuple[str, Sequence[str]], tuple[str, Sequence[str]]],
    ends: tuple[float, float],
) -> None:
    down, across = named
    cells = panel.cells()
    low, high = ends
    mesh = axes.pcolormesh(
        cells, cmap="YlGnBu", vmin=low, vmax=high, edgecolor="white", lw=0.5
    )
    axes.set_title(panel.name)
    axes.set_xticks(np.arange(len(across[1])) + 0.5, across[1])
    axes.set_yticks(np.arange(len(down[1])) + 0.5, down[1])
    axes.tick_params(length=0)
    axes.set_xlabel(across[0])
    axes.set_ylabel(down[0])
    axes.invert_yaxis()
    if len(across[1]) <= _SLANTED:
        _write(axes, cells, panel.unit, ends)
        return
    axes.tick_params(axis="x", labelrotation=60)
    bar = axes.figure.colorbar(mesh, ax=axes, format=FuncFormatter(_ticks(panel.unit)))
    bar.outline.set_visible(False)


def _write(axes: Axes, cells: Any, unit: str, ends: tuple[float, float]) -> None:
    for (row, column), value in np.ndenumerate(cells):
        known = bool(np.isfinite(value))
        dark = known and (value - ends[0]) / (ends[1] - ends[0]) > _DARK
        axes.text(
            column + 0.5,
            row + 0.5,
            amount(float(value), unit) if known else NOTHING,
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if dark else _INK,
        )


def _ticks(unit: str) -> Any:
    def write(value: float, _place: int) -> str:
        return amount(value, unit)

    return write


@contextmanager
def _picture(
    name: str, size: tuple[float, float], shape: tuple[int, int]
) -> Iterator[tuple[list[Axes], list[str]]]:
    """Yield panels to draw on, and a list that holds their SVG text afterwards."""
    out: list[str] = []
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=size, dpi=96, layout="constrained")
        panels = figure.subplots(*shape, squeeze=False)
        yield list(panels.flat), out
        stream = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(stream, metadata=nothing)  # type: ignore[no-untyped-call]  # none
        text = stream.getvalue()
        element = re.sub(r'\bid="', f'id="{name}-', text[text.index("<svg") :])
        out.append(re.sub(r'(url\(|href=")#', rf"\1#{name}-", element))
