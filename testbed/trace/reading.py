"""A capture followed to its end: the loop over kernels, and the room they need.

Start with followed.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from testbed.errors import CaptureError
from testbed.trace import read_pcap, read_pcapng
from testbed.trace.block import HEADERS, finish, new_desk, take_in
from testbed.trace.jit import Table
from testbed.trace.layers import LINK_UNKNOWN, REASONS
from testbed.trace.records import Told, fault
from testbed.trace.source import Source
from testbed.trace.state import State, grown, new_state

#: Bytes of the pool from which on it is frugal (see tally.py).
BUDGET = 512 << 20
_WORD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """burst_ns: see sent.py.  series: whether to keep a row a packet.

    budget: bytes for the details of flows, above which quantiles become coarser.
    """

    burst_ns: int = 20_000
    series: bool = False
    budget: int = BUDGET


def followed(source: Source, options: Options) -> tuple[Told, State]:
    """Read a capture to its end; raises CaptureError if it is none."""
    told = Told()
    state = new_state(
        seed=secrets.randbits(31),
        burst_ns=options.burst_ns,
        budget=options.budget // _WORD,
        series=options.series,
    )
    desk = new_desk()
    for records in blocks(source, told):
        while not take_in(source.data, records, desk, state):
            state = grown(state, HEADERS)
    while not finish(desk, state):
        state = grown(state, HEADERS)
    told.warnings += source.warnings
    _count(told, desk.skips, desk.links)
    return told, state


def blocks(source: Source, told: Told) -> Iterator[Table]:
    """Yield the records, which are offsets in source.data until the next are asked for.

    Raises CaptureError when it is no capture file.
    """
    source.need(4)
    magic = source.take(min(4, source.end - source.at))
    if magic in read_pcap.MAGICS:
        return read_pcap.blocks(source, told)
    if magic == read_pcapng.MAGIC:
        return read_pcapng.blocks(source, told)
    if source.warnings:
        raise CaptureError(source.warnings[0])
    wanted = "a pcap or pcapng file, plain or in gzip or zstd"
    got = magic.hex(" ") or "an empty file"
    raise CaptureError(fault(source.name, 0, wanted=wanted, got=got))


def _count(told: Told, skips: Table, links: Table) -> None:
    for link in np.flatnonzero(links).tolist():
        told.skipped[f"link type {link}"] += int(links[link])
    for reason, count in zip(REASONS, skips.tolist(), strict=True):
        if reason != REASONS[-1 - LINK_UNKNOWN]:
            told.skipped[reason] += count
    told.skipped = +told.skipped
