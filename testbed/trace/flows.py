"""Packets to Traces: which packets belong together, and where each byte stands.

Definitions that are decided here:

- A connection is the packets between two (address, port) pairs. A SYN with a new
  initial sequence number after a FIN or an RST begins another; the same SYN again, or a
  SYN out of place, does not.
- Sequence 0 is the byte after the SYN, from the flow's own SYN or else from what the
  SYN-ACK of the other side acknowledges; with neither, the first byte of payload seen.
- A keepalive (one byte at snd_nxt - 1, already acknowledged) is no data anywhere;
  snd_nxt is the highest sequence seen or acknowledged before it.
- The mss is the smaller of the MSS options of the SYNs seen, less the TCP option bytes
  that most data packets carry.

Start with traces.
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from testbed.trace.mss import infer_mss
from testbed.trace.packets import ABSENT, ACK, FIN, RST, SYN, Headers, Mask, Packets
from testbed.trace.pairs import PairBook
from testbed.trace.trace import Column, Flow, MssSource, Trace

_PORT_BITS = 16
_CHUNK = 1 << 14  # packets numbered together
_FEW = 1 << 16  # numbers of 16 bits sort in linear time
_BEFORE_ALL = -(1 << 62)  # below every sequence number


def traces(packets: Packets) -> tuple[Trace, ...]:
    """Return a trace for each direction that carried payload, by its first packet."""
    if not len(packets.headers):
        return ()
    number = _connection_numbers(packets.headers)
    rows = _grouped(number)
    headers = packets.headers.take(rows)
    forward = _forward(headers)
    every = _Sides(rows=rows, headers=headers, forward=forward)
    found: list[tuple[int, Trace]] = []
    for connection in _loaded(number, packets.headers.length):
        sides = every.take(connection)
        for part in _incarnations(sides.headers, sides.forward):
            found += _directions(sides.take(part), packets.addresses)
    return tuple(trace for _, trace in sorted(found, key=lambda one: one[0]))


def _endpoints(headers: Headers) -> tuple[Column, Column]:
    return (
        headers.src << _PORT_BITS | headers.sport,
        headers.dst << _PORT_BITS | headers.dport,
    )


def _forward(headers: Headers) -> Mask:
    """Say which packets go from a connection's lower endpoint to its higher one."""
    source, target = _endpoints(headers)
    forward: Mask = source <= target
    return forward


def _grouped(number: Column) -> Column:
    """Return all rows, connection by connection, each in file order."""
    if number.max() < _FEW:
        return np.argsort(number.astype(np.uint16), kind="stable")
    return np.argsort(number, kind="stable")


def _loaded(number: Column, length: Column) -> Iterator[slice]:
    """Yield where among the grouped rows each connection with payload stands."""
    # A sum of lengths beyond 2**53 is inexact, but never 0.
    loaded = np.bincount(number, weights=length) > 0
    ends = np.cumsum(np.bincount(number)).tolist()
    for which in np.flatnonzero(loaded).tolist():
        yield slice(ends[which - 1] if which else 0, ends[which])


def _connection_numbers(headers: Headers) -> Column:
    source, target = _endpoints(headers)
    low = np.minimum(source, target).astype(np.uint64)
    high = np.maximum(source, target).astype(np.uint64)
    unused = itertools.count()
    book = PairBook(lambda _low, _high: next(unused))
    starts = range(0, len(low), _CHUNK)
    parts = (slice(start, start + _CHUNK) for start in starts)
    return np.concatenate([book.numbers(low[part], high[part]) for part in parts])


def _incarnations(headers: Headers, forward: Mask) -> Iterator[slice]:
    """Yield the rows of each connection that used the same addresses and ports."""
    closings = np.flatnonzero(headers.has(FIN | RST)).tolist()
    syns = np.flatnonzero(headers.has(SYN)).tolist()
    start = 0
    isn: dict[bool, int] = {}
    for row in syns if closings else ():
        side, seq = bool(forward[row]), int(headers.seq[row])
        known = isn.get(side, _answered(headers, row, isn.get(not side)))
        if bisect_left(closings, start) < bisect_left(closings, row) and known != seq:
            yield slice(start, row)
            start, isn = row, {}
        isn.setdefault(side, seq)
    yield slice(start, len(headers))


def _answered(headers: Headers, row: int, isn: int | None) -> int | None:
    """Return a SYN-ACK's own ISN if it answers the SYN with the given one."""
    answers = headers.flags[row] & ACK and isn is not None
    if answers and int(headers.ack[row]) == _following(isn):
        return int(headers.seq[row])
    return None


def _following(seq: int | None) -> int | None:
    return None if seq is None else (seq + 1) & 0xFFFF_FFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Packets of both directions. rows: in the capture, to tell which came first."""

    rows: Column
    headers: Headers
    forward: Mask

    def take(self, part: slice) -> "_Sides":
        """Return some of the packets."""
        return _Sides(
            rows=self.rows[part],
            headers=self.headers.take(part),
            forward=self.forward[part],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The packets of one direction, and their rows in the capture."""

    rows: Column
    headers: Headers

    def option(self, values: Column) -> int:
        """Return the first SYN's value of an option, ABSENT if there is none."""
        told = values[values != ABSENT]
        return int(told[0]) if len(told) else ABSENT


