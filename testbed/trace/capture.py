"""Capture: what one vantage point saw, read from a file. Start with read_capture."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import CaptureError
from testbed.trace import flows, read_pcap, read_pcapng
from testbed.trace.packets import decode
from testbed.trace.records import Records, fault
from testbed.trace.trace import Trace


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
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_capture(data, str(path))


def parse_capture(data: bytes, name: str) -> Capture:
    """Read a capture from bytes. name: the file's, for what is said about it."""
    records = _records(data, name)
    packets = decode(records)
    return Capture(
        packets=len(records.table) + sum(records.skipped.values()),
        dropped=records.dropped,
        skipped={**records.skipped, **packets.skipped},
        warnings=records.warnings,
        vantage=records.vantage,
        traces=flows.traces(packets),
    )


def _records(data: bytes, name: str) -> Records:
    magic = data[:4]
    if magic in read_pcap.MAGICS:
        return read_pcap.read_pcap(data, name)
    if magic == read_pcapng.MAGIC:
        return read_pcapng.read_pcapng(data, name)
    wanted, got = "a pcap or pcapng file", f"{magic.hex(' ') or 'an empty one'}"
    raise CaptureError(fault(name, 0, wanted=wanted, got=got))
