"""Tallies: how many values there were, their sum and maximum, and how often each came.

A tally of times or rates keeps its first values as they come, if most of them differ;
when there are many, and in a tally of sizes at once, each is counted in a hash table.
All of it is exact until there are too many distinct values; from then on values share
buckets, and are known to 1 part in 2**precision. In a pool beyond its budget they share
buckets early, so that flows, not packets, decide about memory. Kernels.
"""

from testbed.trace.jit import Table, entry, inlined, kernel
from testbed.trace.loads import bit_length
from testbed.trace.pool import BUDGET, NEXT, SEED, give, take

#: The head of a tally, in words. used: values kept, or distinct ones.  bits: its words,
#: half of them, as a power of two.  precision: bits, 0 while exact, RAW for values as
#: they came; else pairs of value and count follow.
N, SUM, MAX, USED, BITS, PRECISION = range(6)
HEAD = 6
RAW = -1

#: The kinds of tallies.
SIZES, TIMES, RATES = range(3)
_TRIAL_BITS, _RAW_BITS = 5, 7  # of raw values: when most may differ, and at most
#: Room for so many distinct values while they are exact. Of sizes: more than there are
#: payload lengths of a packet below 64 KB.
_SIZE_BITS, _TIME_BITS = 16, 12
PRECISION_BITS = 4  # a precision fits in so many
_FIRST_PRECISION = 10  # so a quantile is within 1/1024
_RATE_PRECISION = 6  # it is an estimate, and 1 in 64 is close enough
_COARSEST = 4
_FIRST_BITS = 3
_BUCKET_BITS = 14  # room for as many buckets
_ALWAYS = 6  # room that a tally may have whatever the budget

_EMPTY = 0  # a slot's count when it holds nothing
_WORD_MAX = (1 << 63) - 1


@kernel
def new_tally(pool: Table, kind: int) -> int:
    """Return the place of an empty tally."""
    return _new(pool, _FIRST_BITS, 0 if kind == SIZES else RAW)


@kernel
def _new(pool: Table, bits: int, precision: int) -> int:
    at = take(pool, bits + 1)
    pool[at + PRECISION] = precision
    pool[at + MAX] = -_WORD_MAX
    pool[at + BITS] = bits
    return at


@kernel
def cleared(pool: Table, at: int) -> None:
    """Make a tally empty, and leave it as large as it is."""
    bits, precision = pool[at + BITS], pool[at + PRECISION]
    pool[at : at + (2 << bits)] = 0
    pool[at + PRECISION] = precision
    pool[at + MAX] = -_WORD_MAX
    pool[at + BITS] = bits


@kernel
def tallied(pool: Table, at: int, value: int, kind: int) -> int:
    """Count a value; return where the tally is now, for it moves when it grows."""
    pool[at + N] += 1
    pool[at + SUM] += value
    pool[at + MAX] = max(pool[at + MAX], value)
    if pool[at + PRECISION] != RAW:
        return _put(pool, at, value, kind)
    last = HEAD + pool[at + USED]
    pool[at + last] = value
    pool[at + USED] += 1
    full = last + 1 == 2 << pool[at + BITS]
    return _fuller(pool, at, kind) if full else at


@kernel
def _fuller(pool: Table, at: int, kind: int) -> int:
    """Return a tally with room for more values than fit in one that keeps them raw."""
    bits = pool[at + BITS]
    few = bits < _RAW_BITS and _is_rich(pool, bits)
    if few and bits != _TRIAL_BITS:
        new = _longer(pool, at)
    else:
        new = _in_slots(pool, at, kind)
        if few and 2 * pool[new + USED] > pool[new + N]:  # most of them differ
            give(pool, new, pool[new + BITS] + 1)
            new = _longer(pool, at)
    give(pool, at, bits + 1)
    return new


@kernel
def _longer(pool: Table, at: int) -> int:
    """Return the same raw values with four times the room."""
    bits = pool[at + BITS]
    new = take(pool, bits + 3)
    for word in range(2 << bits):
        pool[new + word] = pool[at + word]
    pool[new + BITS] = bits + 2
    return new


@kernel
def _in_slots(pool: Table, at: int, kind: int) -> int:
    """Return the same values counted in slots."""
    new = _new(pool, _FIRST_BITS, _RATE_PRECISION if kind == RATES else 0)
    for each in range(at + HEAD, at + HEAD + pool[at + USED]):
        new = _put(pool, new, pool[each], kind)
    for word in (N, SUM, MAX):
        pool[new + word] = pool[at + word]
    return new


