"""Read classic pcap files, in both byte orders, in micro- and nanoseconds.

No length in the file is trusted: a record that reaches past the end of the file ends
the reading with a warning, and what came before it stands. Start with read_pcap.

Source: draft-ietf-opsawg-pcap.
"""

import struct
from array import array
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from testbed.errors import CaptureError
from testbed.trace.pcapng import Direction
from testbed.trace.records import Records, RecordTable, fault, gather
from testbed.trace.trace import Column
from testbed.units import NS_PER_S

_FILE_HEADER = 24
_RECORD_HEADER = 16
_CAPTURED = 8  # where in a record's header the captured length stands
_LINK_FIELD = 20  # where in the file's header the link type stands
_LINK_TYPE = 0xFFFF  # the field's other bits tell the length of the FCS


class _Format(NamedTuple):
    byte_order: str
    ns_per_tick: int


#: The four magics a file may begin with.
MAGICS: Mapping[bytes, _Format] = {
    b"\xd4\xc3\xb2\xa1": _Format("<", 1000),
    b"\xa1\xb2\xc3\xd4": _Format(">", 1000),
    b"\x4d\x3c\xb2\xa1": _Format("<", 1),
    b"\xa1\xb2\x3c\x4d": _Format(">", 1),
}


def read_pcap(data: bytes, name: str) -> Records:
    """Return the records of a file that begins with one of MAGICS.

    name: the file's, for what is said about it.  Raises CaptureError when there is not
    even a whole file header.
    """
    if len(data) < _FILE_HEADER:
        wanted = f"a file header of {_FILE_HEADER} bytes"
        got = f"{len(data)} bytes"
        raise CaptureError(fault(name, 0, wanted=wanted, got=got))
    layout = MAGICS[data[:4]]
    starts, warnings = _walk(data, layout.byte_order, name)
    (link,) = struct.unpack_from(layout.byte_order + "I", data, _LINK_FIELD)
    return Records(
        data=data,
        table=_table(data, starts, layout, link & _LINK_TYPE),
        skipped={},
        warnings=warnings,
        vantage="",
        dropped=None,
    )


def _walk(data: bytes, byte_order: str, name: str) -> tuple[Column, tuple[str, ...]]:
    captured_at = struct.Struct(byte_order + "I").unpack_from
    starts = array("q")
    append = starts.append
    at, end = _FILE_HEADER, len(data)
    while at + _RECORD_HEADER <= end:
        append(at)
        at += _RECORD_HEADER + captured_at(data, at + _CAPTURED)[0]
    warnings: tuple[str, ...] = ()
    if at != end:
        if at > end:
            at = starts.pop()
        wanted, got = "a whole packet record", f"the file's end at byte {end}"
        warnings = (fault(name, at, wanted=wanted, got=got),)
    return np.frombuffer(starts, np.int64) if starts else np.zeros(
        0, np.int64
    ), warnings


def _table(data: bytes, starts: Column, layout: _Format, link: int) -> RecordTable:
    field = layout.byte_order + "u4"
    header = np.dtype([(name, field) for name in ("s", "tick", "caplen", "len")])
    rows = gather(data, starts, header)
    captured = rows["caplen"].astype(np.int64)
    ticks = rows["tick"].astype(np.int64)
    return RecordTable(
        time_ns=rows["s"].astype(np.int64) * NS_PER_S + ticks * layout.ns_per_tick,
        offset=starts + _RECORD_HEADER,
        captured=captured,
        wire=np.maximum(captured, rows["len"].astype(np.int64)),
        link=np.full(len(starts), link, np.int64),
        direction=np.full(len(starts), Direction.UNKNOWN, np.int64),
    )
