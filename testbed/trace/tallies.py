"""Tallies to summaries: the quantiles of every flow at once, in numpy.

Start with tallies.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

import numpy as np

from testbed.trace.jit import Table, entry
from testbed.trace.measurement import Summary
from testbed.trace.pool import MAX, PRECISION, SUM, USED, N, spilled
from testbed.trace.trace import Column

_SHARES = (50, 90, 99)  # percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """One metric's tally of each flow; a row a flow, or a pair of value and count.

    values, counts: of all flows, flow by flow, values ascending.  start: where each
    flow's begin, and behind the last where they end.  n, total, highest: of each flow.
    precision: bits, 0 where values are exact.
    """

    values: Column
    counts: Column
    start: Column
    n: Column
    total: Column
    highest: Column
    precision: Column

    def distinct(self, row: int) -> tuple[Column, Column]:
        """Return a flow's values, ascending, and how often each occurred."""
        part = slice(int(self.start[row]), int(self.start[row + 1]))
        return self.values[part], self.counts[part]

    def error(self, row: int) -> float:
        """Return the largest relative error of a flow's quantiles; 0 if exact."""
        bits = int(self.precision[row])
        return 2.0**-bits if bits else 0.0

    def summary(self, row: int) -> Summary:
        """Return n, mean and quantiles of one flow's values."""
        values, counts = self._listed(row)
        return _summary(values, counts, int(self.total[row]), int(self.highest[row]))

    def in_segments(self, row: int, mss: int) -> Summary:
        """Return the same of a flow's values in segments, each rounded up."""
        values, counts = self._listed(row)
        values = [-(-value // mss) for value in values]
        total = sum(map(mul, values, counts))
        return _summary(values, counts, total, -(-int(self.highest[row]) // mss))

    def above(self, row: int, limit: int) -> Summary:
        """Return the same of the values above a limit."""
        values, counts = self._listed(row)
        first = bisect_right(values, limit)
        values, counts = values[first:], counts[first:]
        total = sum(map(mul, values, counts))
        return _summary(values, counts, total, int(self.highest[row]))

    def _listed(self, row: int) -> tuple[list[int], list[int]]:
        # Most flows have few distinct values, for which lists are faster than arrays.
        values, counts = self.distinct(row)
        return values.tolist(), counts.tolist()


def tallies(pool: Table, places: Column) -> Tallies:
    """Return the tallies that stand at some places of a pool."""
    head = pool[places[:, None] + np.arange(PRECISION + 1)]
    rows = np.zeros((int(head[:, USED].sum()), 3), np.int64)
    spill(pool, np.ascontiguousarray(places), rows)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return Tallies(
        values=rows[:, 1].copy(),
        counts=rows[:, 2].copy(),
        start=np.concatenate([[0], np.cumsum(head[:, USED])]),
        n=head[:, N],
        total=head[:, SUM],
        highest=head[:, MAX],
        precision=head[:, PRECISION],
    )


@entry
def spill(pool: Table, places: Column, rows: Table) -> None:
    """Write (row, value, count) for each value of the tallies at some places."""
    start = 0
    for row in range(len(places)):
        start = spilled(pool, places[row], row, rows, start)


def _summary(values: list[int], counts: list[int], total: int, highest: int) -> Summary:
    """Summarise values, ascending, of which each occurred so many times.

    A quantile is the nearest rank at or above, as in Measurement.summary.
    """
    if not values:
        return Summary(n=0)
    sums = list(accumulate(counts))
    n = sums[-1]
    ranks = (-(-share * n // 100) for share in _SHARES)
    at = (values[bisect_left(sums, rank)] for rank in ranks)
    p50, p90, p99 = (float(min(value, highest)) for value in at)
    return Summary(n=n, mean=total / n, p50=p50, p90=p90, p99=p99, max=float(highest))
