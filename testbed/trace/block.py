"""A block of records taken in: decoded, and followed in turns. Start with take_in.

A block is long, so that Python is seldom asked for the next; what is decoded at a time
is short, so that it is still in the cache when its connections are looked up. Headers
then wait until it is worth following them connection by connection, see turns.py.
"""

from typing import NamedTuple

import numpy as np

from testbed.trace import decode as decoding
from testbed.trace.connections import find_all
from testbed.trace.decode import decode
from testbed.trace.follow import close, follow
from testbed.trace.jit import Bytes, Table, entry, kernel
from testbed.trace.layers import REASONS
from testbed.trace.state import CONNECTIONS, NUMBER, State, has_room
from testbed.trace.tables import lined_up
from testbed.trace.turns import BUCKETS, TURN_COLUMNS, arrange

#: Headers decoded at a time, and followed before the state's room is looked at again.
HEADERS = 1 << 8
#: Headers that wait, of one connection and at most: so many that those of a connection
#: among them are worth its way into the cache.
_A_CONNECTION = 8
_MOST = 1 << 16
#: In the block: records that were decoded.  Of the headers: how many wait, whether they
#: are arranged, and how many were followed.
_NEXT, _WAITING, _ARRANGED, _FOLLOWED = range(4)
_PROGRESS = 4


class Desk(NamedTuple):
    """Where a block is worked on.

    headers: see decode.py.  found: the connection of each, see connections.py.  turns,
    buckets: see turns.py.  progress: see above.  skips, links: counts of what is no TCP
    header, of the whole capture; see decode.
    """

    headers: Table
    found: Table
    turns: Table
    buckets: Table
    progress: Table
    skips: Table
    links: Table


def new_desk() -> Desk:
    """Return one before the first block."""
    return Desk(
        headers=decoding.headers(_MOST + HEADERS),
        found=lined_up(_MOST + HEADERS),
        turns=lined_up(_MOST + HEADERS, TURN_COLUMNS),
        buckets=lined_up(BUCKETS + 1),
        progress=np.zeros(_PROGRESS, np.int64),
        skips=np.zeros(len(REASONS), np.int64),
        links=np.zeros(decoding.LINK_TYPES, np.int64),
    )


@entry
def take_in(data: Bytes, records: Table, desk: Desk, state: State) -> bool:
    """Take in a block of records; False if the state has to grow for it to go on.

    data: the buffer that the records are in.
    """
    progress = desk.progress
    while progress[_NEXT] < len(records):
        enough = min(_MOST, max(HEADERS, _A_CONNECTION * state.counts[CONNECTIONS]))
        if progress[_WAITING] >= enough and not _followed(desk, state):
            return False
        if not has_room(state, HEADERS):
            return False
        begin, waiting = progress[_NEXT], progress[_WAITING]
        end = min(begin + HEADERS, len(records))
        room = desk.headers[waiting : waiting + HEADERS]
        count = decode(data, records[begin:end], room, desk.skips, desk.links)
        find_all(room[:count], desk.found[waiting : waiting + count], state)
        progress[_NEXT], progress[_WAITING] = end, waiting + count
    progress[_NEXT] = 0
    return True


@entry
def finish(desk: Desk, state: State) -> bool:
    """Take in what waits, and what went on when the capture ended.

    False if the state has to grow for it to go on.
    """
    return _followed(desk, state) and close(state)


@kernel
def _followed(desk: Desk, state: State) -> bool:
    """Follow all headers that wait; False if the state has to grow for it to go on."""
    progress = desk.progress
    waiting = progress[_WAITING]
    if not progress[_ARRANGED]:
        connections = state.counts[CONNECTIONS]
        arrange(desk.found[:waiting], connections, desk.turns, desk.buckets)
        progress[_ARRANGED] = 1
    while progress[_FOLLOWED] < waiting:
        begin = progress[_FOLLOWED]
        turns = desk.turns[begin : min(begin + HEADERS, waiting)]
        count = follow(desk.headers, turns, state)
        if not count:
            return False
        progress[_FOLLOWED] += count
    state.counts[NUMBER] += waiting
    progress[_WAITING] = progress[_ARRANGED] = progress[_FOLLOWED] = 0
    return True
