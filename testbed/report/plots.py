"""Pictures of a run: numbers in, SVG text out. The only user of matplotlib.

No function here reads anything but its arguments, and none keeps anything: no pyplot,
no window, no global figure. The same numbers give the same bytes, and the ids within a
picture begin with its name, so that many fit on one page. A variant has one colour and
one marker everywhere; the colours differ in lightness too, for grey print and for every
kind of colour vision. What was measured is drawn solid; what the model predicts lies on
it in dashes, in another shade of the colour, so that both are seen where they agree.
Start with Side.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from numpy.typing import NDArray

from testbed.report.numbers import count
from testbed.trace.metrics import tso_segs
from testbed.trace.trace import Column, Trace, again

Samples = NDArray[np.int64] | NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Inches; at 96 dots an inch a picture is as wide as a page of text. Margins are fixed,
#: so that the time axes of all pictures stand below each other.
_WIDTH, _PANEL, _TALL_PANEL = 9.0, 1.75, 2.4
_LEFT, _RIGHT, _TOP, _BOTTOM, _BETWEEN, _BESIDE = 0.9, 0.15, 0.3, 0.5, 0.6, 0.8
_NS_PER_MS = 1e6
#: Vermilion, navy, green, pink: 54, 29, 58 and 61 in lightness, with distinct markers,
#: and the shade of each that stands out from it and from white.
STYLES = (
    ("#d55e00", "o", "#521f00"),
    ("#004488", "s", "#3fa2ff"),
    ("#009e73", "^", "#003d2b"),
    ("#cc79a7", "D", "#5e1040"),
)
_DASHES = (0, (2.2, 3.2))  # more of the line below is seen than of the dashes
_INK, _QUIET, _ALERT = "#222222", "#767676", "#b00020"
#: What was acknowledged and the window's edge: of the line, of the dashes on it.
_ACKED, _EDGE = (_INK, "#a8a8a8"), ("#bdbdbd", "#5f5f5f")
#: More marks than this are drawn as pixels: as true, but of a bounded size.
_MOST_MARKS = 4000
_MOST_BINS = 48
_BYTES, _MANY_BYTES = 1000, 1_000_000
_UNITS = {_BYTES: "1000 bytes", _MANY_BYTES: "million bytes"}
#: Where the bars of a logarithmic axis stand, and what room there is above them.
_BELOW_ONE, _ABOVE_MOST = 0.1, 1.5
_NO_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: not set yet
#: A zoom on packets shows the model's too, unless that makes it so much higher.
_MOST_APART = 4
_MARKERS = 12  # on a line of TCP_INFO samples
#: TCP_INFO fields to what the axes show: bytes/s to Mbit/s, us to ms.
_SCALES = {"pacing_rate": 8e-6, "rtt": 1e-3, "min_rtt": 1e-3}

#: Keys are Any because matplotlib's own type for them is a list of them all.
_SETTINGS: Mapping[Any, object] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _QUIET,
    "axes.formatter.limits": (-9, 12),  # numbers are written out
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titley": 1.0,  # no ticks are above it, and to look for them takes long
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
    samples, times in us, rates in bytes/s.  causes: of the packets, see
    causes_by_packet.  model: the same, as predicted.
    """

    name: str
    place: int
    trace: Trace
    tcp_info: Sequence[Mapping[str, int]]
    causes: Column | None = None
    model: "Side | None" = None

    @property
    def colour(self) -> str:
        """The colour of this variant in every picture."""
        return STYLES[self.place % len(STYLES)][0]

    @property
    def marker(self) -> str:
        """The marker of this variant in every picture."""
        return STYLES[self.place % len(STYLES)][1]

    @property
    def shade(self) -> str:
        """The colour of what the model predicts for this variant."""
        return STYLES[self.place % len(STYLES)][2]


