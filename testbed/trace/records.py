"""Records: the packets of a capture file of either kind, some thousands at a time.

No length in the file is trusted: a record that is damaged or cut ends the reading with
a warning, and what came before it stands. Start with blocks.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from testbed.errors import CaptureError
from testbed.trace.jit import Table
from testbed.trace.source import Source
from testbed.trace.walk import RECORD_COLUMNS

#: Records handled together: few enough for the cache, enough to make kernels worth it.
ROWS = 1 << 10
#: Bytes of a record; one beyond it is damage. Linux hands at most 512 KiB to a device.
LARGEST = 1 << 24


@dataclass(slots=True, kw_only=True)
class Told:
    """What a capture file says around its packets, as far as it was read.

    packets: in the file, of any kind.  skipped: those that could not be used, by
    reason.  warnings: what is wrong with the file.  vantage: what the first interface
    says of itself.  dropped: packets the capture lost, None when the file does not
    tell.
    """

    packets: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    vantage: str | None = None
    dropped: int | None = None


def room() -> Table:
    """Return room for a block of records."""
    return np.zeros((ROWS, RECORD_COLUMNS), np.int64)


def blocks(source: Source, told: Told) -> Iterator[Table]:
    """Yield the records, which are offsets in source.data until the next are asked for.

    Raises CaptureError when it is no capture file.
    """
    from testbed.trace import read_pcap, read_pcapng

    source.need(4)
    magic = source.take(min(4, source.end - source.at))
    if magic in read_pcap.MAGICS:
        return read_pcap.blocks(source, told)
    if magic == read_pcapng.MAGIC:
        return read_pcapng.blocks(source, told)
    wanted = "a pcap or pcapng file, plain or in gzip or zstd"
    got = magic.hex(" ") or "an empty file"
    raise CaptureError(fault(source.name, 0, wanted=wanted, got=got))


def fault(name: str, offset: int, *, wanted: str, got: str) -> str:
    """Say what is wrong with a file, and where."""
    return f"{name}, byte {offset}: wanted {wanted}, got {got}"
