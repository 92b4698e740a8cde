"""nstat's counters: what /proc/net/{snmp,netstat,snmp6} say, under nstat's names."""

import resource
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from testbed.errors import InfrastructureError

_NET = Path("/proc/self/net")


def read_counters() -> dict[str, int]:
    """Return every counter of the network namespace this process is in."""
    counters: dict[str, int] = {}
    for name in ("snmp", "netstat"):
        counters |= parse_paired((_NET / name).read_text())
    return counters | parse_listed((_NET / "snmp6").read_text())


def parse_paired(text: str) -> dict[str, int]:
    """Parse snmp and netstat: a line of names, then a line of values.

    `TcpExt: A B` over `TcpExt: 1 2` gives TcpExtA 1, TcpExtB 2.
    """
    counters: dict[str, int] = {}
    lines = text.splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        prefix, _, rest = names.partition(":")
        again, _, numbers = values.partition(":")
        if prefix != again:
            raise InfrastructureError(f"/proc/net: {prefix} is followed by {again}")
        pairs = zip(rest.split(), numbers.split(), strict=True)
        counters |= {prefix + name: int(value) for name, value in pairs}
    return counters


def parse_listed(text: str) -> dict[str, int]:
    """Parse snmp6: a name and a value a line."""
    pairs = (line.split() for line in text.splitlines() if line.strip())
    return {name: int(value) for name, value in pairs}


def deltas(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return how far each counter moved, leaving out what did not (as nstat does)."""
    moved = ((name, value - before.get(name, 0)) for name, value in after.items())
    return {name: by for name, by in moved if by}


def cpu_used(whose: int = resource.RUSAGE_SELF) -> dict[str, int]:
    """Return this process's CPU time in ns, and how often it gave a CPU up.

    whose: RUSAGE_CHILDREN is of those it has waited for.
    """
    used = resource.getrusage(whose)
    return {
        "cpu_ns": round((used.ru_utime + used.ru_stime) * 1e9),
        "context_switches": used.ru_nvcsw + used.ru_nivcsw,
    }


def count_when_told(pipe: Connection) -> dict[str, int]:
    """Wait to be told, read the counters, say "counting"; return what they were."""
    pipe.recv()
    counters = read_counters()
    pipe.send("counting")
    return counters


def report_counters(pipe: Connection, before: dict[str, int]) -> None:
    """Wait to be told that the last packet has arrived; say how the counters moved."""
    pipe.recv()
    pipe.send(deltas(before, read_counters()))