def voices(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Return each side, followed by its model's if there is one."""
    return tuple(
        voice for side in sides for voice in (side, side.model) if voice is not None
    )


def distribution(
    name: str,
    sides: Sequence[Side],
    sample: Callable[[Trace], Samples],
    *,
    event: str,
    quantity: str,
) -> str:
    """Draw how often each value occurs, and the share of values at or below it.

    sample: what of a trace.  event, quantity: what a sample is, and is of ("ACK",
    "segments acknowledged").
    """
    with _picture(name, (1, 2), _TALL_PANEL, share="none") as ((left, right), out):
        every = [sample(each.trace) for each in voices(sides)]
        edges = _edges(every)
        for at, side in enumerate(sides):
            place, values = (at, len(sides)), sample(side.trace)
            _bars(left, place, values, edges, color=side.colour)
            label = f"{side.name} (n = {count(len(values))})"
            of_kernel = {"color": side.colour, "marker": side.marker}
            _staircase(right, values, label=label, **of_kernel)
        for at, side in enumerate(sides):
            if side.model is not None:
                place, values = (at, len(sides)), sample(side.model.trace)
                outline = {"fill": False, "ec": side.shade, "ls": _DASHES, "lw": 1}
                _bars(left, place, values, edges, **outline)
                _staircase(right, values, color=side.shade, ls=_DASHES)
        for axes in (left, right):
            axes.set_xlabel(f"{quantity} per {event}")
            axes.set_xlim(edges[0], edges[-1])
        if any(len(values) for values in every):
            left.set_yscale("log", subs=(5,))  # ticks at 5, 50: more are slow to draw
            left.set_ylim(bottom=0.7)  # so that a single one can be seen
        _dashed_entry(right, sides)
        _shares_and_counts(left, right, event)
    return out[0]


def _shares_and_counts(left: Axes, right: Axes, event: str) -> None:
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_ylabel(f"{event}s (log scale)")
    left.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    right.set_ylabel(f"{event}s at or below (%)")
    right.set_ylim(0, 103)
    right.legend(loc="lower right")


def tso_over_time(name: str, sides: Sequence[Side]) -> str:
    """Draw the segments in each packet at the time it was sent, a panel a variant."""
    with _picture(name, (len(sides), 1), _PANEL, share="all") as (panels, out):
        _time_axis(panels, sides)
        _titles(panels, sides)
        top = 1
        for axes, side in zip(panels, sides, strict=True):
            times, sizes = _ms(side, side.trace.time_ns), tso_segs(side.trace)
            if len(times) <= _MOST_MARKS:  # stems of more would be one block
                stems = np.zeros(len(sizes)), sizes
                _uprights(axes, times, stems, color=side.colour, lw=0.4)
            of_kernel = {"color": side.colour, "marker": side.marker, "mew": 0}
            _dots(axes, times, sizes, ms=3.4, label="kernel", **of_kernel)
            if side.model is not None:
                times = _ms(side.model, side.model.trace.time_ns)
                predicted = tso_segs(side.model.trace)
                of_model = {"color": side.shade, "marker": "_", "mew": 1}
                _dots(axes, times, predicted, ms=3.8, label="model", **of_model)
                _legend_above(axes)
                top = int(predicted.max(initial=top))
            axes.set_ylabel("segments per packet")
            top = int(sizes.max(initial=top))
        panels[0].set_ylim(0, top * 1.06)
        panels[0].yaxis.set_major_locator(MaxNLocator(5, integer=True))
    return out[0]


def sequence(name: str, sides: Sequence[Side]) -> str:
    """Draw what was sent, acknowledged and allowed over time, a panel a variant."""
    with _picture(name, (len(sides), 1), _TALL_PANEL, share="all") as (panels, out):
        _time_axis(panels, sides)
        _titles(panels, sides)
        top = max(highest(each.trace) for each in voices(sides))
        unit = _BYTES if top < 10 * _MANY_BYTES else _MANY_BYTES
        for axes, side in zip(panels, sides, strict=True):
            _sent(axes, side, _everything(side), unit, width=1.1)
            _acknowledged(axes, side, unit)
            if side.model is not None:
                _predicted_sent(axes, side.model, unit)
                _predicted_acknowledged(axes, side.model, unit)
            _dashed_entry(axes, [side])
            _sequence_axis(axes, unit)
        panels[0].set_ylim(0, max(top, 1) / unit * 1.04)
    return out[0]


def sequence_zoom(
    name: str, sides: Sequence[Side], windows: Sequence[tuple[int, int]]
) -> str:
    """Draw the packets of a short time one by one, and when ACKs came meanwhile.

    windows: the first and last ns of each side, all of one length.
    """
    with _picture(name, (len(sides), 1), _TALL_PANEL, share="none") as (panels, out):
        _time_axis(panels, sides)
        _titles(panels, sides)
        for axes, side, window in zip(panels, sides, windows, strict=True):
            rows = within(side.trace.time_ns, window)
            _sent(axes, side, rows, _BYTES, width=2.4)
            _acknowledged(axes, side, _BYTES)
            _zoom(axes, side, window)
            _ack_marks(axes, side, window, y=0.04, color=_INK, label="an ACK comes in")
            if side.model is not None:
                _predicted_zoom(axes, side.model, shifted(window, side, side.model))
            _dashed_entry(axes, [side])
            _sequence_axis(axes, _BYTES)
    return out[0]


def sender_state(name: str, sides: Sequence[Side]) -> str:
    """Draw what the sender's TCP_INFO said over time: window, rate, round trip."""
    with _picture(name, (3, 1), _PANEL, share="x") as (panels, out):
        window, rate, trip = panels
        _time_axis(panels, sides)
        for at, side in enumerate(sides):
            # The first one wide, so that one that runs along with it hides nothing.
            width = 1.3 if at else 3.2
            _track(window, side, "snd_cwnd", "cwnd", width=width)
            _limit(window, side, "snd_ssthresh")
            _track(rate, side, "pacing_rate", "pacing rate", width=width)
            _track(trip, side, "rtt", "srtt", width=width)
            _limit(trip, side, "min_rtt")
        _limit_entry(window, sides, "snd_ssthresh", "ssthresh")
        _limit_entry(trip, sides, "min_rtt", "min_rtt")
        for side in sides:
            if side.model is not None:
                _predicted_state(panels, side.model)
        window.set_ylabel("window (segments)")
        rate.set_ylabel("pacing rate (Mbit/s)")
        trip.set_ylabel("round-trip time (ms)")
        for axes in (window, rate, trip):
            axes.set_ylim(0, axes.get_ylim()[1] * 1.04)
            if not axes.lines:
                axes.set_title("no samples")
            _dashed_entry(axes, sides)
            _legend_above(axes)
    return out[0]


def overview(side: Side, kind: str, stream: BinaryIO) -> None:
    """Draw one flow into a file: packet sizes, then what was sent, over time.

    kind: what matplotlib writes: "png", "svg" or "pdf".
    """
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": side.name}):
        figure = Figure(figsize=(_WIDTH, _height(3, _TALL_PANEL)), dpi=150)
        axes = figure.subplot_mosaic("AB;CC;DD")
        figure.subplots_adjust(**_margins((3, 2), _TALL_PANEL))
        segments = tso_segs(side.trace)
        edges = _edges([segments])
        _bars(axes["A"], (0, 1), segments, edges, color=side.colour)
        axes["A"].set(xlim=(edges[0], edges[-1]), ylim=(0, None))
        _staircase(axes["B"], segments, color=side.colour, label=side.name)
        for each in (axes["A"], axes["B"]):
            each.set_xlabel("segments per packet")
        _shares_and_counts(axes["A"], axes["B"], "packet")
        axes["A"].set_ylabel("packets")
        times = _ms(side, side.trace.time_ns)
        _dots(axes["C"], times, segments, ms=3.4, color=side.colour, marker="o")
        axes["C"].set_ylabel("segments per packet")
        unit = _BYTES if highest(side.trace) < 10 * _MANY_BYTES else _MANY_BYTES
        _sent(axes["D"], side, _everything(side), unit, width=1.1)
        _acknowledged(axes["D"], side, unit)
        _sequence_axis(axes["D"], unit)
        _time_axis([axes["C"], axes["D"]], [side])
        dated = {"Date": None} if kind == "svg" else {}
        figure.savefig(stream, format=kind, metadata=dated)


@contextmanager
def _picture(
    name: str, shape: tuple[int, int], height: float, *, share: str
) -> Iterator[tuple[list[Axes], list[str]]]:
    """Yield panels to draw on, and a list that holds their SVG text afterwards.

    shape: rows and columns.  height: of a panel, inches.  share: which axes the panels
    have in common: "x", "all" or "none".
    """
    out: list[str] = []
    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}):
        figure = Figure(figsize=(_WIDTH, _height(shape[0], height)), dpi=150)
        panels = figure.subplots(
            *shape,
            sharex=share != "none",
            sharey=share == "all",
            squeeze=False,
            gridspec_kw=_margins(shape, height),
        )
        yield list(panels.flat), out
        stream = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        canvas = FigureCanvasSVG(figure)
        # savefig() would first draw everything once for nothing.
        canvas.print_svg(stream, metadata=nothing)  # type: ignore[no-untyped-call]  # none
        text = stream.getvalue()
        out.append(renamed(text[text.index("<svg") :], name))  # without its prolog


