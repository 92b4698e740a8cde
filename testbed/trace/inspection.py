"""Inspection: what the senders in a capture did, flow by flow. Start with inspect.

    from pathlib import Path
    from testbed.trace.inspection import inspect

    for flow in inspect(Path("capture.pcapng")).flows:
        print(flow.flow, flow.mss, flow.tso_size.p99)

Memory follows the number of flows, not that of packets. With series=True the packets
are kept as well, as testbed.trace.trace.Trace: numpy arrays of int64.
"""

import io
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np

from testbed.trace.jit import Table
from testbed.trace.layers import IPV4
from testbed.trace.measurement import Summaries, Summary
from testbed.trace.mss import infer_mss
from testbed.trace.reading import Options, followed
from testbed.trace.records import Told
from testbed.trace.series import traces
from testbed.trace.source import Source, opened
from testbed.trace.state import (
    ACK_GAP,
    ACKED,
    BASE,
    BURST,
    BYTES,
    DSACKS,
    DUP_ACKS,
    DUPLICATE,
    F_SIDE,
    FIRST_NS,
    FLOWS,
    HAS_START,
    HIGH,
    HIGH_HIGH,
    KNOWS,
    LAST_NS,
    LATE,
    LOW,
    LOW_HIGH,
    OPTION_WORDS,
    OPTIONS_0,
    PACE,
    PACKETS,
    PORTS,
    REORDERED,
    RETRANSMITS,
    RTT,
    RTT_MISSED,
    S_CONNECTION,
    S_FIRST,
    SACKED,
    SEND_GAP,
    SIZE,
    START,
    TOLD_MSS,
    ZERO_WINDOWS,
    State,
)
from testbed.trace.tallies import Tallies, precisions, tallies
from testbed.trace.tally import PRECISION_BITS
from testbed.trace.trace import Flow, MssSource, Trace
from testbed.trace.vantage import Inferred, Vantage, infer_vantages

_PORT, _PORT_BITS, _FAMILY_SHIFT = 0xFFFF, 16, 32
_WORD_OPTIONS = 4  # bytes
_WORD_64 = (1 << 64) - 1
#: Full segments without a larger packet among them that say: no TSO to be seen here.
_ENOUGH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReport:
    """What one direction of a connection did. Times in ns, rates in bit/s.

    mss: payload of a full segment: the smaller MSS option of the SYNs, less the TCP
    option bytes that data packets carry; or inferred from lengths.
    vantage, vantage_source: see vantage.py.
    tso_visible: whether packets larger than a segment are seen; False if there are
    enough full segments and none larger (taken after segmentation), None if not.
    packets, bytes: of data, retransmissions included.  first_ns, last_ns: when the
    first and the last data packet passed.
    tso_size, tso_segs, ack_stretch, send_gap, ack_gap, rtt: as in metrics.py.
    retransmits, duplicate_bytes, late, reordered, burst, pace: as in sent.py.
    burst_gap: between bursts.  sacked_bytes: told by SACK, each once.  dsacks:
    duplicates the receiver told of.  dup_acks: RFC 5681.  zero_windows: packets that
    advertise none.  rtt_missed: packets too many at once in flight to be timed.
    quantile_error: the relative error of quantiles that are not exact, by metric.
    """

    flow: Flow
    mss: int
    mss_source: MssSource
    vantage: Vantage
    vantage_source: str
    tso_visible: bool | None
    packets: int
    bytes: int
    first_ns: int
    last_ns: int
    tso_size: Summary
    tso_segs: Summary
    ack_stretch: Summary
    send_gap: Summary
    ack_gap: Summary
    rtt: Summary
    burst: Summary
    burst_gap: Summary
    pace: Summary
    retransmits: int
    duplicate_bytes: int
    late: int
    reordered: int
    sacked_bytes: int
    dsacks: int
    dup_acks: int
    zero_windows: int
    rtt_missed: int
    quantile_error: Mapping[str, float]


_COUNTS = {
    "packets": PACKETS,
    "bytes": BYTES,
    "first_ns": FIRST_NS,
    "last_ns": LAST_NS,
    "retransmits": RETRANSMITS,
    "duplicate_bytes": DUPLICATE,
    "late": LATE,
    "reordered": REORDERED,
    "sacked_bytes": SACKED,
    "dsacks": DSACKS,
    "dup_acks": DUP_ACKS,
    "zero_windows": ZERO_WINDOWS,
    "rtt_missed": RTT_MISSED,
}
_TALLIES = {
    "tso_size": SIZE,
    "ack_stretch": ACKED,
    "send_gap": SEND_GAP,
    "ack_gap": ACK_GAP,
    "rtt": RTT,
    "burst": BURST,
    "pace": PACE,
}


