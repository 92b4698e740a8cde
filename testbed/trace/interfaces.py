"""What a pcapng file says of its interfaces: links, clocks, losses. Kernels.

So a file of nothing else is read as fast as one of packets. The caller has checked that
a block is whole: its place and its size, a multiple of four, are given.

Source: draft-ietf-opsawg-pcapng; section numbers below are that document's.
"""

from testbed.trace.jit import Bytes, Table, kernel
from testbed.trace.loads import LOW_WORD, half, signed, u8, word

#: What is known where the walk stands.  S_BIG: 1 if the section's numbers are big
#: endian.  S_NUMBER: of the section, from 1 on.  S_KNOWN: interfaces described in it.
#: S_DESCRIBED: 1 if the file has had an interface.  S_TEXT, S_TEXT_SIZE: where in the
#: buffer then walked over the first one says what it is.  S_TELLS: 1 if an interface
#: told how many packets it lost; S_LOST_HIGH * 2**32 + S_LOST_LOW: what is to be added.
S_BIG, S_NUMBER, S_KNOWN, S_DESCRIBED, S_TEXT, S_TEXT_SIZE = range(6)
S_TELLS, S_LOST_HIGH, S_LOST_LOW = range(6, 9)
SECTION_COLUMNS = 9

#: The columns of an interface: link type, snaplen, how a tick becomes nanoseconds (a
#: mode below, and its number), nanoseconds to add; then packets that the interface of
#: this number lost, be it known or not, and in which section it told so.
I_LINK, I_SNAPLEN, I_MODE, I_NUMBER, I_OFFSET_NS = range(5)
I_LOST_HIGH, I_LOST_LOW, I_TOLD = range(5, 8)
INTERFACE_COLUMNS = 8
#: ns = ticks * number; ticks // (2 * number); ticks * 10**9 >> number; none.
TIMES, OVER_TWICE, BINARY, NO_TIME = range(4)
#: In one section, of which more are not remembered: such a file is junk.
MOST_INTERFACES = 1 << 16

_SHORTEST_INTERFACE, _SHORTEST_STATISTICS = 20, 24
_WORD = 4
_UNREADABLE_LINK = 0xFFFF
_END_OF_OPTIONS, _COMMENT = 0, 1  # section 3.5
_DESCRIPTION, _TSRESOL, _TSOFFSET = 3, 9, 14  # section 4.2
_IFDROP, _OSDROP = 5, 7  # section 4.6
_LONGEST_INTEGER = 8
_OFFSET_LIMIT = 1 << 31  # s
_BINARY = 0x80  # if_tsresol: a power of two, not of ten
_MICROSECONDS, _NANOSECONDS = 6, 9  # the first is that of whoever names none
_LARGEST_POWER, _LARGEST_SHIFT = 18, 95
_NS_PER_S = 1_000_000_000
_HALF = 32


@kernel
def describe(
    data: Bytes, block: tuple[int, int], section: Table, interfaces: Table
) -> None:
    """Add an interface to the section (section 4.2), if there is room for more."""
    at, size = block
    number, big = section[S_KNOWN], section[S_BIG]
    if number == MOST_INTERFACES:
        return
    section[S_KNOWN] += 1
    whole = size >= _SHORTEST_INTERFACE
    interfaces[number, I_LINK] = half(data, at + 8, big) if whole else _UNREADABLE_LINK
    interfaces[number, I_SNAPLEN] = word(data, at + 12, big) if whole else 0
    options = (at + _SHORTEST_INTERFACE - _WORD, at + size - _WORD)
    _set_clock(data, options, big, interfaces[number])
    if not section[S_DESCRIBED]:
        text, length = _option(data, options, _DESCRIPTION, big)
        if not text:
            text, length = _option(data, options, _COMMENT, big)
        section[S_DESCRIBED] = 1
        section[S_TEXT], section[S_TEXT_SIZE] = text, length


