"""The part of a trace that a sender can be held to: one without losses. See part_of.

A trace has no SACK blocks and no marks, so a part ends where a loss shows: where a
packet does not begin where the one before ended.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from testbed.trace.trace import Trace
from testbed.units import NS_PER_S

Mask = NDArray[np.bool_]
#: A part has so many packets at most, and lasts so long: the model ends at 1000 s.
MOST_PACKETS = 600
_LONGEST_NS = 900 * NS_PER_S
#: ACKs a packet, on average, beyond which they tell nothing.
_MOST_ACKS = 8
_LARGEST = 1 << 20  # bytes: twice what BIG TCP sends
_LARGEST_WINDOW = 1 << 30
#: Fewer packets than that say nothing.
FEWEST_PACKETS = 10
#: So many packets from the SYN on are worth more than a longer part whose cwnd is
#: unknown when it begins.
_WORTH = 100


#: From the SYN's answer until a sender has written, once it may.
_TO_WRITE_NS = 20_000


class Unfit(Exception):
    """A trace that says nothing of its sender's rules. str: why, a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some packets of a trace, and the ACKs as they reached the sender.

    start: its first row of the whole trace.  from_start: whether it begins with the
    SYN.  whole: whether it ends with the trace.  ends: why it ends where it does, a
    clause.  delay_ns: how much later than here an ACK is taken to have been at the
    sender, relative to the packets.
    """

    trace: Trace
    start: int
    from_start: bool
    whole: bool
    ends: str
    delay_ns: int


def part_of(trace: Trace, delay_ns: int = 0) -> Part:
    """Return what can be fitted of a trace. Raises Unfit, with the reason.

    delay_ns: see Part, and delay_to_sender.
    """
    if len(trace.length) < FEWEST_PACKETS:
        raise Unfit(f"{len(trace.length)} data packets are too few")
    if int(trace.length.max()) <= trace.mss:
        raise Unfit(
            "no packet is larger than a segment: captured after segmentation, or at a "
            "sender without TSO and GSO, it cannot show TSO"
        )
    start, end = _longest(trace)
    until = min(end, start + MOST_PACKETS)
    last_ns = int(trace.time_ns[start]) + _LONGEST_NS
    until = start + int(np.searchsorted(trace.time_ns[start:until], last_ns))
    return Part(
        trace=_cut(trace, start, until, delay_ns),
        start=start,
        from_start=start == 0 and _begins_with_syn(trace),
        whole=until == len(trace.seq),
        ends=_why(until, end, len(trace.seq)),
        delay_ns=delay_ns,
    )


def _why(until: int, end: int, total: int) -> str:
    if until < end:
        return "no more is fitted"
    if end < total:
        return "a loss, or a gap in the capture, shows there"
    return "the trace ends there"


def _longest(trace: Trace) -> tuple[int, int]:
    """Return the first row of what is fitted, and the one behind the last."""
    bounds = [0, *(np.flatnonzero(_faults(trace)) + 1).tolist(), len(trace.seq)]
    runs = list(itertools.pairwise(bounds))
    if runs[0][1] >= _WORTH:
        return runs[0]
    return max(runs, key=lambda run: run[1] - run[0])


def _faults(trace: Trace) -> Mask:
    """Say of each packet but the last whether the next one does not follow on it."""
    wrong = (trace.length < 1) | (trace.length > _LARGEST)
    faults: Mask = trace.seq[1:] != (trace.seq + trace.length)[:-1]
    return faults | (np.diff(trace.time_ns) < 0) | wrong[1:] | wrong[:-1]


def _begins_with_syn(trace: Trace) -> bool:
    """Tell whether the SYN, its answer and the first byte were seen, in this order."""
    if trace.syn_time_ns is None or not trace.start_known or not len(trace.ack):
        return False
    begun = int(trace.seq[0]) == 0 and int(trace.ack[0]) == 0
    times = (trace.syn_time_ns, int(trace.ack_time_ns[0]), int(trace.time_ns[0]))
    return begun and times[0] <= times[1] <= times[2]


def delay_to_sender(trace: Trace) -> int:
    """Return how much later than here the sender may have had an ACK, in ns.

    At the receiver, the SYN is answered at once, and the first packet comes a round
    trip later. It may also come as late because the sender had nothing to send, so this
    is only a possibility; 0 where there is none, and where no SYN was seen.
    """
    if not len(trace.length) or not _begins_with_syn(trace):
        return 0
    answered = int(trace.ack_time_ns[0])
    beyond = answered - int(trace.syn_time_ns or 0)
    before = int(trace.time_ns[0]) - answered
    # An ACK too late is worse than one too early: what it lets go is there before it.
    return before - min(before // 10, _TO_WRITE_NS) if before > beyond else 0


def _cut(trace: Trace, start: int, end: int, delay_ns: int) -> Trace:
    """Return the rows, with ACKs in order of time, as they reached the sender."""
    time_ns = trace.time_ns[start:end]
    order = np.argsort(trace.ack_time_ns, kind="stable")
    ack_time_ns = trace.ack_time_ns[order] + delay_ns
    since = int(np.searchsorted(ack_time_ns, time_ns[0])) if start else 0
    until = int(np.searchsorted(ack_time_ns, time_ns[-1], side="right"))
    kept = slice(since, min(until, since + _MOST_ACKS * MOST_PACKETS))
    return replace(
        trace,
        time_ns=time_ns,
        seq=trace.seq[start:end],
        length=trace.length[start:end],
        ack_time_ns=ack_time_ns[kept],
        ack=trace.ack[order][kept],
        ack_window=np.clip(trace.ack_window[order][kept], 0, _LARGEST_WINDOW),
    )