class Flows(Sequence[FlowReport]):
    """The flows of a capture in the order of their first packets.

    A report is made when it is asked for; columns are made of all flows at once.
    """

    def __init__(self, state: State, burst_ns: int) -> None:
        """Take what is remembered at a capture's end."""
        used = state.flows[1 : state.counts[FLOWS]]
        used = used[used[:, PACKETS] > 0]
        first = state.sides[used[:, F_SIDE], S_FIRST]
        self._flows = used[np.argsort(first, kind="stable")]
        self._state, self._burst_ns = state, burst_ns

    def __len__(self) -> int:
        return len(self._flows)

    @overload
    def __getitem__(self, index: int) -> FlowReport: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[FlowReport]: ...
    def __getitem__(self, index: int | slice) -> FlowReport | Sequence[FlowReport]:
        rows = range(len(self))[index]
        if isinstance(rows, range):
            return [self._report(row) for row in rows]
        return self._report(rows)

    def column(self, name: str) -> Table:
        """Return one of the counts of every flow: an array of int64."""
        return self._flows[:, _COUNTS[name]]

    def ranked(self, key: str) -> Sequence[int]:
        """Return the places of all flows, by a count's name or in their "order"."""
        if key == "order":
            return range(len(self))
        ranked: list[int] = np.argsort(-self.column(key), kind="stable").tolist()
        return ranked

    def matching(self, text: str) -> Sequence[int]:
        """Return the places of the flows that a number (from 1) or an address names.

        An address may have a port: 10.0.0.1:80.
        """
        if text.isdecimal():
            return [int(text) - 1] if 0 < int(text) <= len(self) else []
        return [row for row in range(len(self)) if text in _ends(self.flow(row))]

    def flow(self, row: int) -> Flow:
        """Return a flow's name."""
        return self._names[row]

    def side(self, row: int) -> int:
        """Return the place of a flow's side; its peer's is the other of the pair."""
        return int(self._flows[row, F_SIDE])

    def base(self, row: int) -> int:
        """Return the position of a flow's sequence 0."""
        numbers = self._flows[row]
        side = self._state.sides[numbers[F_SIDE]]
        return int(side[START] if side[KNOWS] & HAS_START else numbers[BASE])

    def tally(self, name: str) -> Tallies:
        """Return the distribution of a metric in every flow."""
        return tallies(self._state.pool, self._flows[:, _TALLIES[name]])

    @cached_property
    def _sizes(self) -> Tallies:
        """The one distribution that is asked for again and again."""
        return self.tally("tso_size")

    def columns(self) -> Mapping[str, Sequence[Any] | Summaries]:
        """Return the fields of FlowReport, each of all flows at once."""
        return {
            "flow": self._names,
            "mss": self._mss.tolist(),
            "mss_source": self._mss_sources,
            "vantage": self._inferred.vantages,
            "vantage_source": self._inferred.sources,
            "tso_visible": self._tso_visible,
            **{name: self.column(name).tolist() for name in _COUNTS},
            **self._summaries,
            "quantile_error": self._errors,
        }

    def _report(self, row: int) -> FlowReport:
        counts: dict[str, Any] = {name: int(self.column(name)[row]) for name in _COUNTS}
        found: dict[str, Any] = {
            name: column[row] for name, column in self._summaries.items()
        }
        return FlowReport(
            flow=self.flow(row),
            mss=int(self._mss[row]),
            mss_source=self._mss_sources[row],
            vantage=self._inferred.vantages[row],
            vantage_source=self._inferred.sources[row],
            tso_visible=self._tso_visible[row],
            quantile_error=self._errors[row],
            **counts,
            **found,
        )

    @cached_property
    def _summaries(self) -> Mapping[str, Summaries]:
        sizes, acked = self._sizes, self.tally("ack_stretch")
        found = {
            "tso_size": sizes.summaries(),
            "tso_segs": sizes.in_segments(self._mss),
            "ack_stretch": acked.in_segments(self._mss),
        }
        gaps = self.tally("send_gap")
        found |= {
            "send_gap": gaps.summaries(),
            "burst_gap": gaps.above(self._burst_ns),
        }
        del acked, gaps  # one at a time: of many flows they are large
        for name in ("ack_gap", "rtt", "burst", "pace"):
            found[name] = self.tally(name).summaries()
        return found

    def mss(self, row: int) -> tuple[int, MssSource]:
        """Return a flow's mss and how it is known."""
        return int(self._mss[row]), self._mss_sources[row]

    @cached_property
    def _told_mss(self) -> Table:
        """What SYNs told each flow of, the smaller of two, below 1 if nothing."""
        places = self._flows[:, F_SIDE]
        own, peer = (self._state.sides[at, TOLD_MSS] for at in (places, places ^ 1))
        both = np.minimum(own, peer)
        told: Table = np.where(both > 0, both, np.maximum(own, peer))
        return told

    @cached_property
    def _mss(self) -> Table:
        options = self._flows[:, OPTIONS_0 : OPTIONS_0 + OPTION_WORDS].argmax(axis=1)
        mss: Table = np.maximum(1, self._told_mss - _WORD_OPTIONS * options)
        for row in np.flatnonzero(self._told_mss <= 0).tolist():
            mss[row] = infer_mss(*self._sizes.distinct(row))
        return mss

    @cached_property
    def _mss_sources(self) -> Sequence[MssSource]:
        told = (self._told_mss > 0).tolist()
        return [MssSource.SYN if each else MssSource.INFERRED for each in told]

    @cached_property
    def _names(self) -> Sequence[Flow]:
        return _named(self._state, self._flows[:, F_SIDE])

    @cached_property
    def _inferred(self) -> Inferred:
        places = self._flows[:, F_SIDE]
        return infer_vantages(self._state.sides[places], self._state.sides[places ^ 1])

    @cached_property
    def _tso_visible(self) -> Sequence[bool | None]:
        sizes = self._sizes
        larger = sizes.largest() > self._mss
        many = sizes.often(self._mss) >= _ENOUGH
        choice = (True, False, None)
        return [choice[each] for each in np.where(larger, 0, 2 - many).tolist()]

    @cached_property
    def _errors(self) -> Sequence[Mapping[str, float]]:
        # Few flows differ in it, so each kind is made once.
        every = {
            name: precisions(self._state.pool, self._flows[:, column])
            for name, column in _TALLIES.items()
        }
        packed = np.zeros(len(self), np.int64)
        for bits in every.values():
            packed = packed << PRECISION_BITS | bits
        _, first, kind = np.unique(packed, return_index=True, return_inverse=True)
        errors = [
            {name: 2.0 ** -int(bits[row]) for name, bits in every.items() if bits[row]}
            for row in first.tolist()
        ]
        return [errors[each] for each in kind.tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What a capture says. packets: in the file, of any kind.

    skipped: packets that are in no flow because they could not be read, by reason.
    dropped: packets that the capture lost, None when the file does not tell.
    warnings: what is wrong with the file.  traces: the packets of each flow, if the
    series was asked for.
    """

    file: str
    packets: int
    skipped: Mapping[str, int]
    dropped: int | None
    warnings: tuple[str, ...]
    flows: Flows
    traces: tuple[Trace, ...]


def inspect(path: Path, options: Options | None = None) -> Inspection:
    """Read a capture; "-" is stdin. Raises CaptureError when it is none.

    A file that is cut or damaged later on yields what came before, and a warning.
    """
    chosen = options or Options()
    with opened(path) as source:
        told, state = followed(source, chosen)
    return _inspection(str(path), told, state, chosen)


def inspect_bytes(data: bytes, name: str, options: Options | None = None) -> Inspection:
    """Read a capture from bytes. name: the file's, for what is said about it."""
    chosen = options or Options()
    with Source(io.BytesIO(data), name) as source:
        told, state = followed(source, chosen)
    return _inspection(name, told, state, chosen)


def _inspection(name: str, told: Told, state: State, options: Options) -> Inspection:
    flows = Flows(state, options.burst_ns)
    return Inspection(
        file=name,
        packets=told.packets,
        skipped=dict(told.skipped),
        dropped=told.dropped,
        warnings=tuple(told.warnings),
        flows=flows,
        traces=traces(state, flows) if options.series else (),
    )


def _named(state: State, places: Table) -> Sequence[Flow]:
    """Return the flows that sides are; sides from the lower endpoint are even."""
    rows = state.connections[state.sides[places, S_CONNECTION]]
    ports, address = rows[:, PORTS], lru_cache(1 << 10)(_address)
    family = (ports >> _FAMILY_SHIFT).tolist()
    lows = map(address, family, rows[:, LOW_HIGH].tolist(), rows[:, LOW].tolist())
    highs = map(address, family, rows[:, HIGH_HIGH].tolist(), rows[:, HIGH].tolist())
    low_ports = (ports >> _PORT_BITS & _PORT).tolist()
    high_ports = (ports & _PORT).tolist()
    ends = zip(places.tolist(), lows, low_ports, highs, high_ports, strict=True)
    return [
        Flow(high, high_port, low, low_port)
        if place & 1
        else Flow(low, low_port, high, high_port)
        for place, low, low_port, high, high_port in ends
    ]


def _ends(flow: Flow) -> tuple[str, ...]:
    return (
        *(flow.src, f"{flow.src}:{flow.sport}"),
        *(flow.dst, f"{flow.dst}:{flow.dport}"),
    )


def _address(family: int, high: int, low: int) -> str:
    if family == IPV4:
        return socket.inet_ntoa(low.to_bytes(4, "big"))
    return str(ipaddress.IPv6Address((high & _WORD_64) << 64 | (low & _WORD_64)))
