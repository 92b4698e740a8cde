"""How much memory TCP may take: half of all, where the kernel gives it a sixteenth.

A guest is small beside the hosts of a lab. With a sixteenth (tcp_init_mem()) 600 flows
are under memory pressure, which cuts their send buffers down to less than a packet of
BIG TCP. Measured: 32 segments a packet, not 41, at the full scale of tso-rtt-log.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.errors import NotApplied

_TCP_MEM = Path("/proc/sys/net/ipv4/tcp_mem")  # of the whole machine


@contextmanager
def room_for_flows(tcp_mem: Path = _TCP_MEM) -> Iterator[None]:
    """Let TCP have half of the memory as long as the block runs."""
    before = tcp_mem.read_text()
    wanted = [str(os.sysconf("SC_PHYS_PAGES") // 2)] * 3
    tcp_mem.write_text(" ".join(wanted))
    try:
        got = tcp_mem.read_text().split()
        if got != wanted:
            raise NotApplied(str(tcp_mem), wanted=" ".join(wanted), got=" ".join(got))
        yield
    finally:
        tcp_mem.write_text(before)
