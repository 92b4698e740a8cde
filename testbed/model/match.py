"""How well a prediction fits: packet by packet, and as distributions. See compare."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass

import numpy as np

from testbed.trace.trace import Segment, Trace


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

    match: share of data packets that are the same, see compare.  size_distance: 0 to 1,
    the Kolmogorov-Smirnov distance of the packets' payloads: the largest difference
    between the shares of packets up to a size.
    """

    match: float
    measured_packets: int
    predicted_packets: int
    first_divergence: Divergence | None
    size_distance: float


def compare(measured: Trace, predicted: Trace) -> Match:
    """Compare the data packets of two traces of one flow.

    Packets are the same if seq and length are; times do not count. Two traces are
    aligned by their longest common subsequence, and match is its length over the number
    of packets of the longer trace. A packet sent twice is two packets, first to first
    and second to second. Two empty traces match.
    """
    ours, theirs = _packets(measured), _packets(predicted)
    longer = max(len(ours), len(theirs))
    return Match(
        match=_common(ours, theirs) / longer if longer else 1.0,
        measured_packets=len(ours),
        predicted_packets=len(theirs),
        first_divergence=_first_divergence(measured, predicted),
        size_distance=_size_distance(measured, predicted),
    )


def _packets(trace: Trace) -> list[tuple[int, int, int]]:
    """Return (seq, length, how many such packets came before) of each packet."""
    before: Counter[tuple[int, int]] = Counter()
    packets = []
    for packet in zip(trace.seq.tolist(), trace.length.tolist(), strict=True):
        packets.append((*packet, before[packet]))
        before[packet] += 1
    return packets


def _common(
    ours: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]]
) -> int:
    """Return the length of the longest common subsequence.

    As no packet occurs twice, it is the longest increasing run of places.
    """
    places = {packet: place for place, packet in enumerate(ours)}
    ends: list[int] = []
    for packet in theirs:
        place = places.get(packet)
        if place is not None:
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends)


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


def _size_distance(measured: Trace, predicted: Trace) -> float:
    if not len(measured.length) or not len(predicted.length):
        return float(len(measured.length) != len(predicted.length))
    sizes = np.union1d(measured.length, predicted.length)
    shares = [
        np.searchsorted(np.sort(trace.length), sizes, side="right") / len(trace.length)
        for trace in (measured, predicted)
    ]
    return float(np.abs(shares[0] - shares[1]).max())
