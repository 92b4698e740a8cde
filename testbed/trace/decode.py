"""Records to TCP headers: the columns that everything about a flow is computed from.

Start with decode, a kernel. It takes a block of records, few enough for the cache.
"""

from testbed.trace.jit import Bytes, Table, entry, kernel
from testbed.trace.layers import (
    ACK,
    BAD_TCP,
    COOKED,
    COOKED_2,
    DPORT,
    FLAGS,
    H_DIRECTION,
    H_TIME,
    HEADER_COLUMNS,
    LENGTH,
    LINK_UNKNOWN,
    MOST_SACKS,
    MSS,
    OPTIONS,
    SACK,
    SACKS,
    SEQ,
    SPORT,
    TCP,
    TOO_DEEP,
    TOO_SHORT,
    WINDOW,
    WSCALE,
    ip_layer,
    link_layer,
    tunnel,
)
from testbed.trace.loads import be16, be32, be64, u8
from testbed.trace.tables import lined_up
from testbed.trace.walk import AT, CAPTURED, DIRECTION, LINK, TIME, WIRE

FIN, SYN, RST, ACK_FLAG = 0x01, 0x02, 0x04, 0x10

#: The value of mss and wscale in a packet that has no such option.
ABSENT = -1

LINK_TYPES = 1 << 16
_MOST_TUNNELS = 4
_HEADER = 20
_END, _NOP, _MSS_OPTION, _WSCALE_OPTION, _SACK_OPTION = 0, 1, 2, 3, 5
_MSS_LENGTH, _WSCALE_LENGTH, _SACK_BLOCK = 4, 3, 8
_LARGEST_WSCALE = 14  # RFC 7323, 2.3
_TO_OTHERS, _OUTGOING = 4, 2
_TIMESTAMPS, _TIMESTAMPS_LENGTH = 0x0101080A, 12  # as every host writes them


def headers(rows: int) -> Table:
    """Return room for so many headers."""
    return lined_up(rows, HEADER_COLUMNS)


@entry
def decode(
    data: Bytes, records: Table, found: Table, skips: Table, links: Table
) -> int:
    """Write a row for each TCP header of a block of records; return how many.

    found: as many rows as records, at least.  skips: counts what is no TCP header, by
    REASONS.  links: counts packets of link types that are not read, by type.

    A row: time; addresses in two halves, family and ports; sequence number and
    acknowledgment, flags, window as sent; payload length; bytes of TCP options; MSS
    and window scale of a SYN, ABSENT elsewhere; TTL; direction as pcapng.Direction;
    how many SACK blocks there are, and these.
    """
    count = 0
    for row in range(len(records)):
        record, header = records[row], found[count]
        reason = _decoded(data, record, header)
        if reason < 0:
            skips[-1 - reason] += 1
            if reason == LINK_UNKNOWN:
                links[record[LINK] & (LINK_TYPES - 1)] += 1
        else:
            header[H_TIME] = record[TIME]
            count += 1
    return count


@kernel
def _decoded(data: Bytes, record: Table, header: Table) -> int:
    """Fill in a header; return 0, or why there is none."""
    start = record[AT]
    end, stop = start + record[CAPTURED], start + record[WIRE]
    header[H_DIRECTION] = _cooked_direction(data, record)
    at, kind = link_layer(data, start, end, record[LINK])
    for _ in range(_MOST_TUNNELS):
        if kind < 0:
            return kind
        at, stop, protocol = ip_layer(data, at, end, stop, kind, header)
        if protocol == TCP:
            return _tcp(data, at, end, stop, header)
        if protocol < 0:
            return protocol
        at, kind = tunnel(data, at, end, protocol)
    return TOO_DEEP if kind >= 0 else kind


@kernel
def _cooked_direction(data: Bytes, record: Table) -> int:
    """Return the record's direction, or what the packet type of Linux cooked says."""
    at, link = record[AT], record[LINK]
    if link == COOKED and record[CAPTURED] >= 2:  # noqa: PLR2004
        kind = be16(data, at)
    elif link == COOKED_2 and record[CAPTURED] > 10:  # noqa: PLR2004
        kind = u8(data, at + 10)
    else:
        return record[DIRECTION]
    if kind == _TO_OTHERS:
        return _OUTGOING
    return 1 if kind == 0 else 0


@kernel
def _tcp(data: Bytes, at: int, end: int, stop: int, header: Table) -> int:
    if at + _HEADER > end:
        return TOO_SHORT
    size = u8(data, at + 12) >> 4 << 2
    if size < _HEADER or at + size > stop:
        return BAD_TCP
    flags = u8(data, at + 13)
    header[SPORT] = be16(data, at)
    header[DPORT] = be16(data, at + 2)
    header[SEQ] = be32(data, at + 4)
    header[ACK] = be32(data, at + 8)
    header[FLAGS] = flags
    header[WINDOW] = be16(data, at + 14)
    header[LENGTH] = stop - at - size
    header[OPTIONS] = size - _HEADER
    header[MSS] = ABSENT
    header[WSCALE] = ABSENT
    header[SACKS] = 0
    first = at + _HEADER
    if flags & SYN:
        _options(data, first, min(at + size, end), header)
    elif size > _HEADER + _TIMESTAMPS_LENGTH or (
        size > _HEADER and first + 4 <= end and be32(data, first) != _TIMESTAMPS
    ):
        _options(data, first, min(at + size, end), header)
        header[MSS] = ABSENT
        header[WSCALE] = ABSENT
    return 0


@kernel
def _options(data: Bytes, at: int, end: int, header: Table) -> None:
    """Read the options there are, as far as they were captured; the last one counts."""
    while at < end:
        kind = u8(data, at)
        if kind == _NOP:
            at += 1
            continue
        if kind == _END or at + 2 > end:
            return
        length = u8(data, at + 1)
        if length < 2 or at + length > end:  # noqa: PLR2004
            return
        if kind == _MSS_OPTION and length == _MSS_LENGTH:
            # As in Linux (tcp_parse_options), an MSS of 0 says nothing.
            told = be16(data, at + 2)
            header[MSS] = told if told else ABSENT
        elif kind == _WSCALE_OPTION and length == _WSCALE_LENGTH:
            header[WSCALE] = min(u8(data, at + 2), _LARGEST_WSCALE)
        elif kind == _SACK_OPTION:
            _sack_blocks(data, at + 2, length - 2, header)
        at += length


@kernel
def _sack_blocks(data: Bytes, at: int, size: int, header: Table) -> None:
    header[SACKS] = min(size // _SACK_BLOCK, MOST_SACKS)
    for which in range(header[SACKS]):
        header[SACK + which] = be64(data, at + _SACK_BLOCK * which)
