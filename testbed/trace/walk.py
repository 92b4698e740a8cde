"""The walk over the records of a capture file: where each packet is. Kernels.

A walk goes on until a block of rows is full, or what is in the buffer of the file ends.
It trusts no length: it stops before a record that is not all there.

Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng (section numbers are that
document's).
"""

from testbed.trace.interfaces import (
    BINARY,
    I_LINK,
    I_MODE,
    I_NUMBER,
    I_OFFSET_NS,
    I_SNAPLEN,
    MOST_INTERFACES,
    OVER_TWICE,
    S_BIG,
    S_KNOWN,
    S_NUMBER,
    TIMES,
    describe,
    lose,
)
from testbed.trace.jit import Bytes, Table, entry, kernel
from testbed.trace.loads import half, le32, word

#: The columns of a record. at: of the packet's first byte in the buffer.  captured:
#: bytes that stand there.  wire: bytes the packet had, never below captured.  link:
#: LINKTYPE_ number.  direction: pcapng.Direction.
TIME, AT, CAPTURED, WIRE, LINK, DIRECTION = range(6)
RECORD_COLUMNS = 6

#: What a pcap file says of all its records.
BIG, NS_PER_TICK, FILE_LINK, RECORD_HEADER = range(4)

#: Packets that could not be used, by reason; the places are those of REASONS.
BAD_BLOCK, BAD_INTERFACE, BAD_TIME, UNTIMED, BEYOND = range(5)
WALK_REASONS = 5

#: Bytes of a record or block; one beyond it is damage. Linux hands at most 512 KiB to a
#: device.
LARGEST = 1 << 24
SHORTEST_BLOCK = 12  # type, length, length
SHORTEST_SECTION = 28
_SECTION, _INTERFACE, _OBSOLETE = 0x0A0D0D0A, 1, 2
_SIMPLE, _STATISTICS, _ENHANCED = 3, 5, 6
_BYTE_ORDER_MAGIC, _VERSION = 0x1A2B3C4D, 1
_SHORTEST_ENHANCED, _SHORTEST_SIMPLE = 32, 16
_ENHANCED_DATA, _SIMPLE_DATA = 28, 12
_EPB_FLAGS, _FLAGS_LENGTH, _OPTION_HEADER = 2, 4, 4
_TIME_LIMIT = 1 << 62  # ns; a time beyond it (the year 2116) is damage
_NS_PER_S = 1_000_000_000
_LATEST_S = _TIME_LIMIT // _NS_PER_S
_HALF = 32  # bits


@entry
def walk_pcap(
    data: Bytes, at: int, end: int, shape: Table, records: Table
) -> tuple[int, int]:
    """Write rows for the records from an offset on; return rows and next offset."""
    big, tick, link = shape[BIG], shape[NS_PER_TICK], shape[FILE_LINK]
    header = shape[RECORD_HEADER]
    row = 0
    while row < len(records) and at + header <= end:
        captured = word(data, at + 8, big)
        if at + header + captured > end:
            break
        time_ns = word(data, at, big) * _NS_PER_S + word(data, at + 4, big) * tick
        records[row, TIME] = time_ns
        records[row, AT] = at + header
        records[row, CAPTURED] = captured
        records[row, WIRE] = max(captured, word(data, at + 12, big))
        records[row, LINK] = link
        records[row, DIRECTION] = 0
        at += header + captured
        row += 1
    return row, at


@entry
def walk_pcapng(
    data: Bytes,
    span: tuple[int, int],
    section: Table,
    interfaces: Table,
    records: Table,
    skips: Table,
) -> tuple[int, int]:
    """Write rows for the packet blocks in a span; return rows and next offset.

    A block that is not all there, or is damaged, comes next if rows are left. section,
    interfaces: what is known so far (see interfaces.py), with room for MOST_INTERFACES.
    """
    at, end = span
    row = 0
    while row < len(records) and at + SHORTEST_BLOCK <= end:
        size = _size(data, at, end, section[S_BIG])
        if not size:
            break
        kind = word(data, at, section[S_BIG])
        if kind in (_ENHANCED, _OBSOLETE):
            row += _enhanced(data, at, section, interfaces, records[row], skips)
        elif kind == _SIMPLE:
            row += _simple(data, at, section, interfaces, records[row], skips)
        elif kind == _INTERFACE:
            describe(data, (at, size), section, interfaces)
        elif kind == _STATISTICS:
            lose(data, (at, size), section, interfaces)
        elif kind == _SECTION:
            section[S_BIG] = _order(data, at)
            section[S_NUMBER] += 1
            section[S_KNOWN] = 0
        at += size
    return row, at


@kernel
def _size(data: Bytes, at: int, end: int, big: int) -> int:
    """Return the bytes of a block, 0 unless it is all there and undamaged."""
    if word(data, at, big) == _SECTION:
        return _section_size(data, at, end)
    length = word(data, at + 4, big)
    size = length & ~3
    if length < SHORTEST_BLOCK or length > LARGEST or at + size > end:
        return 0
    return size if word(data, at + size - 4, big) == length else 0