@kernel
def _set_clock(
    data: Bytes, options: tuple[int, int], big: int, interface: Table
) -> None:
    """Learn how a tick of an interface becomes nanoseconds."""
    at, size = _option(data, options, _TSRESOL, big)
    resolution = u8(data, at) if size else _MICROSECONDS
    exponent = resolution & ~_BINARY
    if resolution & _BINARY:
        mode, number = BINARY, min(exponent, _LARGEST_SHIFT)
    elif exponent <= _NANOSECONDS:
        mode, number = TIMES, 10 ** (_NANOSECONDS - exponent)
    else:
        power = min(exponent - _NANOSECONDS, _LARGEST_POWER)
        mode, number = OVER_TWICE, 10**power // 2
    at, size = _option(data, options, _TSOFFSET, big)
    offset_s = _signed(data, at, size, big)
    if not -_OFFSET_LIMIT < offset_s < _OFFSET_LIMIT:
        mode, offset_s = NO_TIME, 0
    interface[I_MODE], interface[I_NUMBER] = mode, number
    interface[I_OFFSET_NS] = offset_s * _NS_PER_S


@kernel
def lose(
    data: Bytes, block: tuple[int, int], section: Table, interfaces: Table
) -> None:
    """Learn how many packets an interface lost (section 4.6).

    Counts are cumulative, so what one told before in this section counts no more.
    """
    at, size = block
    if size < _SHORTEST_STATISTICS:
        return
    big = section[S_BIG]
    number = word(data, at + 8, big)
    options = (at + _SHORTEST_STATISTICS - _WORD, at + size - _WORD)
    own_at, own_size = _option(data, options, _IFDROP, big)
    system_at, system_size = _option(data, options, _OSDROP, big)
    if number >= MOST_INTERFACES or not own_at + system_at:
        return
    own_high, own_low = _unsigned(data, own_at, own_size, big)
    system_high, system_low = _unsigned(data, system_at, system_size, big)
    interface = interfaces[number]
    if interface[I_TOLD] == section[S_NUMBER]:
        section[S_LOST_HIGH] -= interface[I_LOST_HIGH]
        section[S_LOST_LOW] -= interface[I_LOST_LOW]
    interface[I_LOST_HIGH] = own_high + system_high
    interface[I_LOST_LOW] = own_low + system_low
    interface[I_TOLD] = section[S_NUMBER]
    section[S_LOST_HIGH] += interface[I_LOST_HIGH]
    section[S_LOST_LOW] += interface[I_LOST_LOW]
    section[S_TELLS] = 1


@kernel
def _option(
    data: Bytes, options: tuple[int, int], code: int, big: int
) -> tuple[int, int]:
    """Return where the value of the last option of a code is, and its length.

    Options count as far as they can be read; 0 and 0 if there is none.
    """
    at, end = options
    found, size = 0, 0
    while at + _WORD <= end:
        length = half(data, at + 2, big)
        this = half(data, at, big)
        at += _WORD
        if this == _END_OF_OPTIONS or at + length > end:
            break
        if this == code:
            found, size = at, length
        at += (length + 3) & ~3
    return found, size


@kernel
def _unsigned(data: Bytes, at: int, size: int, big: int) -> tuple[int, int]:
    """Return the halves of a number, of whose bytes the first eight count."""
    high, low = 0, 0
    taken = min(size, _LONGEST_INTEGER)
    for place in range(taken):
        byte = u8(data, at + place if big else at + taken - 1 - place)
        high = (high << 8 | low >> 24) & LOW_WORD
        low = (low << 8 | byte) & LOW_WORD
    return high, low


@kernel
def _signed(data: Bytes, at: int, size: int, big: int) -> int:
    """Return a number in two's complement, of whose bytes the first eight count."""
    high, low = _unsigned(data, at, size, big)
    bits = 8 * min(size, _LONGEST_INTEGER)
    if bits > _HALF:
        return signed(high, bits - _HALF) << _HALF | low
    return signed(low, bits) if bits else 0
