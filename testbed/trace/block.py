"""A block of records taken in: decoded and followed some at a time. Start with take_in.

A block is long, so that Python is seldom asked for the next; what is decoded at a time
is short, so that it is still in the cache when it is followed.
"""

from typing import NamedTuple

import numpy as np

from testbed.trace import decode as decoding
from testbed.trace.decode import decode
from testbed.trace.follow import follow
from testbed.trace.jit import Bytes, Table, entry
from testbed.trace.layers import REASONS
from testbed.trace.state import State

#: Headers decoded at a time.
HEADERS = 1 << 8
#: In the block: records that were decoded.  Of the headers: how many there are, and how
#: many were followed.
_NEXT, _DECODED, _FOLLOWED = range(3)
_PROGRESS = 3


class Desk(NamedTuple):
    """Where a block is worked on.

    headers: see decode.py.  progress: in the block.  skips, links: counts of what is no
    TCP header, of the whole capture; see decode.
    """

    headers: Table
    progress: Table
    skips: Table
    links: Table


def new_desk() -> Desk:
    """Return one before the first block."""
    return Desk(
        headers=decoding.headers(HEADERS),
        progress=np.zeros(_PROGRESS, np.int64),
        skips=np.zeros(len(REASONS), np.int64),
        links=np.zeros(decoding.LINK_TYPES, np.int64),
    )


@entry
def take_in(data: Bytes, records: Table, desk: Desk, state: State) -> bool:
    """Take in a block of records; False if the state has to grow for it to go on.

    data: the buffer that the records are in.
    """
    headers, progress = desk.headers, desk.progress
    while True:
        ready = headers[progress[_FOLLOWED] : progress[_DECODED]]
        progress[_FOLLOWED] += follow(data, ready, state)
        if progress[_FOLLOWED] < progress[_DECODED]:
            return False
        begin = progress[_NEXT]
        if begin == len(records):
            break
        end = min(begin + len(headers), len(records))
        progress[_DECODED] = decode(
            data, records[begin:end], headers, desk.skips, desk.links
        )
        progress[_FOLLOWED] = 0
        progress[_NEXT] = end
    progress[:] = 0
    return True
