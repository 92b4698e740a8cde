"""Packets to capture files at random: any format, link type and compression.

What a capture does to a packet (a coarser clock, a snaplen that cuts the headers) is
told back, so that a test knows what can still be seen. Start with dressed.
"""

import gzip
import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import zstandard

from tests.trace.frames import ETHERNET, LINKS, Frame, framed, noise
from tests.trace.oracle import Seen

_NS = 1_000_000_000
_FIRST_NS = 1_500_000_000 * _NS
_PICO = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Dressed:
    """A capture file. seen: the TCP packets that can be seen in it, in file order.

    records: packets of any kind.  timed: whether every packet has a time of its own,
    none before the one in front of it.
    """

    data: bytes
    seen: tuple[Seen, ...]
    records: int
    timed: bool = True
    what: str = ""


def _times(random: Random, count: int) -> Iterator[int]:
    now = _FIRST_NS + random.randrange(_NS)
    for _ in range(count):
        now += random.choice((1000, 1001, 1700, 12_345, 1_000_000, 40_000_000, _NS))
        yield now


def _ordered(seen: Sequence[Seen]) -> bool:
    times = [one.time_ns for one in seen]
    return times == sorted(times)


def _mixed(random: Random, packets: Sequence[Seen]) -> list[Seen | None]:
    """Put noise among the packets: None stands for it."""
    mixed: list[Seen | None] = []
    for packet in packets:
        mixed += [None] if random.random() < 0.05 else []
        mixed.append(packet)
    return mixed


def _frame(random: Random, link: int, packet: Seen | None) -> Frame:
    return noise(random, link) if packet is None else framed(random, link, packet)