def _height(rows: int, height: float) -> float:
    return _TOP + rows * height + (rows - 1) * _BETWEEN + _BOTTOM


def _margins(shape: tuple[int, int], height: float) -> dict[str, float]:
    """Return the fixed margins as matplotlib wants them: shares of the whole."""
    rows, columns = shape
    whole = _height(rows, height)
    width = (_WIDTH - _LEFT - _RIGHT - (columns - 1) * _BESIDE) / columns
    return {
        "left": _LEFT / _WIDTH,
        "right": 1 - _RIGHT / _WIDTH,
        "bottom": _BOTTOM / whole,
        "top": 1 - _TOP / whole,
        "hspace": _BETWEEN / height,
        "wspace": _BESIDE / width,
    }


def renamed(svg: str, name: str) -> str:
    """Return an SVG element whose ids, and what refers to them, begin with a name."""
    element = re.sub(r'\bid="', f'id="{name}-', svg)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", element)


def _time_axis(panels: Sequence[Axes], sides: Sequence[Side]) -> None:
    """Give all panels the time of the longest run."""
    ends = [
        float(_ms(each, times).max(initial=0))
        for each in voices(sides)
        for times in (each.trace.time_ns, each.trace.ack_time_ns)
    ]
    for axes in panels:
        axes.set_xlim(0, max(*ends, 1e-6) * 1.01)
    panels[-1].set_xlabel("time since connect (ms)")


