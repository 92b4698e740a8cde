"""Memory for what grows with a flow. Kernels.

A pool is one array of int64 that hands out blocks of power-of-two sizes and takes them
back. Its first words are its own: where unused room begins, its budget, a seed, and for
each size the first block that was given back.
"""

from testbed.trace.jit import Table, kernel
from testbed.trace.tables import lined_up

NEXT, BUDGET, SEED = range(3)
_FREE = 8  # the first of the places for blocks that were given back, one a size
_FIRST = 128  # where blocks begin
#: More words than a packet can need, whichever tallies it makes grow: it may be the one
#: for which all that its flow noted is counted (see counted.py and tally.py).
RESERVE = 24 << 17


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
