"""What a part of a trace tells a replay, and what it leaves open. See observe."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from testbed.model.feeder import Message
from testbed.model.replay import Seen
from testbed.model.sock import INIT_CWND
from testbed.model.stretch import FEWEST_PACKETS, Mask, Part, Unfit, part_of
from testbed.trace.metrics import rtt
from testbed.trace.trace import Column, Trace
from testbed.units import NS_PER_S

#: Everything is acknowledged, and still nothing is sent: there was nothing to send.
_IDLE_NS = 500_000
#: Data that follows the end of a part, for all the sender knows.
_MORE = 8 << 20
_NS_PER_US = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What of a trace is fitted.

    trace: the packets that are predicted.  row: the first of them in the whole trace.
    rate: at which they seem to be paced, bytes/s.
    """

    part: Part
    seen: Seen
    trace: Trace
    row: int
    rate: int

    def head(self, packets: int) -> "Stretch":
        """Return the same with so many packets predicted; itself if it has no more."""
        if len(self.trace.length) <= packets:
            return self
        seen, trace, until = self.seen, self.trace, self.seen.first + packets
        acks = bisect_right(seen.ack_times, seen.times[until - 1])
        return replace(
            self,
            seen=replace(
                seen,
                times=seen.times[:until],
                seqs=seen.seqs[:until],
                lengths=seen.lengths[:until],
                ack_times=seen.ack_times[:acks],
                acks=seen.acks[:acks],
                windows=seen.windows[:acks],
            ),
            trace=_rows(trace, slice(packets)),
        )


def observe(trace: Trace, delay_ns: int = 0) -> Stretch:
    """Return what a trace tells of its sender. Raises Unfit, with the reason.

    delay_ns: see Part.
    """
    part = part_of(trace, delay_ns)
    cut = part.trace
    first, ack = (0, 0) if part.from_start else _midway(cut)
    if len(cut.seq) - first < FEWEST_PACKETS:
        raise Unfit(f"{len(cut.seq) - first} packets in a row without a loss: too few")
    rtts = rtt(cut)
    if not len(rtts):
        raise Unfit("no round trip is seen: it has too few ACKs")
    seen = Seen(
        times=cut.time_ns.tolist(),
        seqs=cut.seq.tolist(),
        lengths=cut.length.tolist(),
        ack_times=cut.ack_time_ns[ack:].tolist(),
        acks=cut.ack[ack:].tolist(),
        windows=cut.ack_window[ack:].tolist(),
        flights=_flights(cut, int(np.median(rtts)))[ack:].tolist(),
        messages=_writings(cut),
        closes=part.whole,
        syn_ns=cut.syn_time_ns if part.from_start else None,
        first=first,
        cwnd=INIT_CWND if part.from_start else _under_way(cut, first),
        min_rtt_us=max(int(rtts.min()) // _NS_PER_US, 1),
    )
    predicted = _rows(cut, slice(first, None))
    return Stretch(
        part=part,
        seen=seen,
        trace=predicted,
        row=part.start + first,
        rate=_rate(predicted),
    )


def _rows(trace: Trace, rows: slice) -> Trace:
    """Return some of the packets, and all ACKs."""
    return replace(
        trace,
        time_ns=trace.time_ns[rows],
        seq=trace.seq[rows],
        length=trace.length[rows],
    )


def _rate(trace: Trace) -> int:
    """Return the rate at which packets leave that wait for nothing else, bytes/s."""
    half = len(trace.length) // 2
    gaps = np.diff(trace.time_ns)[half:]
    near = gaps <= 2 * int(np.median(gaps))
    taken_ns = max(int(gaps[near].sum()), 1)
    return max(int(trace.length[half:-1][near].sum()) * NS_PER_S // taken_ns, 1)


def _midway(cut: Trace) -> tuple[int, int]:
    """Return the packet and the ACK to begin with: the first ACK of a packet seen."""
    covering = np.flatnonzero(cut.ack >= int(cut.seq[0] + cut.length[0]))
    if not len(covering):
        raise Unfit("no round trip is seen: none of its packets is acknowledged")
    ack = int(covering[0])
    first = int(np.searchsorted(cut.time_ns, cut.ack_time_ns[ack]))
    return max(first, 1), ack


def _under_way(cut: Trace, first: int) -> int:
    """Return the segments of the packets before the first."""
    return int((-(-cut.length[:first] // cut.mss)).sum())


def _flights(cut: Trace, rtt_ns: int) -> Column:
    """Return the most segments under way within a round trip of each ACK."""
    highest = np.maximum.accumulate(cut.ack)
    acked = np.searchsorted(cut.ack_time_ns, cut.time_ns, side="right")
    una = np.concatenate([cut.seq[:1], np.maximum(highest, cut.seq[0])])[acked]
    flight = np.maximum(-(-(cut.seq + cut.length - una) // cut.mss), 1)
    half = rtt_ns // 2
    low = np.searchsorted(cut.time_ns, cut.ack_time_ns - half)
    high = np.searchsorted(cut.time_ns, cut.ack_time_ns + half, side="right")
    last = len(flight) - 1
    low = np.minimum(low, last)
    bounds = zip(low.tolist(), np.maximum(high, low + 1).tolist(), strict=True)
    return np.array([flight[start:end].max() for start, end in bounds], np.int64)


def _writings(cut: Trace) -> tuple[tuple[Message, ...], ...]:
    """Return what the process may have had to write, and when, without repetition.

    It may have had all of it at once.  A pause in which all is acknowledged may be for
    want of data, or pacing.  A packet that is no whole number of segments may end the
    data, or only a message of more.
    """
    ends = cut.seq + cut.length
    highest = np.maximum.accumulate(cut.ack)
    came = np.searchsorted(cut.ack_time_ns, cut.time_ns[1:])
    paused = np.zeros(len(came), np.bool_)
    some = came > 0
    last = came[some] - 1
    quiet = cut.time_ns[1:][some] - cut.ack_time_ns[last] > _IDLE_NS
    paused[some] = (highest[last] >= ends[:-1][some]) & quiet
    short = cut.length % cut.mss != 0
    all_at_once = np.zeros(len(came), np.bool_)
    writings = (
        tuple(_messages(cut, breaks, ended=bool(short[-1])))
        for breaks in (paused | short[:-1], paused, all_at_once)
    )
    return tuple({len(each): each for each in writings}.values())


def _messages(cut: Trace, breaks: Mask, *, ended: bool) -> Iterator[Message]:
    """Yield messages that end where the breaks are, and come with the next packet."""
    ends = cut.seq + cut.length
    since = int(cut.time_ns[0])
    for row in np.flatnonzero(breaks).tolist():
        yield Message(since, int(ends[row]))
        since = int(cut.time_ns[row + 1])
    yield Message(since, int(ends[-1]) + (0 if ended else _MORE))
