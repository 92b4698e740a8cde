"""Whole numbers out of a byte buffer, at any offset, and what else numba lacks.

The caller has checked that the bytes are there.
"""

from typing import TYPE_CHECKING

from testbed.trace.jit import COMPILED, Bytes, Table, inlined

if TYPE_CHECKING or COMPILED:
    # It takes numba.
    from testbed.trace.intrinsics import (
        BitLength,
        Load,
        Prefetch,
        bit_length_of,
        load_of,
        prefetch_of,
    )


#: The bits of 32, as a sequence number has.
LOW_WORD = 0xFFFF_FFFF
#: Packets between asking the cache for something and using it.
AHEAD = 6


def _plain(size: int, *, big: bool) -> "Load":
    def load(data: Bytes, at: int) -> int:
        return int.from_bytes(bytes(data[at : at + size]), "big" if big else "little")

    return load


def _plain_prefetch(_table: Table, _at: int) -> None:
    return


def _plain_bit_length(value: int) -> int:
    return int(value).bit_length()


#: Has the cache fetch the line of a table that an offset is in: words, not rows.
prefetch: "Prefetch" = prefetch_of() if COMPILED else _plain_prefetch

#: How many bits a number that is not negative has.
bit_length: "BitLength" = bit_length_of() if COMPILED else _plain_bit_length

_make = load_of if COMPILED else _plain
u8 = _make(1, big=True)
be16 = _make(2, big=True)
be32 = _make(4, big=True)
le16 = _make(2, big=False)
le32 = _make(4, big=False)


@inlined
def word(data: Bytes, at: int, big: int) -> int:
    """Return four bytes in the byte order that a file has."""
    return be32(data, at) if big else le32(data, at)


@inlined
def half(data: Bytes, at: int, big: int) -> int:
    """Return two bytes in the byte order that a file has."""
    return be16(data, at) if big else le16(data, at)


@inlined
def signed(value: int, bits: int) -> int:
    """Return what the low bits of a number say in two's complement."""
    low = value & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits)


@inlined
def be64(data: Bytes, at: int) -> int:
    """Return eight bytes as a signed number, so that 64 bits hold it."""
    return signed(be32(data, at), 32) << 32 | be32(data, at + 4)
