"""Pictures of a run: numbers in, SVG text out. The only user of matplotlib.

No function here reads anything but its arguments, and none keeps anything: no pyplot,
no window, no global figure. The same numbers give the same bytes, and the ids within a
picture begin with its name, so that many fit on one page. A variant has one colour and
one marker everywhere; the colours differ in lightness too, for grey print and for every
kind of colour vision. What was measured is drawn solid. Start with Side.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from testbed.trace.metrics import tso_segs
from testbed.trace.trace import Trace

Samples = NDArray[np.int64] | NDArray[np.float64]

_WIDTH = 9.0  # inches; at 96 dots an inch, as wide as a page of text
_PANEL_HEIGHT = 2.3
_NS_PER_MS = 1e6
#: Vermilion, navy, green, pink: 54, 29, 58 and 63 in lightness, with distinct markers.
_STYLES = (("#d55e00", "o"), ("#004488", "s"), ("#009e73", "^"), ("#cc79a7", "D"))
_INK, _QUIET, _ALERT = "#222222", "#767676", "#b00020"
#: More marks than this are drawn as pixels: as true, but of a bounded size.
_MOST_MARKS = 4000
_MOST_BINS = 48
_BYTES = 1000.0
_NONE_YET = -(1 << 62)  # below every sequence number
_NO_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: not set yet
_MARKERS = 12  # on a line of TCP_INFO samples
#: TCP_INFO fields to what the axes show: bytes/s to Mbit/s, us to ms.
_SCALES = {"pacing_rate": 8e-6, "rtt": 1e-3, "min_rtt": 1e-3}

#: Keys are Any because matplotlib's own type for them is a list of them all.
_SETTINGS: Mapping[Any, object] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _QUIET,
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "font.size": 9,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.color": _INK,
    "text.parse_math": False,  # a $ in a name is a $
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One variant, as it is drawn.

    place: among the variants of its experiment, which fixes its colour.  tcp_info:
    samples, times in us, rates in bytes/s.
    """

    name: str
    place: int
    trace: Trace
    tcp_info: Sequence[Mapping[str, int]]

    @property
    def colour(self) -> str:
        """The colour of this variant in every picture."""
        return _STYLES[self.place % len(_STYLES)][0]

    @property
    def marker(self) -> str:
        """The marker of this variant in every picture."""
        return _STYLES[self.place % len(_STYLES)][1]


def distribution(
    name: str, sides: Sequence[tuple[Side, Samples]], *, event: str, quantity: str
) -> str:
    """Draw how often each value occurs, and the share of values at or below it.

    event, quantity: what a sample is, and is of ("ACK", "segments acknowledged").
    """
    with _picture(name, _PANEL_HEIGHT * 1.25) as (figure, out):
        left, right = figure.subplots(1, 2)
        edges = _edges([values for _side, values in sides])
        for at, (side, values) in enumerate(sides):
            _bars(left, side, (at, len(sides)), values, edges)
            _staircase(right, side, values)
        for axes in (left, right):
            axes.set_xlabel(f"{quantity} per {event}")
            axes.set_xlim(edges[0], edges[-1])
        left.set_ylabel(f"{event}s (log scale)")
        left.set_yscale("log")
        left.set_ylim(bottom=0.7)  # so that a single one can be seen
        left.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        right.set_ylabel(f"{event}s at or below (%)")
        right.set_ylim(0, 103)
        right.legend(loc="lower right")
    return out[0]


def tso_over_time(name: str, sides: Sequence[Side]) -> str:
    """Draw the segments in each packet at the time it was sent, a panel a variant."""
    with _picture(name, _PANEL_HEIGHT * len(sides)) as (figure, out):
        panels = _panels(figure, sides, shared=True)
        top = 1
        for axes, side in zip(panels, sides, strict=True):
            times, sizes = _ms(side, side.trace.time_ns), tso_segs(side.trace)
            pixels = len(times) > _MOST_MARKS
            ink = side.colour
            axes.vlines(times, 0, sizes, ink, lw=0.7, alpha=0.45, rasterized=pixels)
            axes.plot(
                *(times, sizes, side.marker),
                color=ink,
                ms=2.8,
                mew=0,
                rasterized=pixels,
            )
            axes.set_ylabel("segments per packet")
            top = max(top, *sizes.tolist())
        panels[0].set_ylim(0, top * 1.06)
    return out[0]


