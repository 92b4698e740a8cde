"""Records: the packets of a capture file of either kind, some thousands at a time.

No length in the file is trusted: a record that is damaged or cut ends the reading with
a warning, and what came before it stands.
Start with Told; read_pcap.py and read_pcapng.py read the two kinds of files.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from testbed.trace.jit import Table
from testbed.trace.walk import RECORD_COLUMNS

#: Records handled together: enough to make calls of kernels worth it.
ROWS = 1 << 14


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


def fault(name: str, offset: int, *, wanted: str, got: str) -> str:
    """Say what is wrong with a file, and where."""
    return f"{name}, byte {offset}: wanted {wanted}, got {got}"
