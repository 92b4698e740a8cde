"""PairBook: numbers for things that two integers name (addresses, connections)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from testbed.trace.trace import Column

_BITS = 16
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2**64 / golden ratio: Fibonacci hashing


class PairBook:
    """Gives every pair of 64-bit integers a number, always the same for the same pair.

    A direct-mapped cache answers for the pairs met lately, a dictionary for the rest,
    so that a packet costs about the same with one pair as with thousands. Ask for some
    thousands at a time: pairs the cache does not have are sorted.
    """

    def __init__(self, number: Callable[[int, int], int]) -> None:
        """Number pairs by what the function returns when a pair is first met."""
        self._number = number
        self._known: dict[tuple[int, int], int] = {}
        self._high = np.zeros(1 << _BITS, np.uint64)
        self._low = np.zeros(1 << _BITS, np.uint64)
        self._cached = np.zeros(1 << _BITS, np.int64)
        self._used = np.zeros(1 << _BITS, np.bool_)

    def numbers(self, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Column:
        """Return the number of each pair."""
        slot = ((high * _MIX ^ low) * _MIX) >> np.uint64(64 - _BITS)
        known = (self._high[slot] == high) & (self._low[slot] == low) & self._used[slot]
        number: Column = self._cached[slot]
        if known.all():
            return number
        new = np.flatnonzero(~known)
        pairs = np.stack([high[new], low[new]], axis=1)
        unique, which = np.unique(pairs, axis=0, return_inverse=True)
        found = np.array([self._find(*pair) for pair in unique.tolist()], np.int64)
        number[new] = found[which.reshape(-1)]
        where = slot[new]
        self._high[where], self._low[where] = high[new], low[new]
        self._cached[where], self._used[where] = number[new], True
        return number

    def _find(self, high: int, low: int) -> int:
        pair = (high, low)
        if pair not in self._known:
            self._known[pair] = self._number(high, low)
        return self._known[pair]
