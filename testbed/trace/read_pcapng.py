"""Read pcapng: sections in either byte order, interfaces with any clock resolution.

No length in the file is trusted: a block that is damaged or cut ends the reading with a
warning, and what came before it stands. Start with read_pcapng; _leap has the only loop
over all blocks, everything else works on arrays of their positions.

Source: draft-ietf-opsawg-pcapng; section numbers below are that document's.
"""

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from testbed.errors import CaptureError
from testbed.trace import pcapng
from testbed.trace.pcapng import Block, Direction, InterfaceOption, StatisticsOption
from testbed.trace.records import Records, RecordTable, fault, joined
from testbed.trace.trace import Column
from testbed.units import NS_PER_S

MAGIC = Block.SECTION.to_bytes(4, "little")

_WORD = 4
_SHORTEST_BLOCK = 12  # type, length, length
_SHORTEST_SECTION = 28
_SHORTEST_INTERFACE = 20
_SHORTEST_STATISTICS = 24
_SHORTEST_ENHANCED = 32
_SHORTEST_SIMPLE = 16
_UNREADABLE_LINK = -1
_NOWHERE = 1 << 62  # the position of an interface that was never described
_DIRECTION_BITS = 3
_LONGEST_INTEGER = 8
_FIRST_LEAP, _LARGEST_LEAP = 1 << 6, 1 << 14  # blocks
_TIME_LIMIT = 1 << 62  # ns; a time beyond it (the year 2116) is damage
_OFFSET_LIMIT = 1 << 31  # s
_DEFAULT_TICKS_PER_S = 1_000_000  # of an interface that names no resolution
_BINARY = 0x80  # if_tsresol: a power of two, not of ten

BAD_TIME = "time out of range"
BAD_BLOCK = "damaged packet block"
BAD_INTERFACE = "packet of an unknown interface"
OBSOLETE = "obsolete packet block"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interface:
    """position: of its block, in words; packets of it come later.  offset_s: added."""

    position: int
    link: int
    snaplen: int
    ticks_per_s: int
    offset_s: int
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """The blocks of one section. words: the whole file as the section's integers."""

    data: bytes
    byte_order: str
    words: NDArray[np.uint32]
    position: Column
    kind: Column
    length: Column

    def of_kind(self, kind: Block, *, shortest: int) -> tuple[Column, Column]:
        """Return positions and lengths of the blocks of one kind that are whole."""
        rows = (self.kind == kind) & (self.length >= shortest)
        return self.position[rows], self.length[rows]

    def count(self, kind: Block) -> int:
        """Return how many blocks of a kind there are, whole or not."""
        return int(np.count_nonzero(self.kind == kind))

    def word(self, position: Column, which: int) -> Column:
        """Return one word of each block; its type is word 0."""
        return self.words[position + which].astype(np.int64)


def read_pcapng(data: bytes, name: str) -> Records:
    """Return the records of a file that begins with MAGIC.

    name: the file's, for what is said about it.  Raises CaptureError when not even the
    first section header can be read.
    """
    warnings: list[str] = []
    skipped: Counter[str] = Counter()
    tables: list[RecordTable] = []
    described: list[_Interface] = []
    losses: list[int] = []
    untimed = 0
    for section in _sections(data, name, warnings):
        interfaces = [*_interfaces(section)]
        described += interfaces
        pieces = _pieces(section)
        tables += [_packets(piece, interfaces, skipped) for piece in pieces]
        losses += _losses(section)
        untimed += section.count(Block.SIMPLE_PACKET)
    if untimed:
        warnings.append(f"{name}: {untimed} packets carry no time")
    return Records(
        data=data,
        table=joined(tables),
        skipped=dict(+skipped),
        warnings=tuple(warnings),
        vantage=described[0].description if described else "",
        dropped=sum(losses) if losses else None,
    )