def sequence(name: str, sides: Sequence[Side]) -> str:
    """Draw what was sent, acknowledged and allowed over time, a panel a variant."""
    with _picture(name, _PANEL_HEIGHT * 1.35 * len(sides)) as (figure, out):
        panels = _panels(figure, sides, shared=True)
        for axes, side in zip(panels, sides, strict=True):
            _sent(axes, side, width=1.1)
            _acknowledged(axes, side)
            _sequence_axis(axes)
        top = max(highest(side.trace) for side in sides)
        panels[0].set_ylim(0, max(top, 1) / _BYTES * 1.04)
    return out[0]


def sequence_zoom(
    name: str, sides: Sequence[Side], windows: Sequence[tuple[int, int]]
) -> str:
    """Draw the packets of a short time one by one, and when ACKs came meanwhile.

    windows: the first and last ns of each side, all of one length.
    """
    with _picture(name, _PANEL_HEIGHT * 1.35 * len(sides)) as (figure, out):
        panels = _panels(figure, sides, shared=False)
        for axes, side, window in zip(panels, sides, windows, strict=True):
            _sent(axes, side, width=2.4)
            _acknowledged(axes, side)
            _zoom(axes, side, window)
            _ack_marks(axes, side, window)
            _sequence_axis(axes)
    return out[0]


def sender_state(name: str, sides: Sequence[Side]) -> str:
    """Draw what the sender's TCP_INFO said over time: window, rate, round trip."""
    with _picture(name, _PANEL_HEIGHT * 3) as (figure, out):
        window, rate, trip = figure.subplots(3, 1, sharex=True)
        for at, side in enumerate(sides):
            # The first one wide, so that one that runs along with it hides nothing.
            width = 1.3 if at else 3.2
            _track(window, side, "snd_cwnd", "cwnd", width=width)
            _limit(window, side, "snd_ssthresh", "ssthresh")
            _track(rate, side, "pacing_rate", "pacing rate", width=width)
            _track(trip, side, "rtt", "srtt", width=width)
            _limit(trip, side, "min_rtt", "min_rtt")
        window.set_ylabel("window (segments)")
        rate.set_ylabel("pacing rate (Mbit/s)")
        trip.set_ylabel("round-trip time (ms)")
        trip.set_xlabel("time since connect (ms)")
        for axes in (window, rate, trip):
            axes.set_ylim(bottom=0)
            _legend_above(axes)
    return out[0]


@contextmanager
def _picture(name: str, height: float) -> Iterator[tuple[Figure, list[str]]]:
    """Yield a figure to draw on, and a list that holds its SVG text afterwards."""
    out: list[str] = []
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(_WIDTH, height), dpi=150)
        yield figure, out
        stream = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        # savefig() would first draw everything once for nothing.
        canvas = FigureCanvasSVG(figure)
        canvas.print_svg(stream, metadata=nothing)  # type: ignore[no-untyped-call]  # as it is
        out.append(_inline(stream.getvalue(), name))


def _inline(text: str, name: str) -> str:
    """Return an SVG file as an element of a page: no prolog, ids of its own."""
    element = text[text.index("<svg") :]
    element = re.sub(r'\bid="', f'id="{name}-', element)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", element)


def _panels(figure: Figure, sides: Sequence[Side], *, shared: bool) -> Sequence[Axes]:
    """Return a panel for each side, above each other, titled with its name."""
    grid = figure.subplots(len(sides), 1, sharex=shared, sharey=shared, squeeze=False)
    panels: list[Axes] = list(grid[:, 0])
    for axes, side in zip(panels, sides, strict=True):
        axes.set_title(side.name)
    panels[-1].set_xlabel("time since connect (ms)")
    return panels


def _legend_above(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            *(handles, labels),
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.2,
            ncols=len(labels),
        )


