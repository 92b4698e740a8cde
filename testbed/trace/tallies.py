"""Tallies to summaries: the quantiles of every flow at once, in numpy.

Start with tallies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.trace.jit import Table
from testbed.trace.measurement import Summaries
from testbed.trace.tally import HEAD, MAX, PRECISION, RAW, SUM, USED, N, spill
from testbed.trace.trace import Column

_SHARES = (50, 90, 99)  # percent
_EXACT = float(1 << 62)  # of a sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """One metric's tally of each flow; a row a flow, or a pair of value and count.

    values, counts: of all flows, flow by flow, values ascending, some more than once.
    start: where each flow's begin, and behind the last where they end.  total,
    highest: of each flow.
    """

    values: Column
    counts: Column
    start: Column
    total: NDArray[np.float64]
    highest: Column

    def distinct(self, row: int) -> tuple[Column, Column]:
        """Return a flow's values, ascending, and how often each occurred."""
        part = slice(int(self.start[row]), int(self.start[row + 1]))
        return self.values[part], self.counts[part]

    def largest(self) -> Column:
        """Return each flow's largest value, of which there must be one."""
        largest: Column = self.values[self.start[1:] - 1]
        return largest

    def often(self, values: Column) -> Column:
        """Return how often a value of its own occurred in each flow."""
        return self._n(np.where(self.values == self._each(values), self.counts, 0))

    def summaries(self) -> Summaries:
        """Return n, mean and quantiles of each flow's values."""
        return self._summaries(self.values, self.counts, self.total, self.highest)

    def in_segments(self, mss: Column) -> Summaries:
        """Return the same of values in segments of each flow, rounded up."""
        values, highest = -(-self.values // self._each(mss)), -(-self.highest // mss)
        return self._summaries(
            values, self.counts, _totals(values, self.counts, self.start), highest
        )

    def above(self, limit: int) -> Summaries:
        """Return the same of the values above a limit."""
        counts = np.where(self.values > limit, self.counts, 0)
        total = _totals(self.values, counts, self.start)
        return self._summaries(self.values, counts, total, self.highest)

    def _each(self, of_flows: Column) -> Column:
        """Return a column of flows as one of values."""
        return np.repeat(of_flows, np.diff(self.start))

    def _n(self, counts: Column) -> Column:
        sums = np.concatenate([[0], np.cumsum(counts)])
        n: Column = sums[self.start[1:]] - sums[self.start[:-1]]
        return n

    def _summaries(
        self,
        values: Column,
        counts: Column,
        total: NDArray[np.float64],
        highest: Column,
    ) -> Summaries:
        """Summarise values, of which each occurred so many times, ascending in a flow.

        A quantile is the nearest rank at or above, as in Measurement.summary.
        """
        sums, n = np.cumsum(counts), self._n(counts)
        before = np.concatenate([[0], sums])[self.start[:-1]]
        found = np.zeros((len(n), 2 + len(_SHARES)))
        some = n > 0
        n_some, most = n[some], highest[some]
        found[some, 0] = total[some] / n_some
        for column, share in enumerate(_SHARES, start=1):
            at = np.searchsorted(sums, before[some] - (-share * n_some // 100))
            found[some, column] = np.minimum(values[at], most)
        found[some, -1] = most
        return Summaries(n=n, statistics=found)


def tallies(pool: Table, places: Column) -> Tallies:
    """Return the tallies that stand at some places of a pool."""
    head = pool[places[:, None] + np.arange(HEAD)]
    start = np.concatenate([[0], np.cumsum(head[:, USED])])
    values, counts = np.empty((2, int(start[-1])), np.int64)
    spill(pool, np.ascontiguousarray(places), values, counts)
    for row in np.flatnonzero(head[:, PRECISION] == RAW).tolist():
        values[start[row] : start[row + 1]].sort()
    total = head[:, SUM].astype(np.float64)
    if float(np.abs(values).max(initial=0)) * float(head[:, N].max(initial=0)) > _EXACT:
        # Times that are centuries apart: of such a flow the sum did not fit.
        largest = np.maximum.reduceat(np.append(np.abs(values), 0), start[:-1])
        fits = largest.astype(np.float64) * head[:, N] <= _EXACT
        total = np.where(fits, total, _totals(values, counts, start))
    return Tallies(
        values=values,
        counts=counts,
        start=start,
        total=total,
        highest=head[:, MAX],
    )


def _totals(values: Column, counts: Column, start: Column) -> NDArray[np.float64]:
    """Return the sum of each flow's values."""
    # In floats, which are exact below 2**53 and no nonsense above 2**63. There is
    # nothing to add up where a flow has no values: then it does not matter.
    products = np.append(values.astype(np.float64) * counts, 0)
    return np.add.reduceat(products, start[:-1])


def precisions(pool: Table, places: Column) -> Column:
    """Return how exact the tallies at some places are: bits, 0 where values are."""
    return np.maximum(pool[places + PRECISION], 0)