def _sections(data: bytes, name: str, warnings: list[str]) -> Iterator[_Section]:
    views: dict[str, NDArray[np.uint32]] = {}
    at = 0
    while at < len(data):
        try:
            order, length = _section_header(data, at, name)
        except CaptureError as error:
            if not at:
                raise
            warnings.append(str(error))
            return
        if order not in views:
            whole = np.frombuffer(data, order + "u4", len(data) // _WORD)
            views[order] = whole.astype(np.uint32, copy=False)
        positions, end = _walk(views[order], (at + length) // _WORD)
        yield _section(data, order, views[order], positions)
        at = _WORD * end
        trouble = _trouble(data, order, views[order], at, name)
        if trouble:
            warnings.append(trouble)
            return


def _section_header(data: bytes, at: int, name: str) -> tuple[str, int]:
    """Return the byte order and the length of the section header that stands here."""
    head = data[at : at + _SHORTEST_SECTION]
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
    fits = _SHORTEST_SECTION <= length <= len(data) - at and not length % _WORD
    if not fits or data[at + length - _WORD : at + length] != head[4:8]:
        wanted, got = "a whole section header block", f"one of {length} bytes"
        raise CaptureError(fault(name, at + 4, wanted=wanted, got=got))
    return order, length


def _walk(words: NDArray[np.uint32], start: int) -> tuple[Column, int]:
    """Return where the blocks from start on stand, and where the last of them ends.

    All in words. Ends before the next section header, before the first block that is
    damaged or cut, or at the end of the file.
    """
    walked: list[Column] = []
    at, count = start, _FIRST_LEAP
    while at < len(words):
        position, after = _leap(words.data, at, count)
        sound = _sound(words, position)
        if not sound.all():
            broken = int(np.argmin(sound))
            walked.append(position[:broken])
            return np.concatenate(walked), int(position[broken])
        walked.append(position)
        # What lies behind a block that is not sound is walked in vain: start small.
        at, count = after, min(2 * count, _LARGEST_LEAP)
    return np.concatenate([np.zeros(0, np.int64), *walked]), at


def _leap(words: memoryview, at: int, count: int) -> tuple[Column, int]:
    """Return where the next count blocks stand if all is well, and where they end."""
    position = array("q")
    append = position.append
    end = len(words)
    for _ in range(count):
        append(at)
        try:
            at += (words[at + 1] >> 2) or end
        except IndexError:
            break
        if at >= end:
            break
    return np.frombuffer(position, np.int64), at


def _sound(words: NDArray[np.uint32], position: Column) -> NDArray[np.bool_]:
    """Say which blocks are whole and are no section header."""
    last = len(words) - 1
    length = words[np.minimum(position + 1, last)].astype(np.int64)
    after = position + length // _WORD
    sound: NDArray[np.bool_] = (words[position] != Block.SECTION) & (after <= last + 1)
    sound &= length >= _SHORTEST_BLOCK
    sound &= words[np.clip(after - 1, 0, last)] == length
    return sound


def _section(
    data: bytes, order: str, words: NDArray[np.uint32], position: Column
) -> _Section:
    return _Section(
        data=data,
        byte_order=order,
        words=words,
        position=position,
        kind=words[position].astype(np.int64),
        length=words[position + 1].astype(np.int64),
    )


def _trouble(
    data: bytes, order: str, words: NDArray[np.uint32], at: int, name: str
) -> str:
    """Say why the walk stopped at a byte; nothing if there is no reason to worry."""
    left = len(data) - at
    if not left or data[at : at + _WORD] == MAGIC:
        return ""
    if left < _SHORTEST_BLOCK:
        return fault(name, at, wanted="a whole block", got=f"{left} bytes")
    (length,) = struct.unpack_from(order + "I", data, at + _WORD)
    if length > left:
        wanted, got = f"a block of {length} bytes", f"{left} bytes"
        return fault(name, at, wanted=wanted, got=got)
    wanted = "a block with its length before and after it"
    return fault(name, at, wanted=wanted, got=f"a damaged one of {length} bytes")


def _interfaces(section: _Section) -> Iterator[_Interface]:
    for position in section.position[section.kind == Block.INTERFACE].tolist():
        link, snaplen = _UNREADABLE_LINK, 0
        if section.words[position + 1] >= _SHORTEST_INTERFACE:
            head = struct.Struct(section.byte_order + "HxxI")
            link, snaplen = head.unpack_from(section.data, _WORD * (position + 2))
        options = _options(section, position, fixed=_SHORTEST_INTERFACE)
        comment = options.get(pcapng.COMMENT, b"")
        described = options.get(InterfaceOption.DESCRIPTION, comment)
        yield _Interface(
            position=position,
            link=link,
            snaplen=snaplen,
            ticks_per_s=_ticks_per_s(options.get(InterfaceOption.TSRESOL, b"")),
            offset_s=_integer(
                section, options.get(InterfaceOption.TSOFFSET, b""), signed=True
            ),
            description=described.decode(errors="replace"),
        )


def _options(section: _Section, position: int, *, fixed: int) -> dict[int, bytes]:
    """Return a block's options, the last of each code, as far as they can be read.

    fixed: bytes the block has without options.
    """
    options: dict[int, bytes] = {}
    head = struct.Struct(section.byte_order + "HH")
    at = _WORD * (position - 1) + fixed
    end = _WORD * (position - 1) + int(section.words[position + 1])
    while at + head.size <= end:
        code, length = head.unpack_from(section.data, at)
        at += head.size
        if code == pcapng.END_OF_OPTIONS or at + length > end:
            break
        options[code] = section.data[at : at + length]
        at += length + -length % _WORD
    return options


def _ticks_per_s(resolution: bytes) -> int:
    if not resolution:
        return _DEFAULT_TICKS_PER_S
    exponent = resolution[0]
    return int(2 ** (exponent - _BINARY) if exponent & _BINARY else 10**exponent)


def _integer(section: _Section, value: bytes, *, signed: bool) -> int:
    order: Literal["little", "big"] = "little" if section.byte_order == "<" else "big"
    return int.from_bytes(value[:_LONGEST_INTEGER], order, signed=signed)


def _losses(section: _Section) -> list[int]:
    """Return the packets lost by each interface that tells; counts are cumulative."""
    lost: dict[int, int] = {}
    positions, _ = section.of_kind(Block.STATISTICS, shortest=_SHORTEST_STATISTICS)
    for position in positions.tolist():
        options = _options(section, position, fixed=_SHORTEST_STATISTICS)
        told = [
            _integer(section, options[code], signed=False)
            for code in (StatisticsOption.IFDROP, StatisticsOption.OSDROP)
            if code in options
        ]
        if told:
            lost[int(section.words[position + 2])] = sum(told)
    return list(lost.values())


def _pieces(section: _Section) -> Iterator[_Section]:
    """Yield a section's blocks some thousands at a time, which the cache likes."""
    for start in range(0, len(section.position), _LARGEST_LEAP):
        rows = slice(start, start + _LARGEST_LEAP)
        yield replace(
            section,
            position=section.position[rows],
            kind=section.kind[rows],
            length=section.length[rows],
        )


def _packets(
    section: _Section, interfaces: list[_Interface], skipped: Counter[str]
) -> RecordTable:
    skipped[OBSOLETE] += section.count(Block.OBSOLETE_PACKET)
    enhanced = _enhanced(section, interfaces, skipped)
    if not section.count(Block.SIMPLE_PACKET):
        return enhanced
    both = joined([enhanced, _simple(section, interfaces, skipped)])
    return both.take(np.argsort(both.offset, kind="stable"))


def _enhanced(
    section: _Section, interfaces: list[_Interface], skipped: Counter[str]
) -> RecordTable:
    position, length = section.of_kind(
        Block.ENHANCED_PACKET, shortest=_SHORTEST_ENHANCED
    )
    whole = section.word(position, 5) <= length - _SHORTEST_ENHANCED
    skipped[BAD_BLOCK] += section.count(Block.ENHANCED_PACKET) - int(whole.sum())
    position, length = position[whole], length[whole]
    known = _known(interfaces, section.word(position, 2), position)
    skipped[BAD_INTERFACE] += len(known) - int(known.sum())
    position, length = position[known], length[known]
    interface = section.word(position, 2)
    ticks = section.words[position + 3].astype(np.uint64) << np.uint64(32)
    ticks |= section.words[position + 4]
    time_ns, timely = _times(ticks, interface, interfaces)
    skipped[BAD_TIME] += len(timely) - int(timely.sum())
    captured = section.word(position, 5)
    return RecordTable(
        time_ns=time_ns,
        offset=_WORD * (position + 7),
        captured=captured,
        wire=np.maximum(captured, section.word(position, 6)),
        link=_links(interfaces)[interface],
        direction=_directions(section, position, length, captured),
    ).take(timely)


def _known(
    interfaces: list[_Interface], interface: Column, position: Column
) -> NDArray[np.bool_]:
    """Say which packets name an interface that was described before them."""
    described = np.array([one.position for one in interfaces] + [_NOWHERE], np.int64)
    named: NDArray[np.bool_] = (
        described[np.minimum(interface, len(interfaces))] < position
    )
    return named


def _links(interfaces: list[_Interface]) -> Column:
    return np.array([one.link for one in interfaces], np.int64)


def _times(
    ticks: NDArray[np.uint64], interface: Column, interfaces: list[_Interface]
) -> tuple[Column, NDArray[np.bool_]]:
    """Return nanoseconds, and which of them are within _TIME_LIMIT."""
    whole = [
        NS_PER_S % one.ticks_per_s == 0 and abs(one.offset_s) < _OFFSET_LIMIT
        for one in interfaces
    ]
    factor = np.array(
        [
            NS_PER_S // one.ticks_per_s if fits else 1
            for one, fits in zip(interfaces, whole, strict=True)
        ],
        np.uint64,
    )
    offset = np.array(
        [
            one.offset_s * NS_PER_S if fits else 0
            for one, fits in zip(interfaces, whole, strict=True)
        ],
        np.int64,
    )
    timely = ticks <= (np.uint64(_TIME_LIMIT) // factor)[interface]
    scaled = np.where(timely, ticks * factor[interface], 0).astype(np.int64)
    time_ns = scaled + offset[interface]
    # Resolutions that do not divide a nanosecond evenly are rare: exact, one by one.
    for row in np.flatnonzero(~np.array(whole, np.bool_)[interface]).tolist():
        one = interfaces[int(interface[row])]
        exact = int(ticks[row]) * NS_PER_S // one.ticks_per_s + one.offset_s * NS_PER_S
        timely[row] = abs(exact) <= _TIME_LIMIT
        time_ns[row] = exact if timely[row] else 0
    return time_ns, timely


def _directions(
    section: _Section, position: Column, length: Column, captured: Column
) -> Column:
    """Return the direction that epb_flags tells where it is the first option."""
    code, size = (0, 16) if section.byte_order == "<" else (16, 0)
    flags = (pcapng.EPB_FLAGS << code) | (_WORD << size)
    first = position + 7 + (captured + _WORD - 1) // _WORD
    # The option's two words must lie before the length that ends the block.
    there = np.flatnonzero(first + 2 < position + length // _WORD)
    there = there[section.words[first[there]] == flags]
    direction = np.full(len(position), Direction.UNKNOWN, np.int64)
    told = section.word(first[there], 1) & _DIRECTION_BITS
    direction[there] = np.where(told == _DIRECTION_BITS, Direction.UNKNOWN, told)
    return direction


def _simple(
    section: _Section, interfaces: list[_Interface], skipped: Counter[str]
) -> RecordTable:
    """Return the packets that name neither time nor interface (section 4.4)."""
    position, length = section.of_kind(Block.SIMPLE_PACKET, shortest=_SHORTEST_SIMPLE)
    skipped[BAD_BLOCK] += section.count(Block.SIMPLE_PACKET) - len(position)
    known = _known(interfaces, np.zeros(len(position), np.int64), position)
    skipped[BAD_INTERFACE] += len(known) - int(known.sum())
    position, length = position[known], length[known]
    wire = section.word(position, 2)
    captured = np.minimum(wire, length - _SHORTEST_SIMPLE)
    if interfaces and interfaces[0].snaplen:
        captured = np.minimum(captured, interfaces[0].snaplen)
    return RecordTable(
        time_ns=np.zeros(len(position), np.int64),
        offset=_WORD * (position + 3),
        captured=captured,
        wire=wire,
        link=np.full(len(position), interfaces[0].link if interfaces else 0, np.int64),
        direction=np.full(len(position), Direction.UNKNOWN, np.int64),
    )
