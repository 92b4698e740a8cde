"""Memory for what grows with a flow, and counts of values kept in it. Kernels.

A pool is one array of int64 that hands out blocks of power-of-two sizes and takes them
back. Its first words are its own: where unused room begins, its budget, a seed, and for
each size the first block that was given back.

A tally counts values: how many, their sum and maximum, and how often each occurred.
All of it is exact until it holds too many distinct values for its kind; from then on
values share buckets, and are known to 1 part in 2**precision. A pool beyond its budget
has tallies share buckets early, so that flows, not packets, decide about memory.
"""

from testbed.trace.jit import Table, entry, inlined, kernel
from testbed.trace.loads import bit_length
from testbed.trace.tables import lined_up

NEXT, BUDGET, SEED = range(3)
_FREE = 8  # the first of the places for blocks that were given back, one a size
_FIRST = 128  # where blocks begin

#: The head of a tally, in words; pairs of value and count follow. used: distinct
#: values.  slots: pairs there is room for, the head included, as a power of two.
#: precision: bits, 0 while exact.
N, SUM, MAX, USED, SLOTS, PRECISION = range(6)
TALLY_HEAD = 6

#: The kinds of tallies: room for so many distinct values, as a power of two, while they
#: are exact.  SIZES: more than there are payload lengths of a packet below 64 KB.
SIZES, TIMES = 16, 12
_FIRST_SLOTS = 3
PRECISION_BITS = 4  # a precision fits in so many
_FIRST_PRECISION = 10  # so a quantile is within 1/1024
_COARSEST = 4
_BUCKETS = 14  # room for as many buckets, as a power of two
_ALWAYS = 6  # room that a tally may have whatever the budget
#: More words than a packet can need, whichever tallies it makes grow: it may be the one
#: for which all that its flow noted is counted (see counted.py).
RESERVE = 24 << (SIZES + 1)

_EMPTY = 0  # a slot's count when it holds nothing
_WORD_MAX = (1 << 63) - 1


def new_pool(budget: int, seed: int) -> Table:
    """Return an empty pool. budget: words from which on it is frugal."""
    # Words not used yet cost nothing, and ten thousand flows need not move to another.
    pool = lined_up(8 * RESERVE)
    pool[NEXT], pool[BUDGET], pool[SEED] = _FIRST, budget, seed
    return pool


def grown_pool(pool: Table) -> Table:
    """Return a pool twice as large with the same in it."""
    grown = lined_up(2 * len(pool))
    grown[: pool[NEXT]] = pool[: pool[NEXT]]
    return grown


@kernel
def take(pool: Table, power: int) -> int:
    """Return the place of a block of 2**power words, zeroed.

    The caller sees to it that RESERVE words are unused before each packet.
    """
    at = pool[_FREE + power]
    if at:
        pool[_FREE + power] = pool[at]
        pool[at : at + (1 << power)] = 0
        return at
    at = pool[NEXT]
    pool[NEXT] += 1 << power
    return at


@kernel
def give(pool: Table, at: int, power: int) -> None:
    """Take a block back."""
    pool[at] = pool[_FREE + power]
    pool[_FREE + power] = at


@kernel
def new_tally(pool: Table, precision: int) -> int:
    """Return the place of an empty tally. precision: bits, 0 for exact ones."""
    at = take(pool, _FIRST_SLOTS + 1)
    pool[at + PRECISION] = precision
    pool[at + MAX] = -_WORD_MAX
    pool[at + SLOTS] = _FIRST_SLOTS
    return at


@kernel
def tallied(pool: Table, at: int, value: int, kind: int) -> int:
    """Count a value; return where the tally is now, for it moves when it grows."""
    pool[at + N] += 1
    pool[at + SUM] += value
    pool[at + MAX] = max(pool[at + MAX], value)
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
    return _roomier(pool, at, kind)


@kernel
def cleared(pool: Table, at: int) -> None:
    """Make a tally empty, and leave it as large as it is."""
    slots, precision = pool[at + SLOTS], pool[at + PRECISION]
    pool[at : at + (2 << slots)] = 0
    pool[at + PRECISION] = precision
    pool[at + MAX] = -_WORD_MAX
    pool[at + SLOTS] = slots


@inlined
def _slots(pool: Table, at: int) -> int:
    """Return how many pairs a tally has room for; its head takes three."""
    return (1 << pool[at + SLOTS]) - TALLY_HEAD // 2


@inlined
def _home(pool: Table, at: int, value: int) -> int:
    """Return the slot that is a value's if no other is in it."""
    mixed = (value ^ (value >> 31) ^ pool[SEED]) & 0x7FFF_FFFF
    mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B_3C6D) & 0x7FFF_FFFF
    mixed = ((mixed ^ (mixed >> 12)) * 0x297A_2D39) & 0x7FFF_FFFF
    return at + TALLY_HEAD + 2 * (mixed * _slots(pool, at) >> 31)


@inlined
def _slot(pool: Table, at: int, value: int) -> int:
    """Return the slot that holds a value, or the free one that is to."""
    first, which = at + TALLY_HEAD, _home(pool, at, value)
    while pool[which + 1] != _EMPTY and pool[which] != value:
        which += 2
        if which == first + 2 * _slots(pool, at):
            which = first
    return which


@kernel
def _roomier(pool: Table, at: int, kind: int) -> int:
    """Make room in a tally that is nearly full: by more slots, or larger buckets."""
    bits, precision = pool[at + SLOTS], pool[at + PRECISION]
    most = _BUCKETS if precision else kind
    rich = pool[NEXT] < pool[BUDGET] or bits < _ALWAYS
    if precision == _COARSEST or (rich and bits < most):
        return _rehashed(pool, at, bits + 1, precision)
    finer = precision - 1 if precision else _FIRST_PRECISION
    return _rehashed(pool, at, bits, finer)


@kernel
def _rehashed(pool: Table, at: int, bits: int, precision: int) -> int:
    """Return a tally of the same values in another form, and drop this one."""
    new = take(pool, bits + 1)
    for word in (N, SUM, MAX):
        pool[new + word] = pool[at + word]
    pool[new + SLOTS], pool[new + PRECISION] = bits, precision
    first = at + TALLY_HEAD
    for which in range(first, first + 2 * _slots(pool, at), 2):
        value, count = pool[which], pool[which + 1]
        if count != _EMPTY:
            if precision:
                value = bucket(value, precision)
            slot = _slot(pool, new, value)
            pool[new + USED] += pool[slot + 1] == _EMPTY
            pool[slot] = value
            pool[slot + 1] += count
    give(pool, at, pool[at + SLOTS] + 1)
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
    """Write the values of some tallies, ascending in each, and how often each came."""
    start = 0
    for at in places:
        begin, first = start, at + TALLY_HEAD
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