def _ms(side: Side, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    return (times_ns - side.trace.start_ns) / _NS_PER_MS


def _edges(every: Sequence[Samples]) -> NDArray[np.float64]:
    """Return the borders of at most _MOST_BINS bins, each some whole values wide."""
    top = max((int(values.max()) for values in every if len(values)), default=1)
    width = -(-top // _MOST_BINS)
    return np.arange(0.5, top + width + 0.5, width)


def _bars(
    axes: Axes,
    side: Side,
    place: tuple[int, int],
    values: Samples,
    edges: NDArray[np.float64],
) -> None:
    """Draw a histogram's bars. place: which of how many bars in each bin."""
    at, of = place
    found, _ = np.histogram(values, edges)
    bin_width = edges[1] - edges[0]
    width = bin_width * 0.84 / of
    left = edges[:-1] + bin_width * 0.08 + at * width
    axes.bar(left, found, width, align="edge", color=side.colour)


def _staircase(axes: Axes, side: Side, values: Samples) -> None:
    steps, found = np.unique(values, return_counts=True)
    below = np.cumsum(found) / max(len(values), 1) * 100
    axes.step(
        np.concatenate([[0], steps]),
        np.concatenate([[0.0], below]),
        where="post",
        color=side.colour,
        lw=1.6,
        marker=side.marker,
        ms=4,
        label=f"{side.name} (n = {len(values)})",
    )


def _sent(axes: Axes, side: Side, *, width: float) -> None:
    trace = side.trace
    ends = trace.seq + trace.length
    before = np.maximum.accumulate(np.concatenate([[_NONE_YET], ends]))[:-1]
    again = ends <= before
    for rows, ink, label in (
        (~again, side.colour, "data packet"),
        (again, _ALERT, "sent again"),
    ):
        if not rows.any():
            continue
        x = _ms(side, trace.time_ns[rows])
        bottom = np.stack([x, trace.seq[rows] / _BYTES], axis=1)
        top = np.stack([x, ends[rows] / _BYTES], axis=1)
        bars = LineCollection(
            list(np.stack([bottom, top], axis=1)),
            colors=ink,
            linewidths=width,
            label=label,
            rasterized=len(x) > _MOST_MARKS,
        )
        axes.add_collection(bars)
    axes.autoscale_view()


def _acknowledged(axes: Axes, side: Side) -> None:
    trace = side.trace
    x = _ms(side, trace.ack_time_ns)
    edge = np.maximum.accumulate(trace.ack + trace.ack_window)
    for y, ink, style, label in (
        (np.maximum.accumulate(trace.ack), _INK, "-", "acknowledged"),
        (edge, _QUIET, "-.", "window edge"),
    ):
        axes.step(
            *(x, y / _BYTES),
            where="post",
            color=ink,
            ls=style,
            lw=0.9,
            label=label,
            rasterized=len(x) > _MOST_MARKS,
        )


def _sequence_axis(axes: Axes) -> None:
    axes.set_ylabel("sequence number\n(1000 bytes)")
    _legend_above(axes)


def highest(trace: Trace) -> int:
    """Return the byte after the last one sent; 0 when there is none."""
    return int((trace.seq + trace.length).max()) if len(trace.seq) else 0


def _zoom(axes: Axes, side: Side, window: tuple[int, int]) -> None:
    trace = side.trace
    begin, end = window
    axes.set_xlim(*((at - trace.start_ns) / _NS_PER_MS for at in window))
    inside = (trace.time_ns >= begin) & (trace.time_ns <= end)
    if inside.any():
        low = int(trace.seq[inside].min())
        high = int((trace.seq + trace.length)[inside].max())
        room = (high - low) * 0.08
        axes.set_ylim((low - 2 * room) / _BYTES, (high + room) / _BYTES)


def _ack_marks(axes: Axes, side: Side, window: tuple[int, int]) -> None:
    begin, end = window
    times = side.trace.ack_time_ns
    inside = times[(times >= begin) & (times <= end)]
    axes.plot(
        *(_ms(side, inside), np.full(len(inside), 0.04), "|"),
        color=_INK,
        ms=8,
        mew=0.9,
        transform=axes.get_xaxis_transform(),
        label="an ACK comes in",
    )


def _track(axes: Axes, side: Side, field: str, label: str, *, width: float) -> None:
    """Draw a field of the samples: a solid line, some of its samples marked."""
    x, y = _samples(side, field)
    if not len(x):
        return
    every = max(1, len(x) // _MARKERS)
    axes.plot(
        *(x, y),
        color=side.colour,
        marker=side.marker,
        ms=4.5,
        markevery=(every * side.place // len(_STYLES), every),
        lw=width,
        label=f"{side.name}: {label}",
    )


def _limit(axes: Axes, side: Side, field: str, label: str) -> None:
    x, y = _samples(side, field)
    if len(x):
        told = f"{side.name}: {label}"
        axes.plot(x, y, color=side.colour, ls=":", lw=1.4, label=told)


def _samples(side: Side, field: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times in ms and the values of a field, as the axes have them."""
    rows = [(row["time_ns"], row[field]) for row in side.tcp_info if is_set(row, field)]
    columns = np.array(rows, np.int64).reshape(-1, 2)
    values = columns[:, 1].astype(np.float64) * _SCALES.get(field, 1)
    return _ms(side, columns[:, 0]), values


def is_set(row: Mapping[str, int], field: str) -> bool:
    """Tell whether a TCP_INFO sample has a field, and the kernel had set it."""
    return field in row and (field != "snd_ssthresh" or row[field] < _NO_SSTHRESH)
