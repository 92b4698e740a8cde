"""What `inspect` must say of TCP packets: an independent account, slow and obvious.

Straight from the definitions (issue 5; for rtt, testbed.trace.metrics' docstring), one
packet at a time in plain Python. It shares no code with testbed, and must not: tests
hold the engine against it. Start with flows_of.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

FIN, SYN, RST, ACK = 1, 2, 4, 16
_WRAP = 1 << 32

End = tuple[str, int]
Name = tuple[str, int, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One TCP packet as captured: seq, ack as on the wire; mss: its option, if any."""

    time_ns: int
    src: str
    sport: int
    dst: str
    dport: int
    seq: int
    ack: int = 0
    flags: int = ACK
    length: int = 0
    option_bytes: int = 0
    mss: int | None = None

    @property
    def source(self) -> End:
        return self.src, self.sport

    @property
    def target(self) -> End:
        return self.dst, self.dport

    def has(self, flag: int) -> bool:
        return bool(self.flags & flag)


@dataclass(slots=True, kw_only=True)
class Told:
    """What is to be said of one flow. mss: None where it has to be inferred.

    newly: payload bytes newly acknowledged by each ACK that advances.
    """

    name: Name
    mss: int | None
    tso_size: list[int] = field(default_factory=list)
    newly: list[int] = field(default_factory=list)
    send_gap: list[int] = field(default_factory=list)
    rtt: list[int] = field(default_factory=list)
    retransmits: int = 0

    def samples(self, mss: int) -> dict[str, list[int]]:
        return {
            "tso_size": self.tso_size,
            "tso_segs": [-(-size // mss) for size in self.tso_size],
            "ack_stretch": [-(-newly // mss) for newly in self.newly],
            "send_gap": self.send_gap,
            "rtt": self.rtt,
        }


def summary(samples: list[int]) -> dict[str, float | int | None]:
    """Return n, mean and the quantiles, each the nearest rank at or above."""
    n = len(samples)
    if not n:
        return {"n": 0, **dict.fromkeys(("mean", "p50", "p90", "p99", "max"))}
    ranked = sorted(samples)
    at = {f"p{share}": ranked[-(-n * share // 100) - 1] for share in (50, 90, 99)}
    return {"n": n, "mean": float(Fraction(sum(samples), n)), **at, "max": ranked[-1]}


def flows_of(packets: Iterable[Seen]) -> list[Told]:
    """Return every flow with payload."""
    connections: dict[frozenset[End], list[Seen]] = defaultdict(list)
    for packet in packets:
        connections[frozenset((packet.source, packet.target))].append(packet)
    told = []
    for connection in connections.values():
        for part in _incarnations(connection):
            for end in dict.fromkeys(packet.source for packet in part):
                flow = _Flow(end, part).told()
                told += [flow] if flow.tso_size else []
    return told


def _incarnations(packets: list[Seen]) -> Iterator[list[Seen]]:
    """A SYN with a new ISN after FIN or RST starts a new flow."""
    part: list[Seen] = []
    isn: dict[End, int] = {}
    closed = False
    for packet in packets:
        if packet.has(SYN):
            new = isn.get(packet.source) != packet.seq
            if closed and new and not _answers(packet, isn):
                yield part
                part, isn, closed = [], {}, False
            isn.setdefault(packet.source, packet.seq)
        closed = closed or packet.has(FIN | RST)
        part.append(packet)
    yield part


def _answers(packet: Seen, isn: dict[End, int]) -> bool:
    """Say whether it is the SYN-ACK of a SYN that this flow already has."""
    asked = isn.get(packet.target)
    return (
        packet.has(ACK)
        and packet.source not in isn
        and asked is not None
        and packet.ack == (asked + 1) % _WRAP
    )


def _near(value: int, to: int) -> int:
    """Return the number that is value modulo 2**32 and nearest to another."""
    return to + (value - to + _WRAP // 2) % _WRAP - _WRAP // 2


class _Flow:
    """One direction of a connection. Positions count bytes; differences matter."""

    def __init__(self, end: End, packets: list[Seen]) -> None:
        self.end = end
        self.packets = packets
        self.start = self._start()
        self.at = self.start if self.start is not None else self._first_number()
        self.data: list[tuple[int, int, int]] = []  # row, first, end
        self.acks: list[tuple[int, int]] = []  # row, acknowledged up to
        self.options: list[int] = []
        self.sent: int | None = None
        self.acked = self.start

    def told(self) -> Told:
        own = next(packet for packet in self.packets if packet.source == self.end)
        told = Told(name=(own.src, own.sport, own.dst, own.dport), mss=None)
        fin = self._fin()
        seq_at = ack_at = self.at
        for row, packet in enumerate(self.packets):
            if packet.source == self.end:
                seq_at = _near(packet.seq + packet.has(SYN), seq_at)
                self._send(row, packet, seq_at, told)
            elif packet.has(ACK):
                ack_at = _near(packet.ack, ack_at)
                self._acknowledge(
                    row, ack_at if fin is None else min(ack_at, fin), told
                )
        times = [self.packets[row].time_ns for row, _, _ in self.data]
        told.send_gap = [later - one for one, later in pairwise(times)]
        told.rtt = list(self._rtts())
        told.mss = self._mss()
        return told

    def _start(self) -> int | None:
        """Return the first payload byte's number, as far as a SYN tells it."""
        for packet in self.packets:
            if packet.source == self.end and packet.has(SYN):
                return packet.seq + 1
        for packet in self.packets:
            if packet.source != self.end and packet.has(SYN) and packet.has(ACK):
                return packet.ack
        return None

    def _first_number(self) -> int:
        for packet in self.packets:
            if packet.source == self.end:
                return packet.seq
            if packet.has(ACK):
                return packet.ack
        return 0

    def _fin(self) -> int | None:
        at = self.at
        for packet in self.packets:
            if packet.source == self.end:
                at = _near(packet.seq + packet.has(SYN), at)
                if packet.has(FIN):
                    return at + packet.length
        return None

    def _send(self, row: int, packet: Seen, first: int, told: Told) -> None:
        end = first + packet.length
        if not packet.length or self._is_keepalive(packet.length, end):
            return
        self.data.append((row, first, end))
        self.options.append(packet.option_bytes)
        told.tso_size.append(packet.length)
        if self.sent is not None and end <= self.sent:
            told.retransmits += 1
        self.sent = end if self.sent is None else max(self.sent, end)

    def _is_keepalive(self, length: int, end: int) -> bool:
        """At most a byte at snd_nxt - 1 that is already acknowledged."""
        if length > 1 or self.acked is None or not self.acks:
            return False
        snd_nxt = self.acked if self.sent is None else max(self.sent, self.acked)
        return end == snd_nxt and end <= self.acked

    def _acknowledge(self, row: int, ack: int, told: Told) -> None:
        self.acks.append((row, ack))
        if self.acked is None:
            self.acked = ack  # what was acknowledged before is not known
        elif ack > self.acked:
            told.newly.append(ack - self.acked)
            self.acked = ack

    def _rtts(self) -> Iterator[int]:
        """Time what was sent once: what was sent again in time may be what is acked."""
        highest: int | None = None
        for row, first, end in self.data:
            # What comes late may have been sent before, and lost before it passed here.
            late = highest is not None and first < highest
            highest = end if highest is None else max(highest, end)
            covering = next((at for at, ack in self.acks if ack >= end), row)
            others = (o for o in self.data if o[0] != row and o[0] < covering)
            again = any(begin < end and first < stop for _, begin, stop in others)
            if not late and not again and covering > row:
                yield self.packets[covering].time_ns - self.packets[row].time_ns

    def _mss(self) -> int | None:
        told: dict[End, int] = {}
        for packet in self.packets:
            if packet.has(SYN) and packet.mss:
                told.setdefault(packet.source, packet.mss)
        if not told or not self.options:
            return None
        counts = Counter(self.options)
        usual = min(counts, key=lambda size: (-counts[size], size))
        return max(1, min(told.values()) - usual)
