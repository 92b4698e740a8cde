"""The kernel's own account of why each packet has its size, through tracefs.

It stays in a buffer of the kernel until the traffic is over: a process that read along
would change what the kernel does. Events are numbered, not timed: reading the clock
can move virtual time.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.errors import NotApplied
from testbed.lab.files import written_through

_TRACING = Path("/sys/kernel/tracing")
_EVENT = Path("events/tcp/tcp_xmit_decision")  # of our patch tcp-xmit-decision
#: For each CPU, 6144 pages of 4080 bytes: whole pages, else it reads back as more.
#: measured: it holds 258,000 decisions.
_BUFFER_KB = 6144 * 4080 // 1024
_NAME = re.compile(r"(\w+)=%")
_VALUE = re.compile(r"=(\d+)")
_LOST = re.compile(r"^(?:overrun|commit overrun|dropped events): (\d+)$", re.MULTILINE)


@contextmanager
def recording(
    port: int, known_by: str = "dport", tracing: Path = _TRACING
) -> Iterator[Path | None]:
    """Have the kernel note its decisions about data sent to a port, or from it.

    known_by: "dport" or "sport".
    Yields the tracing instance to save them from; None where the kernel has no such
    tracepoint.  Once the buffer is full, what comes later is lost, and counted.
    """
    if not (tracing / _EVENT).is_dir():
        yield None
        return
    instance = tracing / "instances" / "testbed"
    instance.mkdir()
    try:
        for name, wanted in _settings(port, known_by).items():
            _apply(instance / name, wanted)
        yield instance
    finally:
        instance.rmdir()


def save(instance: Path, file: Path) -> int:
    """Write the decisions noted so far as CSV; return how many were lost."""
    shape = (instance / _EVENT / "format").read_text()
    with written_through(file) as stream, (instance / "trace").open() as trace:
        stream.writelines(line.encode() for line in csv_lines(shape, trace))
    return lost(path.read_text() for path in instance.glob("per_cpu/cpu*/stats"))


def csv_lines(shape: str, trace: Iterable[str]) -> Iterator[str]:
    """Turn a trace of "name=value" events into CSV, its header from the event's format.

    Lines of the trace that are not the event's are left out.
    """
    yield ",".join(_NAME.findall(shape)) + "\n"
    events = (line for line in trace if line.startswith(f"{_EVENT.name}: "))
    for line in events:
        yield ",".join(_VALUE.findall(line)) + "\n"


def lost(stats: Iterable[str]) -> int:
    """Return how many events each CPU's stats say did not fit its buffer, in all."""
    return sum(int(number) for text in stats for number in _LOST.findall(text))


def _settings(port: int, known_by: str) -> dict[str, str]:
    return {
        "trace_clock": "counter",
        "buffer_size_kb": str(_BUFFER_KB),
        "options/overwrite": "0",  # what is lost is the end, and the start is known
        "options/context-info": "0",
        f"{_EVENT}/filter": f"{known_by} == {port} && length > 0",
        f"{_EVENT}/enable": "1",
    }


def _apply(path: Path, wanted: str) -> None:
    try:
        path.write_text(wanted)
        got = path.read_text().strip()
    except OSError as error:
        raise NotApplied(str(path), wanted=wanted, got=error.strerror) from error
    if wanted != got and f"[{wanted}]" not in got.split():
        raise NotApplied(str(path), wanted=wanted, got=got)
