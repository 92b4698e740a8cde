"""A capture followed to its end: the loop over kernels, and the room they need.

Start with followed.
"""

import secrets
from dataclasses import dataclass

import numpy as np

from testbed.trace import decode as decoding
from testbed.trace.follow import finish, follow
from testbed.trace.jit import Table
from testbed.trace.layers import LINK_UNKNOWN, REASONS
from testbed.trace.records import ROWS, Told, blocks
from testbed.trace.source import Source
from testbed.trace.state import State, grown, has_room, new_state

#: Bytes of the pool from which on it is frugal (see pool.py).
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
    skips = np.zeros(len(REASONS), np.int64)
    links = np.zeros(decoding.LINK_TYPES, np.int64)
    headers = decoding.headers(ROWS)
    for records in blocks(source, told):
        count = decoding.decode(source.data, records, headers, skips, links)
        done = follow(source.data, headers[:count], state)
        while done < count:
            state = grown(state)
            done += follow(source.data, headers[done:count], state)
    while not has_room(state):
        state = grown(state)
    finish(state)
    told.warnings += source.warnings
    _count(told, skips, links)
    return told, state


def _count(told: Told, skips: Table, links: Table) -> None:
    for link in np.flatnonzero(links).tolist():
        told.skipped[f"link type {link}"] += int(links[link])
    for reason, count in zip(REASONS, skips.tolist(), strict=True):
        if reason != REASONS[-1 - LINK_UNKNOWN]:
            told.skipped[reason] += count
    told.skipped = +told.skipped
