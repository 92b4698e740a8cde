"""A ratio of two variants in real time, with the interval that its noise leaves it.

Two variants that took turns are a row of pairs: what else the host did met both of a
pair alike. So the bootstrap draws pairs, not values. Start with ratio_of.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np
from numpy.typing import NDArray

#: Below five pairs no interval holds a median at 95 %: even the smallest to the largest
#: value seen holds it only with 1 - 2 * 0.5**n, 94 % at five and 88 % at four.
LEAST_PAIRS = 5
_RESAMPLES = 4000
_TAILS = (0.025, 0.975)
#: The same run directory gives the same report, so the draws are always the same.
_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One variant's figure over another's.

    over, under: the variants.  claimed: as published.  measured: the median of over's
    repeats by the median of under's, None if there is none.  interval: the 95 % one,
    None with fewer than LEAST_PAIRS pairs.  pairs: how many there are.
    """

    over: str
    under: str
    claimed: float
    measured: float | None
    interval: tuple[float, float] | None
    pairs: int


def ratio_of(
    over: str, under: str, claimed: float, pairs: Sequence[tuple[float, float]]
) -> Ratio:
    """Return the ratio of pairs of values: over's and under's, of one turn each.

    A value that is not positive has no ratio, nor have values that it is among.
    """
    usable = bool(pairs) and all(min(pair) > 0 for pair in pairs)
    return Ratio(
        over=over,
        under=under,
        claimed=claimed,
        measured=_ratio_of_medians(pairs) if usable else None,
        interval=interval(pairs) if usable and len(pairs) >= LEAST_PAIRS else None,
        pairs=len(pairs),
    )


def interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the ratio of medians.

    As many pairs as there are, drawn with replacement, some thousand times; the ends
    are ratios that were drawn.  Source: Efron and Tibshirani, An Introduction to the
    Bootstrap (1993), section 13.3.
    """
    chosen = np.array(pairs, float)[_drawn(len(pairs))]
    medians = np.median(chosen, axis=1)
    ratios = medians[:, 0] / medians[:, 1]
    low, high = np.quantile(ratios, _TAILS, method="inverted_cdf")
    return float(low), float(high)


@cache  # of one experiment, every claim has as many pairs
def _drawn(number: int) -> NDArray[np.int64]:
    """Return which of so many pairs are drawn, a row a resample."""
    draw = random.Random(_SEED)  # noqa: S311  # no secret
    drawn = draw.choices(range(number), k=number * _RESAMPLES)
    return np.array(drawn).reshape(_RESAMPLES, number)


def _ratio_of_medians(pairs: Sequence[tuple[float, float]]) -> float:
    over, under = zip(*pairs, strict=True)
    return float(median(over) / median(under))
