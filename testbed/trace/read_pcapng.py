"""Read pcapng: sections in either byte order, interfaces with any clock resolution.

Kernels walk over the blocks; what is wrong with a file is told here. Start with blocks.

Source: draft-ietf-opsawg-pcapng; section numbers below are that document's.
"""

import struct
from collections.abc import Iterator

import numpy as np

from testbed.errors import CaptureError
from testbed.trace import pcapng, walk
from testbed.trace.interfaces import (
    INTERFACE_COLUMNS,
    MOST_INTERFACES,
    S_BIG,
    S_DESCRIBED,
    S_LOST_HIGH,
    S_LOST_LOW,
    S_TELLS,
    S_TEXT,
    S_TEXT_SIZE,
    SECTION_COLUMNS,
)
from testbed.trace.jit import Table
from testbed.trace.pcapng import Block
from testbed.trace.records import Told, fault, room
from testbed.trace.source import Source
from testbed.trace.walk import LARGEST, SHORTEST_BLOCK, SHORTEST_SECTION, walk_pcapng

MAGIC = Block.SECTION.to_bytes(4, "little")

_WORD = 4

REASONS = {
    walk.BAD_BLOCK: "damaged packet block",
    walk.BAD_INTERFACE: "packet of an unknown interface",
    walk.BAD_TIME: "time out of range",
    walk.BEYOND: f"packet of an interface after the first {MOST_INTERFACES}",
}


def blocks(source: Source, told: Told) -> Iterator[Table]:
    """Yield the records of a file that begins with MAGIC.

    Raises CaptureError when not even the first section header can be read.
    """
    if trouble := _section_trouble(source):
        raise CaptureError(trouble)
    return _records(source, told)


def _records(source: Source, told: Told) -> Iterator[Table]:
    section = np.zeros(SECTION_COLUMNS, np.int64)
    interfaces = np.zeros((MOST_INTERFACES, INTERFACE_COLUMNS), np.int64)
    records = room()
    skips = np.zeros(walk.WALK_REASONS, np.int64)
    rows = len(records)
    while rows == len(records) or _goes_on(source, told, section):
        span = (source.at, source.end)
        rows, source.at = walk_pcapng(
            source.data, span, section, interfaces, records, skips
        )
        _note(source, told, section)
        if rows:
            told.packets += rows
            yield records[:rows]
    for reason, text in REASONS.items():
        if skips[reason]:
            told.skipped[text] += int(skips[reason])
            told.packets += int(skips[reason])
    if skips[walk.UNTIMED]:
        told.warnings.append(
            f"{source.name}: {skips[walk.UNTIMED]} packets carry no time"
        )


def _note(source: Source, told: Told, section: Table) -> None:
    """Take what the blocks walked over told of the capture.

    What was lost is added up here, for 64 bits may not hold it.
    """
    if told.vantage is None and section[S_DESCRIBED]:
        at, size = section[S_TEXT], section[S_TEXT_SIZE]
        told.vantage = source.data[at : at + size].tobytes().decode(errors="replace")
    if section[S_TELLS]:
        high, low = (int(section[at]) for at in (S_LOST_HIGH, S_LOST_LOW))
        told.dropped = (told.dropped or 0) + (high << 32) + low
        section[S_LOST_HIGH] = section[S_LOST_LOW] = 0


def _goes_on(source: Source, told: Told, section: Table) -> bool:
    """Have the next block in the window, all of it; say whether there is a good one."""
    if source.need(_WORD) and source.take(_WORD) == MAGIC:
        trouble = _section_trouble(source)
    else:
        trouble = _trouble(source, ">" if section[S_BIG] else "<")
    if trouble:
        told.warnings.append(trouble)
    return not trouble and source.end > source.at


def _trouble(source: Source, order: str) -> str:
    """Have the next block in the window; say what is wrong with it, or nothing."""
    whole = source.need(SHORTEST_BLOCK)
    left = source.end - source.at
    if not whole:
        if not left:
            return ""
        wanted, got = "a whole block", f"{left} bytes"
        return fault(source.name, source.position, wanted=wanted, got=got)
    (length,) = struct.unpack_from(order + "4xI", source.take(SHORTEST_BLOCK))
    size = length - length % _WORD
    if length <= LARGEST and not source.need(size):
        wanted, got = f"a block of {length} bytes", f"{source.end - source.at} bytes"
        return fault(source.name, source.position, wanted=wanted, got=got)
    trailer = source.take(size)[-_WORD:] if SHORTEST_BLOCK <= length <= LARGEST else b""
    if trailer == struct.pack(order + "I", length):
        return ""
    wanted = "a block with its length before and after it"
    got = f"a damaged one of {length} bytes"
    return fault(source.name, source.position, wanted=wanted, got=got)


def _section_trouble(source: Source) -> str:
    """Do the same with a section header block (section 4.1)."""
    source.need(SHORTEST_SECTION)
    name, at = source.name, source.position
    head = source.take(min(SHORTEST_SECTION, source.end - source.at))
    if len(head) < SHORTEST_SECTION:
        wanted = "a section header block"
        return fault(name, at, wanted=wanted, got=head.hex(" "))
    order = "<" if head[8:12] == pcapng.BYTE_ORDER_MAGIC.to_bytes(4, "little") else ">"
    length, magic, major = struct.unpack_from(order + "4xIIH", head)
    if magic != pcapng.BYTE_ORDER_MAGIC:
        wanted, got = "the byte order magic 1a2b3c4d", head[8:12].hex()
        return fault(name, at + 8, wanted=wanted, got=got)
    if major != 1:
        return fault(name, at + 12, wanted="version 1", got=str(major))
    fits = SHORTEST_SECTION <= length <= LARGEST and not length % _WORD
    if not fits or not source.need(length) or source.take(length)[-4:] != head[4:8]:
        wanted, got = "a whole section header block", f"one of {length} bytes"
        return fault(name, at + 4, wanted=wanted, got=got)
    return ""
