"""How much memory TCP may take: half of all, where the kernel gives it a sixteenth.

A guest is small beside the hosts of a lab. With a sixteenth (tcp_init_mem()) 600 flows
are under memory pressure, which cuts their send buffers down to less than a packet of
BIG TCP. Measured: 32 segments a packet, not 41, at the full scale of tso-rtt-log.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed.errors import NotApplied

_TCP_MEM = Path("/proc/sys/net/ipv4/tcp_mem")  # of the whole machine
_CORE = Path("/proc/sys/net/core")  # these two as well


@contextmanager
def room_for_flows(tcp_mem: Path = _TCP_MEM) -> Iterator[None]:
    """Let TCP have half of the memory as long as the block runs.

    A lab on a host has no such file (the limit is the whole host's, and shows in its
    first network namespace alone), and runs with what the host has.
    """
    if not tcp_mem.exists():
        yield
        return
    wanted = [str(os.sysconf("SC_PHYS_PAGES") // 2)] * 3
    with _set(tcp_mem, wanted):
        yield


@contextmanager
def room_for_buffers(
    sndbuf: int | None, rcvbuf: int | None, folder: Path = _CORE
) -> Iterator[None]:
    """Let any process ask for socket buffers of these bytes as long as the block runs.

    SO_SNDBUF and SO_RCVBUF are cut, silently, to net.core.wmem_max and rmem_max; ours
    are forced past them, another program's cannot be.
    """
    with ExitStack() as stack:
        for name, size in (("wmem_max", sndbuf), ("rmem_max", rcvbuf)):
            if size is not None and size > _limit(folder / name):
                stack.enter_context(_set(folder / name, [str(size)]))
        yield


def _limit(path: Path) -> int:
    """Return the most that may be asked for. A host may not show it, but was tried."""
    return int(path.read_text()) if path.exists() else 1 << 31


@contextmanager
def _set(path: Path, wanted: list[str]) -> Iterator[None]:
    before = path.read_text()
    path.write_text(" ".join(wanted))
    try:
        got = path.read_text().split()
        if got != wanted:
            raise NotApplied(str(path), wanted=" ".join(wanted), got=" ".join(got))
        yield
    finally:
        path.write_text(before)
