"""Read pcapng: sections in either byte order, interfaces with any clock resolution.

Kernels walk over the packets; blocks that tell of the capture are read here. Start with
blocks.

Source: draft-ietf-opsawg-pcapng; section numbers below are that document's.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from testbed.errors import CaptureError
from testbed.trace import pcapng, walk
from testbed.trace.jit import Table
from testbed.trace.pcapng import Block, InterfaceOption, StatisticsOption
from testbed.trace.records import LARGEST, Told, fault, room
from testbed.trace.source import Source
from testbed.trace.walk import PAUSED, TOLD, walk_pcapng
from testbed.units import NS_PER_S

MAGIC = Block.SECTION.to_bytes(4, "little")

_WORD = 4
_SHORTEST_BLOCK = walk.SHORTEST_BLOCK
_SHORTEST_SECTION = 28
_SHORTEST_INTERFACE = 20
_SHORTEST_STATISTICS = 24
_UNREADABLE_LINK = 0xFFFF
_LONGEST_INTEGER = 8
_OFFSET_LIMIT = 1 << 31  # s
_BINARY = 0x80  # if_tsresol: a power of two, not of ten
_MICROSECONDS = b"\x06"  # of an interface that names no resolution
_LARGEST_POWER, _LARGEST_SHIFT = 18, 95

REASONS = {
    walk.BAD_BLOCK: "damaged packet block",
    walk.BAD_INTERFACE: "packet of an unknown interface",
    walk.BAD_TIME: "time out of range",
    walk.BEYOND: f"packet of an interface after the first {walk.MOST_INTERFACES}",
}


@dataclass(slots=True, kw_only=True)
class _Section:
    """The section that is being read. lost: packets, by interface that tells."""

    order: str
    interfaces: Table = field(
        default_factory=lambda: np.zeros((4, walk.INTERFACE_COLUMNS), np.int64)
    )
    known: int = 0
    lost: dict[int, int] = field(default_factory=dict)

    @property
    def big(self) -> int:
        """Return 1 if its numbers are big endian, else 0."""
        return int(self.order == ">")

    def describe(self, row: tuple[int, ...]) -> None:
        """Add an interface."""
        if self.known == len(self.interfaces):
            self.interfaces = np.concatenate([self.interfaces, self.interfaces])
        self.interfaces[self.known] = row
        self.known += 1


def blocks(source: Source, told: Told) -> Iterator[Table]:
    """Yield the records of a file that begins with MAGIC.

    Raises CaptureError when not even the first section header can be read.
    """
    return _records(source, told, _section(source))


def _records(source: Source, told: Told, first: _Section) -> Iterator[Table]:
    section: _Section | None = first
    records = room()
    skips = np.zeros(walk.WALK_REASONS, np.int64)
    while section is not None:
        rows, source.at, why = walk_pcapng(
            source.data,
            (source.at, source.end),
            section.big,
            section.interfaces[: section.known],
            records,
            skips,
        )
        if rows:
            told.packets += rows
            yield records[:rows]
        if why != PAUSED or rows < len(records):
            section = _after(source, told, section, why)
    for reason, text in REASONS.items():
        if skips[reason]:
            told.skipped[text] += int(skips[reason])
            told.packets += int(skips[reason])
    if skips[walk.UNTIMED]:
        told.warnings.append(
            f"{source.name}: {skips[walk.UNTIMED]} packets carry no time"
        )


def _after(source: Source, told: Told, section: _Section, why: int) -> _Section | None:
    """Have what the walk stopped at in the window, and read it if it is no packet.

    Returns the section that goes on behind it, None if nothing does.
    """
    if source.need(_WORD) and source.take(_WORD) == MAGIC:
        _close(told, section)
        try:
            return _section(source)
        except CaptureError as error:
            told.warnings.append(str(error))
            return None
    trouble = _trouble(source, section)
    if not trouble and source.end - source.at:
        if why == TOLD:
            _tell(source, told, section)
        return section
    if trouble:
        told.warnings.append(trouble)
    _close(told, section)
    return None


def _trouble(source: Source, section: _Section) -> str:
    """Have the next block in the window; say what is wrong with it, or nothing."""
    whole = source.need(_SHORTEST_BLOCK)
    left = source.end - source.at
    if not whole:
        if not left:
            return ""
        wanted, got = "a whole block", f"{left} bytes"
        return fault(source.name, source.position, wanted=wanted, got=got)
    (length,) = struct.unpack_from(section.order + "4xI", source.take(_SHORTEST_BLOCK))
    size = length - length % _WORD
    if length <= LARGEST and not source.need(size):
        wanted, got = f"a block of {length} bytes", f"{source.end - source.at} bytes"
        return fault(source.name, source.position, wanted=wanted, got=got)
    trailer = (
        source.take(size)[-_WORD:] if _SHORTEST_BLOCK <= length <= LARGEST else b""
    )
    if trailer == struct.pack(section.order + "I", length):
        return ""
    wanted = "a block with its length before and after it"
    got = f"a damaged one of {length} bytes"
    return fault(source.name, source.position, wanted=wanted, got=got)


def _section(source: Source) -> _Section:
    """Read the section header block that stands here, and step over it."""
    source.need(_SHORTEST_SECTION)
    name, at = source.name, source.position
    head = source.take(min(_SHORTEST_SECTION, source.end - source.at))
    if len(head) < _SHORTEST_SECTION or head[:4] != MAGIC:
        wanted, got = "a section header block", head.hex(" ") or "the end"
        raise CaptureError(fault(name, at, wanted=wanted, got=got))
    order = "<" if head[8:12] == pcapng.BYTE_ORDER_MAGIC.to_bytes(4, "little") else ">"
    length, magic, major = struct.unpack_from(order + "4xIIH", head)
    if magic != pcapng.BYTE_ORDER_MAGIC:
        wanted, got = "the byte order magic 1a2b3c4d", head[8:12].hex()
        raise CaptureError(fault(name, at + 8, wanted=wanted, got=got))
    if major != 1:
        raise CaptureError(fault(name, at + 12, wanted="version 1", got=str(major)))
    fits = _SHORTEST_SECTION <= length <= LARGEST and not length % _WORD
    if not fits or not source.need(length) or source.take(length)[-4:] != head[4:8]:
        wanted, got = "a whole section header block", f"one of {length} bytes"
        raise CaptureError(fault(name, at + 4, wanted=wanted, got=got))
    source.at += length
    return _Section(order=order)


def _tell(source: Source, told: Told, section: _Section) -> None:
    """Read a block that tells of an interface, and step over it."""
    kind, length = struct.unpack_from(section.order + "II", source.take(2 * _WORD))
    block = source.take(length - length % _WORD)
    source.at += len(block)
    if kind == Block.STATISTICS:
        _lost(section, block)
    elif section.known < walk.MOST_INTERFACES:
        described = _describe(section, block)
        if told.vantage is None:
            told.vantage = described


def _describe(section: _Section, block: bytes) -> str:
    """Add an interface to its section; return what it says of itself (section 4.2)."""
    link, snaplen = _UNREADABLE_LINK, 0
    if len(block) >= _SHORTEST_INTERFACE:
        link, snaplen = struct.unpack_from(section.order + "HxxI", block, 2 * _WORD)
    options = _options(section, block, fixed=_SHORTEST_INTERFACE)
    offset_s = _integer(
        section, options.get(InterfaceOption.TSOFFSET, b""), signed=True
    )
    mode, number = _clock(options.get(InterfaceOption.TSRESOL) or _MICROSECONDS)
    if abs(offset_s) >= _OFFSET_LIMIT:
        mode, offset_s = walk.NO_TIME, 0
    section.describe((link, snaplen, mode, number, offset_s * NS_PER_S))
    comment = options.get(pcapng.COMMENT, b"")
    return options.get(InterfaceOption.DESCRIPTION, comment).decode(errors="replace")


def _clock(resolution: bytes) -> tuple[int, int]:
    """Return how a tick becomes nanoseconds; see walk.py."""
    exponent = resolution[0] & ~_BINARY
    if resolution[0] & _BINARY:
        return walk.BINARY, min(exponent, _LARGEST_SHIFT)
    power = exponent - pcapng.NANOSECONDS
    if power <= 0:
        return walk.TIMES, int(10**-power)
    return walk.OVER_TWICE, int(10 ** min(power, _LARGEST_POWER) // 2)


def _options(section: _Section, block: bytes, *, fixed: int) -> dict[int, bytes]:
    """Return a block's options, the last of each code, as far as they can be read.

    fixed: bytes the block has without options.
    """
    options: dict[int, bytes] = {}
    head = struct.Struct(section.order + "HH")
    at, end = fixed - _WORD, len(block) - _WORD
    while at + head.size <= end:
        code, length = head.unpack_from(block, at)
        at += head.size
        if code == pcapng.END_OF_OPTIONS or at + length > end:
            break
        options[code] = block[at : at + length]
        at += length + -length % _WORD
    return options


def _integer(section: _Section, value: bytes, *, signed: bool) -> int:
    order: Literal["little", "big"] = "big" if section.big else "little"
    return int.from_bytes(value[:_LONGEST_INTEGER], order, signed=signed)


def _lost(section: _Section, block: bytes) -> None:
    """Learn how many packets an interface lost (section 4.6); counts are cumulative."""
    if len(block) < _SHORTEST_STATISTICS:
        return
    options = _options(section, block, fixed=_SHORTEST_STATISTICS)
    told = [
        _integer(section, options[code], signed=False)
        for code in (StatisticsOption.IFDROP, StatisticsOption.OSDROP)
        if code in options
    ]
    (interface,) = struct.unpack_from(section.order + "I", block, 2 * _WORD)
    if told and interface < walk.MOST_INTERFACES:
        section.lost[interface] = sum(told)


def _close(told: Told, section: _Section) -> None:
    """Add what a section told when there is no more of it."""
    if section.lost:
        told.dropped = (told.dropped or 0) + sum(section.lost.values())
