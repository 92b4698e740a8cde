"""Figures: each picture with its caption, its text alternative and its numbers.

A figure's tables hold what its picture shows: all of it where that fits, otherwise what
was true at the end of equal slices of time, and they say which. Start with sides_of and
figures.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from testbed.report import plots
from testbed.report.grid import Grid
from testbed.report.numbers import amount, count, listed, milliseconds, plural, share
from testbed.report.plots import Side
from testbed.report.result import Result
from testbed.trace.measurement import Measurement, Summary
from testbed.trace.metrics import ack_stretch, measure, tso_segs
from testbed.trace.trace import Column, Trace
from testbed.units import format_time

#: The name of the figure that the page has a live one of.
SEQUENCE = "sequence"
#: Packets that a zoom shows of the busiest variant: as many as can be told apart.
_ZOOM_PACKETS = 100
#: A zoom is never shorter than this share of a round trip, however dense a burst is.
_SHORTEST_ZOOM = 20
_LEAST_ZOOM_NS = 1000  # an axis needs some length, even if nothing happened
_MOST_SLICES = 24
_MOST_ROWS = 250
_NS_PER_US = 1000
_STATISTICS = ("mean", "p50", "p90", "p99", "max")
_SAMPLE_FIELDS = (
    ("snd_cwnd", "cwnd", "segments", 1),
    ("snd_ssthresh", "ssthresh", "segments", 1),
    ("pacing_rate", "pacing rate", "bit/s", 8),
    ("rtt", "srtt", "ns", _NS_PER_US),
    ("min_rtt", "min_rtt", "ns", _NS_PER_US),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture, and the same in words and numbers.

    name: its ids begin with it.  alt: for who cannot see it.  numbers: beside it.
    """

    name: str
    title: str
    svg: str
    alt: str
    caption: str
    grids: tuple[Grid, ...]
    numbers: Grid | None = None


def sides_of(result: Result) -> tuple[Side, ...]:
    """Return the variants of a result that are drawn: those that were captured."""
    order = [variant.name for variant in result.experiment.variants]
    drawn = [name for name in result.variants() if result.first(name).trace]
    return tuple(_side(result, name, order.index(name)) for name in drawn)


def figures(sides: Sequence[Side]) -> tuple[Figure, ...]:
    """Return the figures of some variants."""
    if not sides:
        return ()
    return (
        _tso_sizes("tso-sizes", sides),
        _tso_over_time("tso-over-time", sides),
        _sequence(SEQUENCE, sides),
        _sequence_zoom("zoom", sides),
        _ack_stretch("ack-stretch", sides),
        _sender_state("tcp-info", sides),
    )


def _side(result: Result, name: str, place: int) -> Side:
    measured, predicted = result.first(name), result.predicted(name)
    assert measured.trace is not None  # noqa: S101  # others are not drawn
    side = Side(
        name=name,
        place=place,
        trace=measured.trace,
        tcp_info=measured.tcp_info,
        causes=measured.causes,
    )
    if predicted is None:
        return side
    model = replace(
        side,
        name=f"{name}, model",
        trace=predicted.trace,
        tcp_info=predicted.tcp_info,
        causes=predicted.causes,
    )
    return replace(side, model=model)


