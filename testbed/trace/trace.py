"""Trace: one direction of one TCP connection, seen at one vantage point.

A captured run and a simulated run both yield this type; whatever measures it cannot
tell which it was given. Columns are numpy arrays of int64, one row a packet, in the
order of capture. Sequence numbers are unwrapped and relative: 0 is the first byte of
payload, so the SYN sits at -1 and a wrap of the 32-bit field is invisible.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]

_NONE_YET = -(1 << 62)  # below every sequence number


@dataclass(frozen=True, slots=True, order=True)
class Flow:
    """One direction of a TCP connection; addresses as text, ports as numbers."""

    src: str
    sport: int
    dst: str
    dport: int

    def reversed(self) -> "Flow":
        """Return the other direction of the same connection."""
        return Flow(self.dst, self.dport, self.src, self.sport)

    def __str__(self) -> str:
        return f"{self.src}:{self.sport} > {self.dst}:{self.dport}"


class Segment(NamedTuple):
    """One data packet as handed to the device; may be a GSO super-packet.

    time_ns: since the epoch of the capture's clock.  seq: relative, see the module.
    length: bytes of payload, from the IP header or the wire length, never the snaplen.
    """

    time_ns: int
    seq: int
    length: int


class Ack(NamedTuple):
    """One packet of the reverse direction that carries an acknowledgment.

    ack: the next byte of payload expected, relative like Segment.seq; the FIN takes no
    place.  window: bytes, scaled when both SYNs told the scale.
    """

    time_ns: int
    ack: int
    window: int


class MssSource(enum.Enum):
    """How the mss of a flow is known."""

    SYN = "syn"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The data packets of one flow, and the ACKs that came back for them.

    mss: payload bytes of a full segment (MSS option less the TCP option bytes that data
    packets carry), so a packet holds ceil(length / mss) segments.
    syn_time_ns: when the connection's first SYN passed, None when none was seen.
    start_known: whether sequence 0 is known to be the flow's first byte of payload; if
    not, it is the first byte that was seen, and earlier ones are negative.
    """

    flow: Flow
    mss: int
    time_ns: Column
    seq: Column
    length: Column
    ack_time_ns: Column
    ack: Column
    ack_window: Column
    mss_source: MssSource = MssSource.SYN
    syn_time_ns: int | None = None
    start_known: bool = True

    def __post_init__(self) -> None:
        if self.mss < 1:
            raise ValueError(f"an mss of {self.mss} bytes")
        data = {len(self.time_ns), len(self.seq), len(self.length)}
        acks = {len(self.ack_time_ns), len(self.ack), len(self.ack_window)}
        if len(data) > 1 or len(acks) > 1:
            raise ValueError("the columns of a trace differ in length")

    @property
    def start_ns(self) -> int:
        """When the flow began, as far as was seen: the SYN, else the first packet."""
        if self.syn_time_ns is not None:
            return self.syn_time_ns
        times = (self.time_ns, self.ack_time_ns)
        firsts = [int(column[0]) for column in times if len(column)]
        return min(firsts, default=0)

    def segments(self) -> Iterator[Segment]:
        """Yield the data packets in the order of capture."""
        rows = zip(self.time_ns, self.seq, self.length, strict=True)
        return (Segment(int(t), int(s), int(n)) for t, s, n in rows)

    def acks(self) -> Iterator[Ack]:
        """Yield the acknowledgments in the order of capture."""
        rows = zip(self.ack_time_ns, self.ack, self.ack_window, strict=True)
        return (Ack(int(t), int(a), int(w)) for t, a, w in rows)


def again(trace: Trace) -> NDArray[np.bool_]:
    """Say of each data packet whether it brings no byte that none before it brought."""
    ends = trace.seq + trace.length
    before = np.maximum.accumulate(np.concatenate([[_NONE_YET], ends]))[:-1]
    sent: NDArray[np.bool_] = ends <= before
    return sent
