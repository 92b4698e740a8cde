"""Pictures of a run: numbers in, SVG text out. The only user of matplotlib.

No function here reads anything but its arguments, and none keeps anything: no pyplot,
no window, no global figure. The same numbers give the same bytes, and the ids within a
picture begin with its name, so that many fit on one page. A variant has one colour and
one marker everywhere; the colours differ in lightness too, for grey print and every kind
of colour vision. What was measured is drawn solid. Start with Side.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
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
_NO_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: not set yet

_SETTINGS: Mapping[str, object] = {
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
    """One variant, as it is drawn. tcp_info: samples, times in us, rates in bytes/s."""

    name: str
    trace: Trace
    tcp_info: Sequence[Mapping[str, int]]


def distribution(
    name: str, samples: Mapping[str, Samples], *, event: str, quantity: str
) -> str:
    """Draw how often each value occurs, and the share of values at or below it.

    samples: by variant.  event, quantity: what a sample is, and is of ("ACK",
    "segments acknowledged").
    """
    with _picture(name, _PANEL_HEIGHT * 1.15) as (figure, out):
        left, right = figure.subplots(1, 2)
        edges = _edges(list(samples.values()))
        for at, (variant, values) in enumerate(samples.items()):
            _bars(left, at, len(samples), values, edges)
            _staircase(right, at, f"{variant} (n = {len(values)})", values)
        for axes in (left, right):
            axes.set_xlabel(f"{quantity} per {event}")
            axes.set_xlim(edges[0], edges[-1])
        left.set_ylabel(f"{event}s")
        right.set_ylabel(f"{event}s with at most so many (%)")
        right.set_ylim(0, 102)
        right.legend(loc="lower right")
    return out[0]


def tso_over_time(name: str, sides: Sequence[Side]) -> str:
    """Draw the segments in each packet at the time it was sent, a panel a variant."""
    with _picture(name, _PANEL_HEIGHT * len(sides)) as (figure, out):
        panels = _panels(figure, sides, shared_y=True)
        for at, (axes, side) in enumerate(zip(panels, sides, strict=True)):
            colour, marker = _STYLES[at % len(_STYLES)]
            times = _ms(side, side.trace.time_ns)
            sizes = tso_segs(side.trace)
            pixels = len(times) > _MOST_MARKS
            axes.vlines(
                times, 0, sizes, colour, lw=0.7, alpha=0.45, rasterized=pixels
            )
            axes.plot(
                times, sizes, marker, color=colour, ms=2.6, mew=0, rasterized=pixels
            )
            axes.set_ylabel("segments per packet")
            axes.set_ylim(bottom=0)
    return out[0]


def sequence(name: str, sides: Sequence[Side]) -> str:
    """Draw what was sent, acknowledged and allowed over time, a panel a variant."""
    with _picture(name, _PANEL_HEIGHT * 1.3 * len(sides)) as (figure, out):
        panels = _panels(figure, sides, shared_y=True)
        for at, (axes, side) in enumerate(zip(panels, sides, strict=True)):
            _sent(axes, at, side, width=1.1)
            _acknowledged(axes, side)
            _sequence_axis(axes)
        top = max((_highest(side.trace) for side in sides), default=0)
        panels[0].set_ylim(0, max(top, 1) / _BYTES * 1.04)
        panels[0].legend(loc="upper left")
    return out[0]


def sequence_zoom(
    name: str, sides: Sequence[Side], windows: Sequence[tuple[int, int]]
) -> str:
    """Draw the packets of a short time one by one, and when ACKs came meanwhile.

    windows: the first and last ns of each side, all of one length.
    """
    with _picture(name, _PANEL_HEIGHT * 1.3 * len(sides)) as (figure, out):
        panels = _panels(figure, sides, shared_y=False)
        for at, (axes, side) in enumerate(zip(panels, sides, strict=True)):
            begin, end = windows[at]
            _sent(axes, at, side, width=2.2)
            _acknowledged(axes, side)
            _zoom(axes, side, begin, end)
            _ack_marks(axes, side, begin, end)
            _sequence_axis(axes)
        panels[0].legend(loc="upper left")
    return out[0]


def sender_state(name: str, sides: Sequence[Side]) -> str:
    """Draw what the sender's TCP_INFO said over time: window, rate, round trip."""
    with _picture(name, _PANEL_HEIGHT * 3) as (figure, out):
        window, rate, trip = figure.subplots(3, 1, sharex=True)
        for at, side in enumerate(sides):
            _track(window, at, side, "snd_cwnd", label=f"{side.name}: cwnd")
            _limit(window, at, side, "snd_ssthresh", label=f"{side.name}: ssthresh")
            _track(rate, at, side, "pacing_rate", scale=8e-6, label=side.name)
            _track(trip, at, side, "rtt", scale=1e-3, label=f"{side.name}: srtt")
            _limit(
                trip, at, side, "min_rtt", scale=1e-3, label=f"{side.name}: min_rtt"
            )
        window.set_ylabel("cwnd (segments)")
        rate.set_ylabel("pacing rate (Mbit/s)")
        trip.set_ylabel("round-trip time (ms)")
        trip.set_xlabel("time since connect (ms)")
        for axes in (window, rate, trip):
            axes.set_ylim(bottom=0)
            if axes.lines:
                axes.legend(loc="best")
    return out[0]


