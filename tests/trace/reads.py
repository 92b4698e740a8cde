"""A capture's records and headers, one by one, for tests that look below the flows."""

import io
import ipaddress
from types import SimpleNamespace

import numpy as np

from testbed.trace import decode as decoding
from testbed.trace import layers, walk
from testbed.trace.reading import blocks
from testbed.trace.records import ROWS, Told
from testbed.trace.source import Source

RECORD = {
    "time_ns": walk.TIME,
    "captured": walk.CAPTURED,
    "wire": walk.WIRE,
    "link": walk.LINK,
    "direction": walk.DIRECTION,
}
HEADER = {
    "time_ns": layers.H_TIME,
    "sport": layers.SPORT,
    "dport": layers.DPORT,
    "seq": layers.SEQ,
    "ack": layers.ACK,
    "flags": layers.FLAGS,
    "window": layers.WINDOW,
    "length": layers.LENGTH,
    "option_bytes": layers.OPTIONS,
    "mss": layers.MSS,
    "wscale": layers.WSCALE,
    "sacks": layers.SACKS,
    "direction": layers.H_DIRECTION,
    "ttl": layers.TTL,
}


class _Trickle(io.BytesIO):
    """A file that gives so many bytes at a time, at most."""

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(data)
        self.most = most

    def read(self, size: int | None = -1) -> bytes:
        return super().read(
            self.most if size is None or size < 0 else min(size, self.most)
        )


def records(data: bytes, name: str = "x", most: int = 1 << 30) -> SimpleNamespace:
    """Return the columns of all records, their bytes as frames, and what was told.

    most: bytes that come at a time.
    """
    told, rows, frames = Told(), [np.zeros((0, walk.RECORD_COLUMNS), np.int64)], []
    with Source(_Trickle(data, most), name) as source:
        for block in blocks(source, told):
            rows.append(block.copy())
            starts = block[:, walk.AT].tolist()
            sizes = block[:, walk.CAPTURED].tolist()
            frames += [
                source.data[at : at + size].tobytes()
                for at, size in zip(starts, sizes, strict=True)
            ]
    table = np.concatenate(rows)
    columns = {key: table[:, column].tolist() for key, column in RECORD.items()}
    return SimpleNamespace(frames=frames, told=told, **columns)


def headers(data: bytes) -> SimpleNamespace:
    """Return the columns of all TCP headers, and what was skipped, by reason."""
    skips = np.zeros(len(layers.REASONS), np.int64)
    links = np.zeros(decoding.LINK_TYPES, np.int64)
    found, room = [decoding.headers(0)], decoding.headers(ROWS)
    with Source(io.BytesIO(data), "x") as source:
        for block in blocks(source, Told()):
            count = decoding.decode(source.data, block, room, skips, links)
            found.append(room[:count].copy())
    table = np.concatenate(found)
    columns = {key: table[:, column].tolist() for key, column in HEADER.items()}
    return SimpleNamespace(
        src=[_address(row, layers.SRC_HIGH) for row in table.tolist()],
        dst=[_address(row, layers.DST_HIGH) for row in table.tolist()],
        skipped={
            reason: count
            for reason, count in zip(layers.REASONS, skips.tolist(), strict=True)
            if count
        },
        **columns,
    )


def _address(row: list[int], at: int) -> str:
    high, low = (row[at] & (1 << 64) - 1) << 64, row[at + 1] & (1 << 64) - 1
    if row[layers.FAMILY] == layers.IPV4:
        return str(ipaddress.IPv4Address(low))
    return str(ipaddress.IPv6Address(high | low))