def _titles(panels: Sequence[Axes], sides: Sequence[Side]) -> None:
    for axes, side in zip(panels, sides, strict=True):
        axes.set_title(side.name)


def _legend_above(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            *(handles, labels),
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.2,
            columnspacing=1.3,
            handlelength=1.7,
            handletextpad=0.5,
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
    place: tuple[int, int],
    values: Samples,
    edges: NDArray[np.float64],
    **style: Any,
) -> None:
    """Draw a histogram's bars. place: which of how many bars in each bin.

    All are one path: an artist a bar would take as long to draw as all the rest.
    """
    at, of = place
    found, _ = np.histogram(values, edges)
    bin_width = edges[1] - edges[0]
    width = bin_width * 0.84 / of
    left = (edges[:-1] + bin_width * 0.08 + at * width)[found > 0]
    up, down = found[found > 0], np.full(len(left), _BELOW_ONE)
    corners = [(left, down), (left, up), (left + width, up), (left + width, down)]
    x, y = (
        np.stack([*each, each[0]], axis=1).ravel()
        for each in zip(*corners, strict=True)
    )
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(left)
    path = Path(np.stack([x, y], axis=1), codes or None)
    axes.add_artist(PathPatch(path, **style))
    most = int(found.max(initial=1))
    axes.set_ylim(top=max(axes.get_ylim()[1], most * _ABOVE_MOST))


def _staircase(axes: Axes, values: Samples, **style: Any) -> None:
    steps, found = np.unique(values, return_counts=True)
    below = np.cumsum(found) / max(len(values), 1) * 100
    axes.step(
        np.concatenate([[0], steps]),
        np.concatenate([[0.0], below]),
        where="post",
        lw=1.6,
        ms=4,
        **style,
    )