@contextmanager
def _picture(name: str, height: float) -> Iterator[tuple[Figure, list[str]]]:
    """Yield a figure to draw on, and a list that holds its SVG text afterwards."""
    out: list[str] = []
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained", dpi=150)
        yield figure, out
        stream = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(stream, metadata=nothing)
        out.append(_inline(stream.getvalue(), name))


def _inline(text: str, name: str) -> str:
    """Return an SVG file as an element of a page: no prolog, ids of its own."""
    element = text[text.index("<svg") :]
    element = re.sub(r'\bid="', f'id="{name}-', element)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", element)


def _panels(
    figure: Figure, sides: Sequence[Side], *, shared_y: bool
) -> Sequence[Axes]:
    """Return a panel for each side, above each other, titled with its name."""
    grid = figure.subplots(
        max(len(sides), 1), 1, sharex=shared_y, sharey=shared_y, squeeze=False
    )
    panels: list[Axes] = list(grid[:, 0])
    for axes, side in zip(panels, sides, strict=False):
        axes.set_title(side.name)
    panels[-1].set_xlabel("time since connect (ms)")
    return panels


def _ms(side: Side, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    return (times_ns - side.trace.start_ns) / _NS_PER_MS


def _edges(every: Sequence[Samples]) -> NDArray[np.float64]:
    """Return the borders of at most _MOST_BINS bins, each some whole values wide."""
    top = max((int(values.max()) for values in every if len(values)), default=1)
    width = -(-top // _MOST_BINS)
    return np.arange(0.5, top + width + 0.5, width)


def _bars(
    axes: Axes, at: int, of: int, values: Samples, edges: NDArray[np.float64]
) -> None:
    found, _ = np.histogram(values, edges)
    room = (edges[1] - edges[0]) * 0.84
    left = edges[:-1] + (edges[1] - edges[0] - room) / 2 + at * room / of
    colour, _marker = _STYLES[at % len(_STYLES)]
    axes.bar(left, found, room / of, align="edge", color=colour)


def _staircase(axes: Axes, at: int, label: str, values: Samples) -> None:
    colour, marker = _STYLES[at % len(_STYLES)]
    steps, found = np.unique(values, return_counts=True)
    below = np.cumsum(found) / max(len(values), 1) * 100
    x, y = np.concatenate([[0], steps]), np.concatenate([[0.0], below])
    axes.step(x, y, where="post", color=colour, lw=1.6, marker=marker, ms=4, label=label)


def _sent(axes: Axes, at: int, side: Side, *, width: float) -> None:
    trace = side.trace
    ends = trace.seq + trace.length
    again = ends <= np.concatenate([[-1], np.maximum.accumulate(ends)[:-1]])
    colour, _marker = _STYLES[at % len(_STYLES)]
    for rows, ink, label in (
        (~again, colour, "data packet"),
        (again, _ALERT, "sent again"),
    ):
        if not rows.any():
            continue
        x = _ms(side, trace.time_ns[rows])
        low, high = trace.seq[rows] / _BYTES, ends[rows] / _BYTES
        bars = np.stack([np.stack([x, low], axis=1), np.stack([x, high], axis=1)], axis=1)
        pixels = len(x) > _MOST_MARKS
        lines = LineCollection(
            list(bars), colors=ink, linewidths=width, label=label, rasterized=pixels
        )
        axes.add_collection(lines)
    axes.autoscale_view()


def _acknowledged(axes: Axes, side: Side) -> None:
    trace = side.trace
    x = _ms(side, trace.ack_time_ns)
    edge = np.maximum.accumulate(trace.ack + trace.ack_window)
    for y, ink, style, label in (
        (np.maximum.accumulate(trace.ack), _INK, "-", "acknowledged"),
        (edge, _QUIET, "-.", "window edge (acknowledged + receive window)"),
    ):
        axes.step(
            x,
            y / _BYTES,
            where="post",
            color=ink,
            ls=style,
            lw=0.9,
            label=label,
            rasterized=len(x) > _MOST_MARKS,
        )


def _sequence_axis(axes: Axes) -> None:
    axes.set_ylabel("sequence number\n(1000 bytes)")


def _highest(trace: Trace) -> int:
    return int((trace.seq + trace.length).max()) if len(trace.seq) else 0


def _zoom(axes: Axes, side: Side, begin: int, end: int) -> None:
    trace = side.trace
    axes.set_xlim(*((at - trace.start_ns) / _NS_PER_MS for at in (begin, end)))
    inside = (trace.time_ns >= begin) & (trace.time_ns <= end)
    if inside.any():
        low = int(trace.seq[inside].min())
        high = int((trace.seq + trace.length)[inside].max())
        room = (high - low) * 0.08
        axes.set_ylim((low - 2 * room) / _BYTES, (high + room) / _BYTES)


def _ack_marks(axes: Axes, side: Side, begin: int, end: int) -> None:
    times = side.trace.ack_time_ns
    inside = times[(times >= begin) & (times <= end)]
    axes.plot(
        _ms(side, inside),
        np.full(len(inside), 0.03),
        "|",
        color=_INK,
        ms=7,
        mew=0.8,
        transform=axes.get_xaxis_transform(),
        label="an ACK comes in",
    )


def _track(
    axes: Axes, at: int, side: Side, field: str, *, label: str, scale: float = 1
) -> None:
    """Draw a field of the samples; the first variant wide, so that none is hidden."""
    x, y = _samples(side, field, scale)
    if not len(x):
        return
    colour, marker = _STYLES[at % len(_STYLES)]
    every = max(1, len(x) // 12)
    width = 1.3 if at else 3.2
    axes.plot(
        *(x, y),
        color=colour,
        marker=marker,
        ms=4.5,
        markevery=(every * at // 3 % every, every),
        lw=width,
        alpha=1 if at else 0.7,
        label=label,
    )


def _limit(
    axes: Axes, at: int, side: Side, field: str, *, label: str, scale: float = 1
) -> None:
    x, y = _samples(side, field, scale)
    if len(x):
        colour, _marker = _STYLES[at % len(_STYLES)]
        axes.plot(x, y, color=colour, ls=":", lw=1.4, label=label)


def _samples(
    side: Side, field: str, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = [
        (row["time_ns"], row[field])
        for row in side.tcp_info
        if field in row and (field != "snd_ssthresh" or row[field] < _NO_SSTHRESH)
    ]
    columns = np.array(rows, np.int64).reshape(-1, 2)
    return _ms(side, columns[:, 0]), columns[:, 1] * scale
