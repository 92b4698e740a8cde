"""Sets of positions as a few disjoint ranges: bytes seen, bytes selectively acked.

All positions below a floor are in a set, and the ranges above it, in order. Of more
ranges than MOST the lowest becomes part of the floor: memory is bounded, and what comes
late into so old a gap is then taken for a repetition. Kernels.
"""

from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.loads import prefetch
from testbed.trace.pool import give, take

MOST = 128
_WORDS = 2  # a range takes four words, as a power of two
_FIRST_POWER = 4
_LOW, _HIGH, _SINCE = range(3)
_POWER = 3  # the fourth word of the first range: the size of the block


@inlined
def fetch_ranges(pool: Table, flow: Table, which: int) -> None:
    """Have the cache fetch the highest range, where most that is new comes."""
    if flow[which + 1]:
        prefetch(pool, _range(flow[which], flow[which + 1] - 1))


@kernel
def covered(
    pool: Table, flow: Table, which: int, span: tuple[int, int], now: int
) -> tuple[int, int]:
    """Add a span above the floor; return how much of it is new, and since when.

    which: the column of the flow that holds the set's place; the count of its ranges
    and, for SEEN, the floor follow.  Since when: there has been a gap where the span
    brings something new, -1 where there was none.
    """
    low, high = span
    if not flow[which]:
        flow[which] = take(pool, _FIRST_POWER)
        pool[flow[which] + _POWER] = _FIRST_POWER
    at, count = flow[which], flow[which + 1]
    first = count
    while first and pool[_range(at, first - 1) + _HIGH] >= low:
        first -= 1
    last, overlap, since = first, 0, -1
    if first < count:
        since = pool[_range(at, first) + _SINCE]
    lowest, highest, born = low, high, since if since >= 0 else now
    while last < count and pool[_range(at, last) + _LOW] <= high:
        place = _range(at, last)
        overlap += min(high, pool[place + _HIGH]) - max(low, pool[place + _LOW])
        lowest = min(lowest, pool[place + _LOW])
        highest = max(highest, pool[place + _HIGH])
        last += 1
    _replace(pool, flow, which, (first, last))
    place = _range(flow[which], first)
    pool[place + _LOW], pool[place + _HIGH] = lowest, highest
    pool[place + _SINCE] = born
    return high - low - overlap, since


@kernel
def _range(at: int, which: int) -> int:
    return at + (which << _WORDS)


@kernel
def _replace(pool: Table, flow: Table, which: int, merged: tuple[int, int]) -> None:
    """Make one range of those merged, or room for a new one if there are none."""
    first, last = merged
    count, moved = flow[which + 1], first + 1 - last
    if moved > 0 and (count + 1) << _WORDS > 1 << pool[flow[which] + _POWER]:
        _grow(pool, flow, which)
    at = flow[which]
    order = range(count - 1, last - 1, -1) if moved > 0 else range(last, count)
    for each in order:
        source, target = _range(at, each), _range(at, each + moved)
        for word in range(_POWER):
            pool[target + word] = pool[source + word]
    flow[which + 1] = count + moved


@kernel
def _grow(pool: Table, flow: Table, which: int) -> None:
    old, count = flow[which], flow[which + 1]
    power = pool[old + _POWER]
    new = take(pool, power + 1)
    for word in range(count << _WORDS):
        pool[new + word] = pool[old + word]
    pool[new + _POWER] = power + 1
    give(pool, old, power)
    flow[which] = new


@kernel
def floored(pool: Table, flow: Table, which: int, floor: int) -> int:
    """Drop the ranges that touch the floor; return where it is then."""
    at, count = flow[which], flow[which + 1]
    gone = 0
    while gone < count and (
        pool[_range(at, gone) + _LOW] <= floor or count - gone > MOST
    ):
        floor = max(floor, pool[_range(at, gone) + _HIGH])
        gone += 1
    if gone:
        for each in range(count - gone):
            for word in range(_POWER):
                pool[_range(at, each) + word] = pool[_range(at, each + gone) + word]
        flow[which + 1] = count - gone
    return floor
