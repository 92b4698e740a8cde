"""How well a prediction fits: packet by packet, and as distributions. See compare."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from testbed.trace.metrics import ack_stretch
from testbed.trace.trace import Column, Segment, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first place where two traces' data packets differ in seq or length.

    index: of the data packet, from 0.  measured, predicted: the packets there, their
    time_ns since the start of each trace; None where a trace has ended.
    """

    index: int
    measured: Segment | None
    predicted: Segment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How two traces compare.

    match: share of data packets that are the same, see compare.  size_distance,
    stretch_distance: 0 to 1, the Kolmogorov-Smirnov distances of the packets' payloads
    and of ack_stretch: the largest difference between the shares up to a value.
    """

    match: float
    measured_packets: int
    predicted_packets: int
    first_divergence: Divergence | None
    size_distance: float
    stretch_distance: float


def compare(measured: Trace, predicted: Trace) -> Match:
    """Compare the data packets of two traces of one flow.

    Packets are the same if seq and length are; times do not count. Two traces are
    aligned by their longest common subsequence, and match is its length over the number
    of packets of the longer trace. A packet sent twice is two packets, first to first
    and second to second. Two empty traces match.
    """
    ours, theirs = len(measured.seq), len(predicted.seq)
    longer = max(ours, theirs)
    return Match(
        match=_common(measured, predicted) / longer if longer else 1.0,
        measured_packets=ours,
        predicted_packets=theirs,
        first_divergence=_first_divergence(measured, predicted),
        size_distance=_distance(measured.length, predicted.length),
        stretch_distance=_distance(ack_stretch(measured), ack_stretch(predicted)),
    )


def _common(measured: Trace, predicted: Trace) -> int:
    """Return the length of the longest common subsequence.

    As no number occurs twice, it is the longest increasing run of places.
    """
    ours, theirs = _numbers(measured, predicted)
    place_of = np.full(len(ours) + len(theirs), -1, np.int64)
    place_of[ours] = np.arange(len(ours))
    places = place_of[theirs]
    places = places[places >= 0]
    if (np.diff(places) > 0).all():
        return len(places)
    ends: list[int] = []
    for place in places.tolist():
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def _numbers(measured: Trace, predicted: Trace) -> tuple[Column, Column]:
    """Number the packets of both, from 0 to less than the sum of their counts.

    Two have the same number if seq, length and how many such came before are the same.
    """
    seq = np.concatenate([measured.seq, predicted.seq])
    length = np.concatenate([measured.length, predicted.length])
    order = np.lexsort((length, seq))  # stable: ours stand before theirs
    row = np.arange(len(order))
    differs = (np.diff(seq[order]) != 0) | (np.diff(length[order]) != 0)
    first = np.concatenate([[True], differs])[: len(order)]
    turns = first | (np.diff(order >= len(measured.seq), prepend=False))
    group, side = (np.maximum.accumulate(np.where(at, row, 0)) for at in (first, turns))
    number = np.empty(len(order), np.int64)
    number[order] = group + (row - side)
    return number[: len(measured.seq)], number[len(measured.seq) :]


def _first_divergence(measured: Trace, predicted: Trace) -> Divergence | None:
    shorter = min(len(measured.seq), len(predicted.seq))
    differs = (measured.seq[:shorter] != predicted.seq[:shorter]) | (
        measured.length[:shorter] != predicted.length[:shorter]
    )
    index = int(np.argmax(differs)) if differs.any() else shorter
    if index == max(len(measured.seq), len(predicted.seq)):
        return None
    return Divergence(
        index=index,
        measured=_segment(measured, index),
        predicted=_segment(predicted, index),
    )


def _segment(trace: Trace, index: int) -> Segment | None:
    if index >= len(trace.seq):
        return None
    since_start = int(trace.time_ns[index]) - trace.start_ns
    return Segment(since_start, int(trace.seq[index]), int(trace.length[index]))


def _distance(measured: Column, predicted: Column) -> float:
    if not len(measured) or not len(predicted):
        return float(len(measured) != len(predicted))
    values = np.unique(np.concatenate([measured, predicted]))
    shares = [
        np.searchsorted(np.sort(each), values, side="right") / len(each)
        for each in (measured, predicted)
    ]
    return float(np.abs(shares[0] - shares[1]).max())