def _directions(
    sides: _Sides, addresses: tuple[str, ...]
) -> Iterator[tuple[int, Trace]]:
    """Yield the traces of a connection, each with the row of its first packet."""
    syns = sides.headers.time_ns[sides.headers.has(SYN)]
    syn_time_ns = int(syns[0]) if len(syns) else None
    one = _side(sides, sides.forward)
    other = _side(sides, ~sides.forward)
    for own, peer in ((one, other), (other, one)):
        if own.headers.length.any():
            trace = _trace(own, peer, _flow(own.headers, addresses), syn_time_ns)
            if len(trace.length):
                yield int(own.rows[0]), trace


def _side(sides: _Sides, which: Mask) -> _Side:
    return _Side(rows=sides.rows[which], headers=sides.headers.take(which))


def _flow(headers: Headers, addresses: tuple[str, ...]) -> Flow:
    return Flow(
        src=addresses[headers.src[0]],
        sport=int(headers.sport[0]),
        dst=addresses[headers.dst[0]],
        dport=int(headers.dport[0]),
    )


def _trace(own: _Side, peer: _Side, flow: Flow, syn_time_ns: int | None) -> Trace:
    """Return one direction's trace, which holds no data if all of it was keepalives."""
    isn = _isn(own.headers, peer.headers)
    loaded = own.headers.length > 0
    start = _following(isn)
    if start is None:
        start = int(own.headers.seq[np.argmax(loaded)])
    seq, fin = _sequence(own.headers, start)
    acks = peer.headers.has(ACK)
    ack = np.minimum(_unwrapped(peer.headers.ack[acks], start), fin)
    length = own.headers.length[loaded]
    kept = ~_keepalives(
        seq, length, own.rows[loaded], ack=ack, ack_rows=peer.rows[acks]
    )
    seq, length, data = seq[kept], length[kept], np.flatnonzero(loaded)[kept]
    base = 0 if isn is not None or not len(seq) else int(seq[0])
    mss, source = _mss(length, own.headers.option_bytes[data], own, peer)
    return Trace(
        flow=flow,
        mss=mss,
        time_ns=own.headers.time_ns[data],
        seq=seq - base,
        length=length,
        ack_time_ns=peer.headers.time_ns[acks],
        ack=ack - base,
        ack_window=_windows(own, peer)[acks],
        mss_source=source,
        syn_time_ns=syn_time_ns,
        start_known=isn is not None,
    )


def _isn(own: Headers, peer: Headers) -> int | None:
    """Return a direction's initial sequence number, None if no SYN tells it.

    A SYN that comes after payload is out of place, and tells nothing.
    """
    until_data = slice(int(np.argmax(own.length > 0)) + 1)
    sent = own.seq[until_data][own.has(SYN)[until_data]]
    if len(sent):
        return int(sent[-1])
    answered = peer.ack[peer.has(SYN) & peer.has(ACK)]
    return (int(answered[0]) - 1) & 0xFFFF_FFFF if len(answered) else None


def _sequence(own: Headers, start: int) -> tuple[Column, int]:
    """Return where the payload of each data packet begins, and where all of it ends.

    The end is known from the FIN, and beyond every sequence without one.
    """
    fins = own.has(FIN)
    loaded = own.length > 0
    which = loaded | fins
    first = own.seq[which] + own.has(SYN)[which]
    seq = _unwrapped(first, start)
    ends = (seq + own.length[which])[fins[which]]
    return seq[loaded[which]], int(ends.max()) if len(ends) else -_BEFORE_ALL


def _unwrapped(values: Column, start: int) -> Column:
    """Return 32-bit numbers as distances from start.

    Each is taken to be the one nearest to the number before it, so the 32-bit field may
    wrap any number of times.
    """
    steps = np.diff(values, prepend=start).astype(np.int32)
    return np.cumsum(steps, dtype=np.int64)


def _keepalives(
    seq: Column, length: Column, rows: Column, *, ack: Column, ack_rows: Column
) -> Mask:
    single = length == 1
    if not single.any() or not len(ack):
        return np.zeros(len(seq), np.bool_)
    end = seq + length
    highest = np.maximum.accumulate(end)
    sent = np.concatenate([[_BEFORE_ALL], highest[:-1]])
    acknowledged = np.concatenate([[_BEFORE_ALL], np.maximum.accumulate(ack)])
    acked = acknowledged[np.searchsorted(ack_rows, rows)]
    alive: Mask = single & (end <= acked) & (end == np.maximum(sent, acked))
    return alive


def _mss(
    length: Column, option_bytes: Column, own: _Side, peer: _Side
) -> tuple[int, MssSource]:
    if not len(length):
        return 1, MssSource.INFERRED
    told = (own.option(own.headers.mss), peer.option(peer.headers.mss))
    options = [mss for mss in told if mss != ABSENT]
    if not options:
        return infer_mss(length), MssSource.INFERRED
    usual = int(np.bincount(option_bytes).argmax())
    return max(1, min(options) - usual), MssSource.SYN


def _windows(own: _Side, peer: _Side) -> Column:
    """Return the peer's windows in bytes; a SYN's own is never scaled (RFC 7323)."""
    shift = peer.option(peer.headers.wscale)
    if ABSENT in {shift, own.option(own.headers.wscale)}:
        return peer.headers.window
    return peer.headers.window << np.where(peer.headers.has(SYN), 0, shift)
