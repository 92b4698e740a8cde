"""Capture: what one vantage point saw, read from a file. Start with read_capture.

What reads captures is imported when one is read: numba takes a while, and most commands
read none.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.trace.trace import Trace

if TYPE_CHECKING:
    from testbed.trace.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One capture file.

    packets: in the file, of any kind.  dropped: packets the capture lost, None when the
    file does not tell.  skipped: packets that are in no trace because they could not be
    read, by reason.  warnings: what is wrong with the file.  vantage: the first
    interface's description.
    """

    packets: int
    dropped: int | None
    skipped: Mapping[str, int]
    warnings: tuple[str, ...]
    vantage: str
    traces: tuple[Trace, ...]


def read_capture(path: Path) -> Capture:
    """Read a pcap or pcapng file; raises CaptureError when it is no such thing.

    A file that is cut or damaged later on yields what came before, and a warning.
    """
    from testbed.trace.source import opened  # noqa: PLC0415

    with opened(path) as source:
        return _capture(source)


def parse_capture(data: bytes, name: str) -> Capture:
    """Read a capture from bytes. name: the file's, for what is said about it."""
    from testbed.trace.source import Source  # noqa: PLC0415

    with Source(io.BytesIO(data), name) as source:
        return _capture(source)


def _capture(source: "Source") -> Capture:
    from testbed.trace.inspection import Flows  # noqa: PLC0415
    from testbed.trace.reading import Options, followed  # noqa: PLC0415
    from testbed.trace.series import traces  # noqa: PLC0415

    options = Options(series=True)
    told, state = followed(source, options)
    return Capture(
        packets=told.packets,
        dropped=told.dropped,
        skipped=dict(told.skipped),
        warnings=tuple(told.warnings),
        vantage=told.vantage or "",
        traces=traces(state, Flows(state, options.burst_ns)),
    )