def _sent(axes: Axes, side: Side, rows: Mask, unit: int, *, width: float) -> None:
    """Draw some of the data packets; those that bring no new byte in another colour."""
    trace = side.trace
    ends = trace.seq + trace.length
    resent = again(trace)
    for chosen, ink, label in (
        (rows & ~resent, side.colour, "data packet"),
        (rows & resent, _ALERT, "sent again"),
    ):
        if chosen.any():
            x = _ms(side, trace.time_ns[chosen])
            y = trace.seq[chosen] / unit, ends[chosen] / unit
            _uprights(axes, x, y, color=ink, lw=width)
            axes.plot([], [], color=ink, lw=width, label=label)


def _predicted_sent(axes: Axes, model: Side, unit: int) -> None:
    trace = model.trace
    y = np.maximum.accumulate(trace.seq + trace.length) / unit
    _dashed_steps(axes, _ms(model, trace.time_ns), y, model.shade)


def _predicted_zoom(axes: Axes, model: Side, window: tuple[int, int]) -> None:
    trace, rows = model.trace, within(model.trace.time_ns, window)
    y = trace.seq[rows] / _BYTES, (trace.seq + trace.length)[rows] / _BYTES
    dashes = {"ls": _DASHES, "lw": 1.1, "zorder": 3}
    _uprights(axes, _ms(model, trace.time_ns[rows]), y, color=model.shade, **dashes)
    _predicted_acknowledged(axes, model, _BYTES)
    _ack_marks(axes, model, window, y=0.1, color=model.shade)


def _dashed_steps(axes: Axes, x: Samples, y: Samples, ink: str) -> None:
    axes.step(
        *(x, y),
        where="post",
        color=ink,
        ls=_DASHES,
        lw=1,
        zorder=3,
        rasterized=len(x) > _MOST_MARKS,
    )


def _dashed_entry(axes: Axes, sides: Sequence[Side]) -> None:
    """Have the legend say what dashes are, if there are any."""
    shades = [side.shade for side in sides if side.model is not None]
    if shades:
        ink = shades[0] if len(shades) == 1 else _INK
        axes.plot([], [], color=ink, ls=_DASHES, lw=1.1, label="model")


def _dots(axes: Axes, x: Samples, y: Samples, **style: Any) -> None:
    axes.plot(x, y, ls="", rasterized=len(x) > _MOST_MARKS, **style)


def _everything(side: Side) -> Mask:
    return np.ones(len(side.trace.time_ns), np.bool_)


def _uprights(axes: Axes, x: Samples, y: tuple[Samples, Samples], **style: Any) -> None:
    """Draw vertical bars from the first to the second y, as one path with gaps in it.

    That is far smaller than a path a bar.  The renderer of pixels takes no path of any
    length, hence several.
    """
    gap = np.full(len(x), np.nan)
    across = np.repeat(x, 3)
    up = np.stack([*y, gap], axis=1).ravel()
    for at in range(0, len(across), 3 * _MOST_MARKS):
        part = slice(at, at + 3 * _MOST_MARKS)
        axes.plot(
            *(across[part], up[part]),
            solid_capstyle="butt",
            rasterized=len(x) > _MOST_MARKS,
            **style,
        )


def _acknowledged(axes: Axes, side: Side, unit: int) -> None:
    x, *lines = _ack_lines(side, unit)
    labels = ((_ACKED, "acknowledged"), (_EDGE, "window edge"))
    for y, ((ink, _), label) in zip(lines, labels, strict=True):
        axes.step(
            *(x, y),
            where="post",
            color=ink,
            lw=1.1,
            label=label,
            rasterized=len(x) > _MOST_MARKS,
        )


def _predicted_acknowledged(axes: Axes, model: Side, unit: int) -> None:
    x, *lines = _ack_lines(model, unit)
    for y, (_, ink) in zip(lines, (_ACKED, _EDGE), strict=True):
        _dashed_steps(axes, x, y, ink)


def _ack_lines(side: Side, unit: int) -> tuple[Samples, Samples, Samples]:
    """Return times in ms, what was acknowledged by then, and the window's edge."""
    trace = side.trace
    acked = np.maximum.accumulate(trace.ack)
    edge = np.maximum.accumulate(trace.ack + trace.ack_window)
    return _ms(side, trace.ack_time_ns), acked / unit, edge / unit


def _sequence_axis(axes: Axes, unit: int) -> None:
    axes.set_ylabel(f"sequence ({_UNITS[unit]})")
    _legend_above(axes)


