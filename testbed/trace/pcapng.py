"""Write a capture as pcapng: the same packets give the same bytes, on any machine.

The lab imports this inside the guest, so it must import nothing but the standard
library. No host name, program version or time of writing goes into a file. Start with
PcapngWriter; read_pcapng.py reads what it writes.

Source: draft-ietf-opsawg-pcapng; section numbers below are that document's.
"""

import enum
import struct
from typing import BinaryIO

#: The Section Header Block's magic: tells in which byte order a section is written.
BYTE_ORDER_MAGIC = 0x1A2B3C4D
LINKTYPE_ETHERNET = 1
NANOSECONDS = 9  # if_tsresol: ticks of 10**-9 s
_UNKNOWN_LENGTH = 0xFFFF_FFFF_FFFF_FFFF
_WORD = 4


class Block(enum.IntEnum):
    """Block types (section 11.1)."""

    INTERFACE = 1
    OBSOLETE_PACKET = 2
    SIMPLE_PACKET = 3
    STATISTICS = 5
    ENHANCED_PACKET = 6
    #: Reads the same in both byte orders.
    SECTION = 0x0A0D0D0A


class InterfaceOption(enum.IntEnum):
    """Options of an Interface Description Block (section 4.2)."""

    NAME = 2
    DESCRIPTION = 3
    TSRESOL = 9
    FILTER = 11
    TSOFFSET = 14


class StatisticsOption(enum.IntEnum):
    """Options of an Interface Statistics Block (section 4.6)."""

    IFRECV = 4
    IFDROP = 5
    OSDROP = 7


#: Options that every block may have (section 3.5).
END_OF_OPTIONS = 0
COMMENT = 1
#: The option of an Enhanced Packet Block that tells its Direction.
EPB_FLAGS = 2


class Direction(enum.IntEnum):
    """The two low bits of epb_flags (section 4.3.1)."""

    UNKNOWN = 0
    INCOMING = 1
    OUTGOING = 2


_DIRECTIONS = {
    None: Direction.UNKNOWN,
    False: Direction.INCOMING,
    True: Direction.OUTGOING,
}


class PcapngWriter:
    """Writes one section with one Ethernet interface; the caller owns the stream."""

    def __init__(
        self,
        stream: BinaryIO,
        *,
        interface: str,
        comment: str,
        snaplen: int,
        capture_filter: str = "",
    ) -> None:
        """Write the section header and the interface.

        comment: names the vantage point.  snaplen: bytes kept a packet, 0 for all.
        capture_filter: the filter's text as the user wrote it; empty for none.
        """
        self._stream = stream
        section = struct.pack("<IHHQ", BYTE_ORDER_MAGIC, 1, 0, _UNKNOWN_LENGTH)
        self._write(Block.SECTION, section)
        options = [
            _option(InterfaceOption.NAME, interface.encode()),
            _option(InterfaceOption.DESCRIPTION, comment.encode()),
            _option(InterfaceOption.TSRESOL, bytes([NANOSECONDS])),
        ]
        if capture_filter:
            # The leading zero says that a filter's text follows (section 4.2).
            options.append(
                _option(InterfaceOption.FILTER, b"\0" + capture_filter.encode())
            )
        head = struct.pack("<HHI", LINKTYPE_ETHERNET, 0, snaplen)
        self._write(Block.INTERFACE, head, *options, _option(END_OF_OPTIONS, b""))

    def packet(
        self,
        time_ns: int,
        data: bytes,
        wire_length: int,
        outgoing: bool | None,  # noqa: FBT001  # a fact about the packet, not a mode
    ) -> None:
        """Write one packet.

        time_ns: since the epoch of the capture's clock.  data: the bytes captured, at
        most snaplen.  wire_length: bytes the packet had, below 2**32: a BIG TCP packet
        exceeds 64 KB.  outgoing: None when not known.
        """
        head = struct.pack(
            "<IIIII",
            0,
            time_ns >> 32,
            time_ns & 0xFFFF_FFFF,
            len(data),
            wire_length,
        )
        flags = struct.pack("<I", _DIRECTIONS[outgoing])
        options = _option(EPB_FLAGS, flags) + _option(END_OF_OPTIONS, b"")
        self._write(Block.ENHANCED_PACKET, head, _padded(data), options)

    def close(self, time_ns: int, received: int, dropped: int) -> None:
        """Write what the capture counted; the stream stays open, and is flushed.

        received, dropped: packets, as the kernel's PACKET_STATISTICS counts them.
        Drops go to isb_ifdrop, where dumpcap writes them and Wireshark shows them.
        """
        head = struct.pack("<III", 0, time_ns >> 32, time_ns & 0xFFFF_FFFF)
        self._write(
            Block.STATISTICS,
            head,
            _option(StatisticsOption.IFRECV, struct.pack("<Q", received)),
            _option(StatisticsOption.IFDROP, struct.pack("<Q", dropped)),
            _option(END_OF_OPTIONS, b""),
        )
        self._stream.flush()

    def _write(self, block: Block, *parts: bytes) -> None:
        body = b"".join(parts)
        # The length stands before and after the body, and counts itself (section 3.1).
        length = struct.pack("<I", len(body) + 3 * _WORD)
        self._stream.write(struct.pack("<I", block) + length + body + length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % _WORD)