def pcap(random: Random, packets: Sequence[Seen]) -> Dressed:
    """Write a pcap, in either byte order, in micro- or nanoseconds."""
    order = random.choice("<>")
    magic, unit = random.choice(((0xA1B2C3D4, 1000), (0xA1B23C4D, 1)))
    link = random.choice(list(LINKS))
    snaplen = random.choice((0, 0, 40, 60, 68, 80, 96, 128, 262_144))
    told = random.choice((snaplen, 65_535, 1 << 31))
    out = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, told, link)]
    mixed = _mixed(random, packets)
    seen = []
    for packet, now in zip(mixed, _times(random, len(mixed)), strict=True):
        frame = _frame(random, link, packet)
        frame = frame.cut(snaplen or len(frame.data)).at(now // unit * unit)
        ticks = now % _NS // unit
        sizes = len(frame.data), frame.wire
        out.append(struct.pack(order + "IIII", now // _NS, ticks, *sizes) + frame.data)
        seen += [frame.seen] if frame.seen else []
    what = f"pcap {order} {unit} link {link} snaplen {snaplen}"
    return Dressed(
        data=b"".join(out),
        seen=tuple(seen),
        records=len(mixed),
        timed=_ordered(seen),
        what=what,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    link: int
    snaplen: int
    resolution: int | None
    offset_s: int

    @property
    def ticks_per_s(self) -> int:
        if self.resolution is None:
            return 1_000_000
        power = self.resolution & 0x7F
        return int(2**power if self.resolution & 0x80 else 10**power)

    def ticks(self, time_ns: int) -> int:
        return (time_ns - self.offset_s * _NS) * self.ticks_per_s // _NS

    def time_ns(self, ticks: int) -> int:
        return ticks * _NS // self.ticks_per_s + self.offset_s * _NS


class _Section:
    """One section of a pcapng, being written."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.order = random.choice("<>")
        self.out = io.BytesIO()
        self.interfaces: list[_Interface] = []
        for _ in range(random.choice((1, 1, 2, 3))):
            self.describe()

    def block(self, kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(self.order + "I", len(body) + 12)
        return struct.pack(self.order + "I", kind) + size + body + size

    def option(self, code: int, value: bytes) -> bytes:
        head = struct.pack(self.order + "HH", code, len(value))
        return head + value + bytes(-len(value) % 4)

    def describe(self) -> None:
        random = self.random
        resolution = random.choice((None, 6, 9, 9, 7, 0x80 | 20, 0x80 | 30, _PICO))
        offset_s = random.choice((0, 0, 0, 1_000_000_000, -5))
        one = _Interface(
            link=random.choice((ETHERNET, ETHERNET, *LINKS)),
            snaplen=random.choice((0, 0, 60, 80, 128, 262_144)),
            resolution=resolution,
            # 64 bits of picoseconds are 213 days.
            offset_s=_FIRST_NS // _NS if resolution == _PICO else offset_s,
        )
        options = self.option(2, b"eth0")
        if one.resolution is not None:
            options += self.option(9, bytes([one.resolution]))
        if one.offset_s:
            options += self.option(14, struct.pack(self.order + "q", one.offset_s))
        options += self.option(0, b"") if options else b""
        head = struct.pack(self.order + "HHI", one.link, 0, one.snaplen)
        self.out.write(self.block(1, head + options))
        self.interfaces.append(one)

    def enhanced(self, packet: Seen | None, now: int) -> Frame:
        which = self.random.randrange(len(self.interfaces))
        one = self.interfaces[which]
        frame = _frame(self.random, one.link, packet)
        frame = frame.cut(one.snaplen or len(frame.data))
        ticks = one.ticks(now)
        stamp = ticks >> 32, ticks & 0xFFFF_FFFF
        sizes = len(frame.data), frame.wire
        head = struct.pack(self.order + "IIIII", which, *stamp, *sizes)
        body = head + frame.data + bytes(-len(frame.data) % 4) + self._flags()
        self.out.write(self.block(6, body))
        return frame.at(one.time_ns(ticks))

    def _flags(self) -> bytes:
        if self.random.random() < 0.5:
            return b""
        comment = self.option(1, b"seen") if self.random.random() < 0.2 else b""
        flags = struct.pack(self.order + "I", self.random.randrange(4))
        return comment + self.option(2, flags) + self.option(0, b"")

    def simple(self, packet: Seen | None) -> Frame | None:
        """Write a packet without time or interface: it is whole, or cut at the snaplen.

        Not written, and None returned, where the frame has less than that.
        """
        one = self.interfaces[0]
        frame = _frame(self.random, one.link, packet)
        captured = min(frame.wire, one.snaplen or frame.wire)
        if captured > len(frame.data):
            return None
        frame = frame.cut(captured)
        if len(frame.data) != captured:
            return None
        wire = struct.pack(self.order + "I", frame.wire)
        self.out.write(self.block(3, wire + frame.data))
        return frame.at(0)

    def other(self) -> None:
        """Write a block that says nothing about packets."""
        junk = self.random.randbytes(4 * self.random.randrange(9))
        number = struct.pack(self.order + "I", 32_473)  # of an example (RFC 5612)
        kind, body = self.random.choice(
            ((4, bytes(4)), (0x0BAD, number + junk), (1 << 31, junk), (5, bytes(12)))
        )
        self.out.write(self.block(kind, body))

    def written(self) -> bytes:
        """Return the whole section, its length told or not."""
        size = self.random.choice((len(self.out.getvalue()), -1))
        head = struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, size)
        return self.block(0x0A0D0D0A, head) + self.out.getvalue()


def pcapng(random: Random, packets: Sequence[Seen]) -> Dressed:
    """Write a pcapng of one or several sections."""
    mixed = _mixed(random, packets)
    section, written = _Section(random), b""
    seen: list[Seen] = []
    simple, records = random.random() < 0.15, 0
    for packet, now in zip(mixed, _times(random, len(mixed)), strict=True):
        if random.random() < 0.05:
            section.other()
        if random.random() < 0.02:
            section.describe()
        if random.random() < 0.02:
            written += section.written()
            section = _Section(random)
        frame = None
        if simple and random.random() < 0.5:
            frame = section.simple(packet)
        frame = frame or section.enhanced(packet, now)
        records += 1
        seen += [frame.seen] if frame.seen else []
    return Dressed(
        data=written + section.written(),
        seen=tuple(seen),
        records=records,
        timed=not simple and _ordered(seen),
        what="pcapng",
    )


def _compressed(random: Random, data: bytes) -> tuple[bytes, str]:
    how = random.choice(("plain", "plain", "gzip", "zstd"))
    if how == "gzip":
        half = len(data) // 2 if random.random() < 0.3 else len(data)
        parts = data[:half], data[half:]
        return b"".join(gzip.compress(part, 1) for part in parts if part), how
    if how == "zstd":
        return zstandard.ZstdCompressor(level=1).compress(data), how
    return data, how


def dressed(random: Random, packets: Sequence[Seen]) -> Dressed:
    """Return the packets as a capture file of a random kind."""
    made = random.choice((pcap, pcapng))(random, packets)
    data, how = _compressed(random, made.data)
    return replace(made, data=data, what=f"{made.what} {how}")
