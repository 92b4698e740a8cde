"""Values that wait to be counted, in a log of each flow. Kernels.

In a capture of many flows a tally is seldom in the cache when a packet needs it, and it
is large. So a flow notes its values one behind the other, which takes a line of the
cache for eight of them, and counts them together when the log is full.
"""

from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.loads import prefetch
from testbed.trace.pool import BUDGET, NEXT, give, take
from testbed.trace.state import (
    LOG,
    LOG_ROOM,
    NOTED,
    PACE,
    SIZE,
    SIZE_TALLIES,
    TALLIES,
)
from testbed.trace.tables import LINE
from testbed.trace.tally import BITS, RATES, SIZES, TIMES, tallied

_FIRST_BITS, _MOST_BITS = 4, 7  # of the room of a log, which grows once
_A_PACKET = 8  # words: four values at most, and two words at most for each
_TAG_BITS = 3  # of a noted value: which tally it is for
_TAG = (1 << _TAG_BITS) - 1
_WHOLE = 7  # the tag of a note whose value, too large to have one, is the next word
_MOST = (1 << (63 - _TAG_BITS)) - 1
_MOST_FETCHED = 1 << 8  # words of a tally


@inlined
def make_room(pool: Table, flow: Table) -> None:
    """Make room in a flow's log for the values of a packet, unless there is."""
    if flow[NOTED] + _A_PACKET > flow[LOG_ROOM]:
        _make_room(pool, flow)


@inlined
def count(pool: Table, flow: Table, tally: int, value: int) -> None:
    """Have a value counted. tally: its column.  There has to be room for it."""
    at = flow[LOG] + flow[NOTED]
    if -_MOST <= value <= _MOST:
        pool[at] = value << _TAG_BITS | tally - SIZE
        flow[NOTED] += 1
    else:
        pool[at], pool[at + 1] = (tally - SIZE) << _TAG_BITS | _WHOLE, value
        flow[NOTED] += 2


@kernel
def _make_room(pool: Table, flow: Table) -> None:
    old, room = flow[LOG], flow[LOG_ROOM]
    if not old:
        flow[LOG], flow[LOG_ROOM] = take(pool, _FIRST_BITS), 1 << _FIRST_BITS
    elif room >> _MOST_BITS or pool[NEXT] > pool[BUDGET]:
        counted(pool, flow)
    else:
        new = take(pool, _MOST_BITS)
        for each in range(flow[NOTED]):
            pool[new + each] = pool[old + each]
        give(pool, old, _FIRST_BITS)
        flow[LOG], flow[LOG_ROOM] = new, 1 << _MOST_BITS


@kernel
def counted(pool: Table, flow: Table) -> None:
    """Count all that a flow noted, in the order in which it came."""
    _fetch_tallies(pool, flow)
    at = flow[LOG]
    end = at + flow[NOTED]
    while at < end:
        tag, value = pool[at] & _TAG, pool[at] >> _TAG_BITS
        if tag == _WHOLE:
            at += 1
            tag, value = value, pool[at]
        tally = SIZE + tag
        flow[tally] = tallied(pool, flow[tally], value, kind_of(tally))
        at += 1
    flow[NOTED] = 0


@inlined
def kind_of(tally: int) -> int:
    """Return of which kind the tally in a column is, see tally.py."""
    if tally < SIZE + SIZE_TALLIES:
        return SIZES
    return RATES if tally == PACE else TIMES


@inlined
def _fetch_tallies(pool: Table, flow: Table) -> None:
    """Have the cache fetch the tallies of a flow."""
    for tally in range(SIZE, SIZE + TALLIES):
        prefetch(pool, flow[tally])
    for tally in range(SIZE, SIZE + TALLIES):
        at = flow[tally]
        for word in range(LINE, min(2 << pool[at + BITS], _MOST_FETCHED), LINE):
            prefetch(pool, at + word)


@inlined
def fetch_log(pool: Table, flow: Table) -> None:
    """Have the cache fetch where the next value will be noted."""
    prefetch(pool, flow[LOG] + flow[NOTED])
