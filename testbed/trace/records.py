"""Records: where in a capture file the packets are, and what the file says of them.

Made by read_pcap.py and read_pcapng.py, read by packets.py. Nothing here looks into a
packet.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.trace.trace import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """One row a packet, in file order.

    offset: of the packet's first byte in the file.  captured: bytes that stand there.
    wire: bytes the packet had, never below captured.  link: LINKTYPE_ number.
    direction: pcapng.Direction.
    """

    time_ns: Column
    offset: Column
    captured: Column
    wire: Column
    link: Column
    direction: Column

    def __len__(self) -> int:
        return len(self.offset)

    def take(
        self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice
    ) -> "RecordTable":
        """Return the rows asked for, in the order asked for."""
        return RecordTable(
            time_ns=self.time_ns[rows],
            offset=self.offset[rows],
            captured=self.captured[rows],
            wire=self.wire[rows],
            link=self.link[rows],
            direction=self.direction[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The packets of one capture file, and what was found around them.

    data: the file's bytes.  skipped: packets that could not be used, by reason.
    warnings: what is wrong with the file.  vantage: what the first interface says of
    itself.  dropped: packets the capture lost, None when the file does not tell.
    """

    data: bytes
    table: RecordTable
    skipped: Mapping[str, int]
    warnings: tuple[str, ...]
    vantage: str
    dropped: int | None


def joined(tables: Iterable[RecordTable]) -> RecordTable:
    """Return the rows of all tables, one table after the other."""
    parts = tuple(tables)
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> Column:
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *(getattr(part, name) for part in parts)])

    return RecordTable(
        time_ns=column("time_ns"),
        offset=column("offset"),
        captured=column("captured"),
        wire=column("wire"),
        link=column("link"),
        direction=column("direction"),
    )


def fault(name: str, offset: int, *, wanted: str, got: str) -> str:
    """Say what is wrong with a file, and where."""
    return f"{name}, byte {offset}: wanted {wanted}, got {got}"


def gather(data: bytes, at: Column, layout: np.dtype[np.void]) -> NDArray[np.void]:
    """Return the structures that stand at the given offsets, one a row.

    The caller has checked that each lies inside the data.
    """
    if not len(at):
        return np.zeros(0, layout)
    # An array of every structure in the data, overlapping; indexing it as bare bytes is
    # what makes this fast: 10 ns a row, where each field on its own costs as much.
    every: NDArray[np.void] = np.ndarray(
        len(data) - layout.itemsize + 1, f"V{layout.itemsize}", data, strides=(1,)
    )
    return every[at].view(layout)