def highest(trace: Trace) -> int:
    """Return the byte after the last one sent; 0 when there is none."""
    return int((trace.seq + trace.length).max()) if len(trace.seq) else 0


def _zoom(axes: Axes, side: Side, window: tuple[int, int]) -> None:
    axes.set_xlim(*((at - side.trace.start_ns) / _NS_PER_MS for at in window))
    spans = [
        _bytes_within(each, shifted(window, side, each)) for each in voices([side])
    ]
    if spans[0]:
        low, high = spans[0][0], spans[0][-1]
        every = [byte for span in spans for byte in span]
        if max(every) - min(every) <= _MOST_APART * (high - low):
            low, high = min(every), max(every)
        room = (high - low) * 0.08
        axes.set_ylim((low - 2 * room) / _BYTES, (high + room) / _BYTES)
    for line in axes.lines:
        if not _is_seen(axes, line):
            line.set_label("_")  # matplotlib leaves it out of the legend


def _bytes_within(side: Side, window: tuple[int, int]) -> tuple[int, ...]:
    """Return the first byte sent in a window, and the one after the last; or none."""
    trace, rows = side.trace, within(side.trace.time_ns, window)
    if not rows.any():
        return ()
    return int(trace.seq[rows].min()), int((trace.seq + trace.length)[rows].max())


def _is_seen(axes: Axes, line: Line2D) -> bool:
    """Tell whether a line that only rises passes through what the axes show."""
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    first, last = np.searchsorted(x, axes.get_xlim(), side="right") - 1
    low, high = axes.get_ylim()
    if last < 0:
        return not len(x)  # stands for others in the legend
    return bool(y[last] >= low and y[max(first, 0)] <= high)


def _ack_marks(
    axes: Axes, side: Side, window: tuple[int, int], *, y: float, **style: Any
) -> None:
    times = side.trace.ack_time_ns
    inside = times[within(times, window)]
    axes.plot(
        *(_ms(side, inside), np.full(len(inside), y), "|"),
        ms=8,
        mew=0.9,
        transform=axes.get_xaxis_transform(),
        **style,
    )


def within(times: Column, window: tuple[int, int]) -> Mask:
    """Say which times lie in a window, its ends included."""
    begin, end = window
    inside: Mask = (times >= begin) & (times <= end)
    return inside


def shifted(window: tuple[int, int], of: Side, to: Side) -> tuple[int, int]:
    """Return the same time since connect on another side's clock."""
    later = to.trace.start_ns - of.trace.start_ns
    return window[0] + later, window[1] + later


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
        markevery=(every * side.place // len(STYLES), every),
        lw=width,
        label=f"{side.name}: {label}",
    )


def _limit(axes: Axes, side: Side, field: str) -> None:
    x, y = _samples(side, field)
    if len(x):
        axes.plot(x, y, color=side.colour, lw=0.7)


def _limit_entry(axes: Axes, sides: Sequence[Side], field: str, label: str) -> None:
    """Have the legend say what thin lines are, if there are any."""
    if any(len(_samples(each, field)[0]) for each in voices(sides)):
        axes.plot([], [], color=_INK, lw=0.7, label=label)


def _predicted_state(panels: Sequence[Axes], model: Side) -> None:
    fields = (("snd_cwnd", "snd_ssthresh"), ("pacing_rate",), ("rtt", "min_rtt"))
    for axes, drawn in zip(panels, fields, strict=True):
        for field in drawn:
            x, y = _samples(model, field)
            axes.plot(x, y, color=model.shade, ls=_DASHES, lw=1, zorder=3)


def _samples(side: Side, field: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times in ms and the values of a field, as the axes have them."""
    rows = [(row["time_ns"], row[field]) for row in side.tcp_info if is_set(row, field)]
    columns = np.array(rows, np.int64).reshape(-1, 2)
    values = columns[:, 1].astype(np.float64) * _SCALES.get(field, 1)
    return _ms(side, columns[:, 0]), values


def is_set(row: Mapping[str, int], field: str) -> bool:
    """Tell whether a TCP_INFO sample has a field, and the kernel had set it."""
    return field in row and (field != "snd_ssthresh" or row[field] < _NO_SSTHRESH)
