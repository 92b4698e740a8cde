"""Measurement: the samples of one metric, and the summary that JSON and tables show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """n samples and their quantiles; every statistic is None when there are no samples.

    Quantiles are sample values (the nearest rank at or above), never interpolated: the
    p50 of packet sizes is a size that was really sent.
    """

    n: int
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    """The summary of every flow: columns, a row a flow; what n of 0 makes is no number.

    n: samples.  statistics: float64, columns in the order of STATISTICS.
    """

    n: NDArray[np.int64]
    statistics: NDArray[np.float64]

    def __getitem__(self, row: int) -> Summary:
        """Return one flow's."""
        n = int(self.n[row])
        found = self.statistics[row].tolist() if n else ()
        return Summary(n=n, **dict(zip(STATISTICS, found, strict=False)))


#: What a summary says beside n.
STATISTICS = ("mean", "p50", "p90", "p99", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A metric by its contract name, its unit, and one sample an event.

    told: the summary, where another program tells no more than that; no samples then.
    """

    metric: str
    unit: str
    samples: NDArray[np.float64] | NDArray[np.int64]
    told: Summary | None = None

    def summary(self) -> Summary:
        """Return n, mean and quantiles of the samples."""
        if self.told is not None:
            return self.told
        if not len(self.samples):
            return Summary(n=0)
        p50, p90, p99 = np.quantile(
            self.samples, (0.5, 0.9, 0.99), method="inverted_cdf"
        )
        return Summary(
            n=len(self.samples),
            mean=float(np.mean(self.samples)),
            p50=float(p50),
            p90=float(p90),
            p99=float(p99),
            max=float(np.max(self.samples)),
        )
