"""Read classic pcap files, in both byte orders, in micro- and nanoseconds.

Source: draft-ietf-opsawg-pcap.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from testbed.errors import CaptureError
from testbed.trace.jit import Table
from testbed.trace.records import Told, fault, room
from testbed.trace.source import Source
from testbed.trace.walk import LARGEST, walk_pcap

_FILE_HEADER = 24
_CAPTURED = 8  # where in a record's header the captured length stands
_LINK_FIELD = 20  # where in the file's header the link type stands
_LINK_TYPE = 0xFFFF  # the field's other bits tell the length of the FCS


class _Format(NamedTuple):
    byte_order: str
    ns_per_tick: int
    record_header: int = 16


#: The magics a file may begin with. The last two are of Kuznetsov's patched libpcap,
#: whose records tell the interface as well.
MAGICS: Mapping[bytes, _Format] = {
    b"\xd4\xc3\xb2\xa1": _Format("<", 1000),
    b"\xa1\xb2\xc3\xd4": _Format(">", 1000),
    b"\x4d\x3c\xb2\xa1": _Format("<", 1),
    b"\xa1\xb2\x3c\x4d": _Format(">", 1),
    b"\x34\xcd\xb2\xa1": _Format("<", 1000, 24),
    b"\xa1\xb2\xcd\x34": _Format(">", 1000, 24),
}


def blocks(source: Source, told: Told) -> Iterator[Table]:
    """Yield the records of a file that begins with one of MAGICS.

    Raises CaptureError when there is not even a whole file header.
    """
    if not source.need(_FILE_HEADER):
        wanted = f"a file header of {_FILE_HEADER} bytes"
        got = f"{source.end - source.at} bytes"
        raise CaptureError(fault(source.name, 0, wanted=wanted, got=got))
    head = source.take(_FILE_HEADER)
    layout = MAGICS[head[:4]]
    (link,) = struct.unpack_from(layout.byte_order + "I", head, _LINK_FIELD)
    source.at += _FILE_HEADER
    told.vantage = ""
    return _records(source, told, layout, link & _LINK_TYPE)


def _records(source: Source, told: Told, layout: _Format, link: int) -> Iterator[Table]:
    big = int(layout.byte_order == ">")
    shape = np.array([big, layout.ns_per_tick, link, layout.record_header], np.int64)
    records = room()
    while True:
        rows, after = walk_pcap(source.data, source.at, source.end, shape, records)
        if rows:
            told.packets += rows
            yield records[:rows]
        source.at = after
        if rows < len(records) and not _whole(source, layout):
            break
    left = source.end - source.at
    if left:
        told.warnings.append(_trouble(source, layout, left))


def _whole(source: Source, layout: _Format) -> bool:
    """Have the next record in the window; say whether there is one."""
    if not source.need(layout.record_header):
        return False
    size = layout.record_header + _captured(source, layout)
    return size <= LARGEST and source.need(size)


def _captured(source: Source, layout: _Format) -> int:
    head = source.take(layout.record_header)
    (captured,) = struct.unpack_from(layout.byte_order + "I", head, _CAPTURED)
    return int(captured)


def _trouble(source: Source, layout: _Format, left: int) -> str:
    wanted, got = "a whole packet record", f"the file's end {left} bytes on"
    if left >= layout.record_header and _captured(source, layout) > LARGEST:
        got = f"a damaged one of {_captured(source, layout)} bytes"
    return fault(source.name, source.position, wanted=wanted, got=got)
