"""The walk over the records of a capture file: where each packet is. Kernels.

A walk goes on until a block of rows is full, or what is in the buffer of the file ends.
It trusts no length: it stops before a record that is not all there.

Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng (section numbers are that
document's).
"""

from testbed.trace.jit import Bytes, Table, entry, kernel
from testbed.trace.loads import half, word

#: The columns of a record. at: of the packet's first byte in the buffer.  captured:
#: bytes that stand there.  wire: bytes the packet had, never below captured.  link:
#: LINKTYPE_ number.  direction: pcapng.Direction.
TIME, AT, CAPTURED, WIRE, LINK, DIRECTION = range(6)
RECORD_COLUMNS = 6

#: What a pcap file says of all its records.
BIG, NS_PER_TICK, FILE_LINK, RECORD_HEADER = range(4)

#: The columns of an interface: link type, snaplen, how a tick becomes nanoseconds (a
#: mode below, and its number), nanoseconds to add.
I_LINK, I_SNAPLEN, I_MODE, I_NUMBER, I_OFFSET_NS = range(5)
INTERFACE_COLUMNS = 5
#: ns = ticks * number; ticks // (2 * number); ticks * 10**9 >> number; none.
TIMES, OVER_TWICE, BINARY, NO_TIME = range(4)

#: Why the walk over a pcapng file stopped: rows or data are used up, a block that tells
#: of the capture comes next, a damaged one does.
PAUSED, TOLD, DAMAGED = range(3)

#: Packets that could not be used, by reason; the places are those of REASONS.
BAD_BLOCK, BAD_INTERFACE, BAD_TIME, UNTIMED, BEYOND = range(5)
WALK_REASONS = 5
#: In one section, of which more are not remembered: such a file is junk.
MOST_INTERFACES = 1 << 16

SECTION, INTERFACE, OBSOLETE, SIMPLE, STATISTICS, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 5, 6
SHORTEST_BLOCK = 12  # type, length, length
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
    big: int,
    interfaces: Table,
    records: Table,
    skips: Table,
) -> tuple[int, int, int]:
    """Write rows for the packet blocks in a span; return rows, next offset, and why.

    interfaces: those described so far.
    """
    at, end = span
    row = 0
    while row < len(records) and at + SHORTEST_BLOCK <= end:
        kind, length = word(data, at, big), word(data, at + 4, big)
        if kind in (SECTION, INTERFACE, STATISTICS):
            return row, at, TOLD
        size = length & ~3
        if length < SHORTEST_BLOCK:
            return row, at, DAMAGED
        if at + size > end:
            break
        if word(data, at + size - 4, big) != length:
            return row, at, DAMAGED
        if kind in (ENHANCED, OBSOLETE):
            row += _enhanced(data, (at, length), big, interfaces, records[row], skips)
        elif kind == SIMPLE:
            row += _simple(data, (at, length), big, interfaces, records[row], skips)
        at += size
    return row, at, PAUSED


@kernel
def _enhanced(
    data: Bytes,
    block: tuple[int, int],
    big: int,
    interfaces: Table,
    record: Table,
    skips: Table,
) -> int:
    """Read a packet with a time (sections 4.3 and A.1); return 1 if it can be used."""
    at, length = block
    if length < _SHORTEST_ENHANCED or (
        word(data, at + 20, big) > length - _SHORTEST_ENHANCED
    ):
        skips[BAD_BLOCK] += 1
        return 0
    captured = word(data, at + 20, big)
    enhanced = word(data, at, big) == ENHANCED
    number = word(data, at + 8, big) if enhanced else half(data, at + 8, big)
    if number >= len(interfaces):
        full = len(interfaces) == MOST_INTERFACES
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
    block: tuple[int, int],
    big: int,
    interfaces: Table,
    record: Table,
    skips: Table,
) -> int:
    """Read a packet that names neither time nor interface (section 4.4)."""
    at, length = block
    if length < _SHORTEST_SIMPLE:
        skips[BAD_BLOCK] += 1
        return 0
    if not len(interfaces):
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