def zoom_windows(traces: Sequence[Trace]) -> tuple[tuple[int, int], ...]:
    """Return a time, in ns, from the middle of each transfer; all are equally long.

    In the middle is when the middle byte was sent. The length is a round trip, or less:
    the time of _ZOOM_PACKETS packets where they are densest.
    """
    trip = max(_round_trip(trace) for trace in traces)
    middles = [_middle(trace) for trace in traces]
    spans = [_span(trace, row) for trace, row in zip(traces, middles, strict=True)]
    length = max(_LEAST_ZOOM_NS, trip // _SHORTEST_ZOOM, min(trip, *spans))
    starts = [
        (int(trace.time_ns[row]) if len(trace.time_ns) else trace.start_ns)
        - length // 2
        for trace, row in zip(traces, middles, strict=True)
    ]
    return tuple((start, start + length) for start in starts)


def _tso_sizes(name: str, sides: Sequence[Side]) -> Figure:
    return _distribution(
        *(name, "TSO packet sizes", sides, tso_segs),
        event="packet",
        quantity="segments",
    )


def _ack_stretch(name: str, sides: Sequence[Side]) -> Figure:
    return _distribution(
        *(name, "Stretch ACKs", sides, ack_stretch),
        event="ACK",
        quantity="segments acknowledged",
    )


def _distribution(
    name: str,
    title: str,
    sides: Sequence[Side],
    sample: Callable[[Trace], Column],
    *,
    event: str,
    quantity: str,
) -> Figure:
    samples = [(each, sample(each.trace)) for each in plots.voices(sides)]
    quantiles = [
        f"{each.name}: {_quantiles(values, event)}" for each, values in samples
    ]
    return Figure(
        name=name,
        title=title,
        svg=plots.distribution(name, sides, sample, event=event, quantity=quantity),
        alt=f"Histogram and cumulative distribution of {quantity} per {event}. "
        + "; ".join(quantiles),
        caption=f"{quantity.capitalize()} per {event}, seen at the sender. Left: how "
        f"many {event}s of each size, on a logarithmic scale. Right: the share of all "
        f"{event}s that is at or below a size.{_dashes(sides)}",
        grids=(_distribution_grid(samples, event, quantity),),
        numbers=_numbers_grid(samples, event, quantity),
    )


def _numbers_grid(
    samples: Sequence[tuple[Side, Column]], event: str, quantity: str
) -> Grid:
    summaries = ((side.name, _summary(values, "")) for side, values in samples)
    return Grid(
        title=f"{quantity} per {event}",
        head=("", f"n ({event}s)", *_STATISTICS),
        rows=tuple(
            (
                name,
                count(each.n),
                *(amount(getattr(each, of), "") for of in _STATISTICS),
            )
            for name, each in summaries
        ),
    )


def _distribution_grid(
    samples: Sequence[tuple[Side, Column]], event: str, quantity: str
) -> Grid:
    every = np.unique(np.concatenate([values for _side, values in samples]))
    head = [quantity]
    columns: list[list[str]] = [[count(value) for value in every.tolist()]]
    for side, values in samples:
        found = [int(np.count_nonzero(values == value)) for value in every]
        head += [f"{side.name}: {event}s", "at or below"]
        columns.append([count(number) for number in found])
        below = np.cumsum(found).tolist()
        columns.append([share(number, len(values)) for number in below])
    return Grid(
        title=f"{event}s of each size",
        head=tuple(head),
        rows=tuple(zip(*columns, strict=True)),
        folded=True,
    )


def _tso_over_time(name: str, sides: Sequence[Side]) -> Figure:
    told = [
        f"{each.name}: {_quantiles(tso_segs(each.trace), 'packet')}"
        for each in plots.voices(sides)
    ]
    return Figure(
        name=name,
        title="TSO packet sizes over time",
        svg=plots.tso_over_time(name, sides),
        alt="Segments in each packet against the time it was sent. " + "; ".join(told),
        caption="Each mark is one packet handed to the device, as high as the segments "
        f"in it{_dash(sides)}. Its numbers are those of TSO packet sizes, above.",
        grids=tuple(_sizes_grid(each, _step(sides)) for each in plots.voices(sides)),
    )


def _sizes_grid(side: Side, step: int) -> Grid:
    sizes = tso_segs(side.trace)
    since = side.trace.time_ns - side.trace.start_ns
    rows = []
    for begin, end in _slices(side, step):
        found = _summary(sizes[(since >= begin) & (since < end)], "segments")
        statistics = (found.mean, found.p50, found.max)
        shown = (amount(value, "segments") for value in statistics)
        rows.append((_slice_name(begin, end), count(found.n), *shown))
    return Grid(
        title=f"{side.name}: packets sent in each {format_time(step)}",
        head=("ms since connect", "packets", "mean segments", "p50", "max"),
        rows=tuple(rows),
        folded=True,
    )


def _sequence(name: str, sides: Sequence[Side]) -> Figure:
    told = [f"{each.name}: {_transfer(each.trace)}" for each in plots.voices(sides)]
    return Figure(
        name=name,
        title="Sequence numbers over time",
        svg=plots.sequence(name, sides),
        alt="Sequence numbers sent, acknowledged and allowed, against time. "
        + "; ".join(told),
        caption="A data packet is a bar from its first to its last byte. Between the "
        "bars and the line below is what is in flight; between the bars and the window "
        "edge (acknowledged plus receive window) is what the receiver still allows."
        f"{_dashes(sides, 'They join its packets.')} {'; '.join(told)}.",
        grids=tuple(_progress_grid(each, _step(sides)) for each in plots.voices(sides)),
    )


def _progress_grid(side: Side, step: int) -> Grid:
    trace = side.trace
    sent = np.maximum.accumulate(np.concatenate([[0], trace.seq + trace.length]))
    acked = np.maximum.accumulate(np.concatenate([[0], trace.ack]))
    edge = np.maximum.accumulate(np.concatenate([[0], trace.ack + trace.ack_window]))
    rows = []
    for begin, end in _slices(side, step):
        until = trace.start_ns + end
        packets = int(np.searchsorted(trace.time_ns, until))
        acks = int(np.searchsorted(trace.ack_time_ns, until))
        values = (packets, sent[packets], acks, acked[acks])
        flight = max(0, int(sent[packets] - acked[acks]))
        shown = (count(int(value)) for value in (*values, flight, edge[acks]))
        rows.append((_slice_name(begin, end), *shown))
    return Grid(
        title=f"{side.name}: where things stood after each {format_time(step)}",
        head=(
            *("ms since connect", "packets sent", "up to byte", "ACKs"),
            *("acknowledged to byte", "bytes in flight", "window edge at byte"),
        ),
        rows=tuple(rows),
        folded=True,
    )


def _sequence_zoom(name: str, sides: Sequence[Side]) -> Figure:
    windows = zoom_windows([side.trace for side in sides])
    seen = [
        (each, plots.shifted(window, side, each))
        for side, window in zip(sides, windows, strict=True)
        for each in plots.voices([side])
    ]
    begin, end = windows[0]
    told = f"{amount(end - begin, 'ns')} from the middle of the transfer"
    each = [f"{side.name}: {_in_window(side.trace, window)}" for side, window in seen]
    return Figure(
        name=name,
        title="Bursts",
        svg=plots.sequence_zoom(name, sides, windows),
        alt=f"Every data packet and ACK in {told}. " + "; ".join(each),
        caption=f"The same, in {told}: bars are packets, ticks at the bottom are ACKs "
        "as they come in. All panels are equally long, and around the middle byte."
        f"{_dashes(sides, 'Its ACKs are the upper ticks.')} {'; '.join(each)}.",
        grids=tuple(_packets_grid(*each) for each in seen),
    )


def _in_window(trace: Trace, window: tuple[int, int]) -> str:
    rows = plots.within(trace.time_ns, window)
    acks = int(np.count_nonzero(plots.within(trace.ack_time_ns, window)))
    gaps = _summary(np.diff(trace.time_ns[rows]), "ns")
    told = f"{plural(int(np.count_nonzero(rows)), 'packet')}, {plural(acks, 'ACK')}"
    if not gaps.n:
        return told
    p50, p90, most = (amount(value, "ns") for value in (gaps.p50, gaps.p90, gaps.max))
    return f"{told}, gaps between packets p50 {p50}, p90 {p90}, max {most}"


def _packets_grid(side: Side, window: tuple[int, int]) -> Grid:
    trace = side.trace
    rows = np.flatnonzero(plots.within(trace.time_ns, window))
    gaps = np.diff(trace.time_ns, prepend=trace.time_ns[:1])
    sizes = tso_segs(trace)
    title = f"{side.name}: the packets in this picture"
    if len(rows) > _MOST_ROWS:
        title += f" (the first {_MOST_ROWS} of {count(len(rows))})"
    return Grid(
        title=title,
        head=("ms since connect", "gap", "first byte", "bytes", "segments"),
        rows=tuple(
            (
                milliseconds(int(trace.time_ns[row]) - trace.start_ns),
                amount(int(gaps[row]), "ns") if row else amount(None, "ns"),
                count(int(trace.seq[row])),
                count(int(trace.length[row])),
                count(int(sizes[row])),
            )
            for row in rows[:_MOST_ROWS].tolist()
        ),
        folded=True,
    )


def _sender_state(name: str, sides: Sequence[Side]) -> Figure:
    told = [f"{each.name}: {_last_sample(each)}" for each in plots.voices(sides)]
    return Figure(
        name=name,
        title="The sender's own view",
        svg=plots.sender_state(name, sides),
        alt="Congestion window, pacing rate and round-trip time against time. "
        + "; ".join(told),
        caption="From TCP_INFO, sampled at the sender while it sends. Thin lines are "
        f"ssthresh, once it is set, and min_rtt.{_dashes(sides)} {'; '.join(told)}.",
        grids=tuple(_samples_grid(each, _step(sides)) for each in plots.voices(sides)),
    )


def _dash(sides: Sequence[Side]) -> str:
    modelled = any(side.model for side in sides)
    return "; a dash is one that the model predicts" if modelled else ""


def _dashes(sides: Sequence[Side], more: str = "") -> str:
    if not any(side.model for side in sides):
        return ""
    return " ".join(("", "Solid is the kernel, dashed the model.", more)).rstrip()


def _last_sample(side: Side) -> str:
    if not side.tcp_info:
        return "no samples"
    last = side.tcp_info[-1]
    found = [
        f"{label} {amount(last[field] * scale, unit)}"
        for field, label, unit, scale in _SAMPLE_FIELDS
        if plots.is_set(last, field)
    ]
    return f"n = {count(len(side.tcp_info))}, at the end {listed(found)}"


def _samples_grid(side: Side, step: int) -> Grid:
    times = np.array([row["time_ns"] for row in side.tcp_info], np.int64)
    rows = []
    for _begin, end in _slices(side, step):
        at = int(np.searchsorted(times, side.trace.start_ns + end)) - 1
        if at < 0:
            continue
        sample = side.tcp_info[at]
        shown = (
            amount(sample[field] * scale, unit)
            if plots.is_set(sample, field)
            else amount(None, unit)
            for field, _label, unit, scale in _SAMPLE_FIELDS
        )
        rows.append((milliseconds(sample["time_ns"] - side.trace.start_ns), *shown))
    return Grid(
        title=f"{side.name}: the last sample in each {format_time(step)}",
        head=("ms since connect", *(label for _, label, _, _ in _SAMPLE_FIELDS)),
        rows=tuple(dict.fromkeys(rows)),
        folded=True,
    )


def _quantiles(values: Column, event: str) -> str:
    found = _summary(values, "segments")
    if not found.n:
        return "n = 0"
    shown = (f"{name} {amount(getattr(found, name), '')}" for name in _STATISTICS)
    return f"n = {count(found.n)} {event}s, {', '.join(shown)}"


def _summary(values: Column, unit: str) -> Summary:
    return Measurement(metric="", unit=unit, samples=values).summary()


def _transfer(trace: Trace) -> str:
    found = measure(("throughput", "rtt", "retransmits"), (trace,))
    rate, trip, again = (found[name].summary() for name in found)
    sent = plots.highest(trace)
    return (
        f"{plural(len(trace.time_ns), 'packet')} up to byte {count(sent)}, "
        f"{plural(int(again.max or 0), 'packet')} sent again, throughput "
        f"{amount(rate.mean, 'bit/s')}, round trip p50 {amount(trip.p50, 'ns')}, "
        f"max {amount(trip.max, 'ns')}"
    )


def _round_trip(trace: Trace) -> int:
    """Return the median round trip; the whole time seen if nothing was acknowledged."""
    found = measure(("rtt",), (trace,))["rtt"].summary().p50
    return int(found) if found else _duration(trace)


def _duration(trace: Trace) -> int:
    ends = [
        int(times[-1]) for times in (trace.time_ns, trace.ack_time_ns) if len(times)
    ]
    return max(ends, default=trace.start_ns) - trace.start_ns


def _middle(trace: Trace) -> int:
    """Return the row of the packet in which the middle byte was first sent."""
    if not len(trace.seq):
        return 0
    sent = np.maximum.accumulate(trace.seq + trace.length)
    return int(np.searchsorted(sent, (trace.seq[0] + sent[-1]) // 2))


def _span(trace: Trace, middle: int) -> int:
    """Return how long it took to send _ZOOM_PACKETS packets around one."""
    times = trace.time_ns
    if len(times) <= _ZOOM_PACKETS:
        return _duration(trace)
    first = min(max(0, middle - _ZOOM_PACKETS // 2), len(times) - _ZOOM_PACKETS)
    last = first + _ZOOM_PACKETS - 1
    return int(times[last]) - int(times[first])


def _step(sides: Sequence[Side]) -> int:
    """Return the round number of ns that cuts the longest run in _MOST_SLICES."""
    longest = max(_duration(each.trace) for each in plots.voices(sides))
    least = max(1, longest / _MOST_SLICES)
    power = int(10 ** math.floor(math.log10(least)))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= least)


def _slices(side: Side, step: int) -> Iterator[tuple[int, int]]:
    """Yield the slices of a run that has packets, in ns since its start."""
    if len(side.trace.time_ns):
        for begin in range(0, _duration(side.trace) + 1, step):
            yield begin, begin + step


def _slice_name(begin: int, end: int) -> str:
    shown = (f"{at / 1e6:.6g}" for at in (begin, end))
    return " to ".join(shown)