@inlined
def _is_rich(pool: Table, bits: int) -> bool:
    """Say whether a tally may have more room than it has."""
    rich: bool = pool[NEXT] < pool[BUDGET] or bits < _ALWAYS
    return rich


@kernel
def _put(pool: Table, at: int, value: int, kind: int) -> int:
    """Count a value in its slot; return where the tally is then."""
    precision = pool[at + PRECISION]
    if precision:
        value = bucket(value, precision)
    slot = _slot(pool, at, value)
    pool[slot + 1] += 1
    if pool[slot + 1] > 1:
        return at
    pool[slot] = value
    pool[at + USED] += 1
    if pool[at + USED] * 4 <= 3 * _slots(pool, at):
        return at
    return _roomier(pool, at, _SIZE_BITS if kind == SIZES else _TIME_BITS)


@inlined
def _slots(pool: Table, at: int) -> int:
    """Return how many pairs a tally has room for; its head takes three."""
    return (1 << pool[at + BITS]) - HEAD // 2


@inlined
def _home(pool: Table, at: int, value: int) -> int:
    """Return the slot that is a value's if no other is in it."""
    mixed = (value ^ (value >> 31) ^ pool[SEED]) & 0x7FFF_FFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B_3C6D) & 0x7FFF_FFFF
    mixed = ((mixed ^ (mixed >> 12)) * 0x297A_2D39) & 0x7FFF_FFFF
    return at + HEAD + 2 * (mixed * _slots(pool, at) >> 31)


@inlined
def _slot(pool: Table, at: int, value: int) -> int:
    """Return the slot that holds a value, or the free one that is to."""
    first, which = at + HEAD, _home(pool, at, value)
    while pool[which + 1] != _EMPTY and pool[which] != value:
        which += 2
        if which == first + 2 * _slots(pool, at):
            which = first
    return which


@kernel
def _roomier(pool: Table, at: int, most: int) -> int:
    """Make room in a tally that is nearly full: by more slots, or larger buckets.

    most: bits of its room while it is exact.
    """
    bits, precision = pool[at + BITS], pool[at + PRECISION]
    most = _BUCKET_BITS if precision else most
    if precision == _COARSEST or (_is_rich(pool, bits) and bits < most):
        return _rehashed(pool, at, bits + 1, precision)
    finer = precision - 1 if precision else _FIRST_PRECISION
    return _rehashed(pool, at, bits, finer)


@kernel
def _rehashed(pool: Table, at: int, bits: int, precision: int) -> int:
    """Return a tally of the same values in another form, and drop this one."""
    new = _new(pool, bits, precision)
    for word in (N, SUM, MAX):
        pool[new + word] = pool[at + word]
    first = at + HEAD
    for which in range(first, first + 2 * _slots(pool, at), 2):
        value, count = pool[which], pool[which + 1]
        if count != _EMPTY:
            if precision:
                value = bucket(value, precision)
            slot = _slot(pool, new, value)
            pool[new + USED] += pool[slot + 1] == _EMPTY
            pool[slot] = value
            pool[slot + 1] += count
    give(pool, at, pool[at + BITS] + 1)
    return new


@inlined
def bucket(value: int, precision: int) -> int:
    """Return the middle of the bucket that a value is in; of a small one, itself."""
    size = abs(value)
    shift = bit_length(size) - precision
    if shift <= 0:
        return value
    middle = (size >> shift << shift) + (1 << (shift - 1))
    return middle if value > 0 else -middle


@entry
def spill(pool: Table, places: Table, values: Table, counts: Table) -> None:
    """Write the values of some tallies and how often each came: raw ones unsorted."""
    start = 0
    for at in places:
        begin, first = start, at + HEAD
        if pool[at + PRECISION] == RAW:
            for word in range(first, first + pool[at + USED]):
                values[start], counts[start] = pool[word], 1
                start += 1
            continue
        for which in range(first, first + 2 * _slots(pool, at), 2):
            if pool[which + 1] != _EMPTY:
                values[start], counts[start] = pool[which], pool[which + 1]
                start += 1
        _sort(values[begin:start], counts[begin:start])


@kernel
def _sort(values: Table, counts: Table) -> None:
    """Sort values with their counts: Shell's way, most tallies have few."""
    gap = 1
    while 3 * gap < len(values):
        gap = 3 * gap + 1
    while gap:
        for each in range(gap, len(values)):
            value, count = values[each], counts[each]
            at = each
            while at >= gap and values[at - gap] > value:
                values[at], counts[at] = values[at - gap], counts[at - gap]
                at -= gap
            values[at], counts[at] = value, count
        gap //= 3