@kernel
def _section_size(data: Bytes, at: int, end: int) -> int:
    """Return the same of a section header (section 4.1)."""
    if at + SHORTEST_SECTION > end:
        return 0
    big = _order(data, at)
    length = word(data, at + 4, big)
    if length < SHORTEST_SECTION or length > LARGEST or length & 3 or at + length > end:
        return 0
    known = word(data, at + 8, big) == _BYTE_ORDER_MAGIC
    if not known or half(data, at + 12, big) != _VERSION:
        return 0
    return length if word(data, at + length - 4, big) == length else 0


@kernel
def _order(data: Bytes, at: int) -> int:
    """Return 1 if the numbers of the section that begins here are big endian."""
    return 0 if le32(data, at + 8) == _BYTE_ORDER_MAGIC else 1


@kernel
def _enhanced(
    data: Bytes,
    at: int,
    section: Table,
    interfaces: Table,
    record: Table,
    skips: Table,
) -> int:
    """Read a packet with a time (sections 4.3 and A.1); return 1 if it can be used."""
    big = section[S_BIG]
    length = word(data, at + 4, big)
    if length < _SHORTEST_ENHANCED or (
        word(data, at + 20, big) > length - _SHORTEST_ENHANCED
    ):
        skips[BAD_BLOCK] += 1
        return 0
    captured = word(data, at + 20, big)
    enhanced = word(data, at, big) == _ENHANCED
    number = word(data, at + 8, big) if enhanced else half(data, at + 8, big)
    if number >= section[S_KNOWN]:
        full = section[S_KNOWN] == MOST_INTERFACES
        skips[BEYOND if full else BAD_INTERFACE] += 1
        return 0
    high, low = word(data, at + 12, big), word(data, at + 16, big)
    time_ns = _nanoseconds(high, low, interfaces[number])
    if time_ns > _TIME_LIMIT or time_ns < -_TIME_LIMIT:
        skips[BAD_TIME] += 1
        return 0
    record[TIME] = time_ns
    record[AT] = at + _ENHANCED_DATA
    record[CAPTURED] = captured
    record[WIRE] = max(captured, word(data, at + 24, big))
    record[LINK] = interfaces[number, I_LINK]
    first = at + _ENHANCED_DATA + ((captured + 3) & ~3)
    record[DIRECTION] = _direction(data, first, at + (length & ~3) - 4, big)
    return 1


@kernel
def _nanoseconds(high: int, low: int, interface: Table) -> int:
    """Return a time, beyond the limit if it is out of range. All of it is exact."""
    mode, number = interface[I_MODE], interface[I_NUMBER]
    if mode == BINARY:
        return _binary_time(high, low, number, interface[I_OFFSET_NS])
    if mode == TIMES:
        if high >> 31 or (high << 32 | low) > _TIME_LIMIT // number:
            return _TIME_LIMIT + 1
        return (high << 32 | low) * number + interface[I_OFFSET_NS]
    if mode == OVER_TWICE:
        return (high << 31 | low >> 1) // number + interface[I_OFFSET_NS]
    return _TIME_LIMIT + 1


@kernel
def _binary_time(high: int, low: int, number: int, offset_ns: int) -> int:
    """Return ticks * 10**9 >> number, worked out in halves that fit 64 bits each."""
    if number < _HALF:
        if high > _LATEST_S >> (_HALF - number):
            return _TIME_LIMIT + 1
        upper = high * _NS_PER_S << (_HALF - number)
        return upper + (low * _NS_PER_S >> number) + offset_ns
    upper = high * _NS_PER_S + (low * _NS_PER_S >> _HALF)
    return (upper >> (number - _HALF)) + offset_ns


@kernel
def _direction(data: Bytes, at: int, end: int, big: int) -> int:
    """Return the direction that epb_flags tells where it is the first option."""
    if at + _OPTION_HEADER + _FLAGS_LENGTH > end:
        return 0
    if half(data, at, big) != _EPB_FLAGS or half(data, at + 2, big) != _FLAGS_LENGTH:
        return 0
    told = word(data, at + _OPTION_HEADER, big) & 3
    return 0 if told == 3 else told  # noqa: PLR2004  # both bits: no direction


@kernel
def _simple(
    data: Bytes,
    at: int,
    section: Table,
    interfaces: Table,
    record: Table,
    skips: Table,
) -> int:
    """Read a packet that names neither time nor interface (section 4.4)."""
    big = section[S_BIG]
    length = word(data, at + 4, big)
    if length < _SHORTEST_SIMPLE:
        skips[BAD_BLOCK] += 1
        return 0
    if not section[S_KNOWN]:
        skips[BAD_INTERFACE] += 1
        return 0
    wire = word(data, at + 8, big)
    captured = min(wire, length - _SHORTEST_SIMPLE)
    if interfaces[0, I_SNAPLEN]:
        captured = min(captured, interfaces[0, I_SNAPLEN])
    record[TIME] = 0
    record[AT] = at + _SIMPLE_DATA
    record[CAPTURED] = captured
    record[WIRE] = wire
    record[LINK] = interfaces[0, I_LINK]
    record[DIRECTION] = 0
    skips[UNTIMED] += 1
    return 1
