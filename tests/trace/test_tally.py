"""A tally tells the values it was given, in whichever form it keeps them."""

import numpy as np
import pytest

from testbed.trace.pool import new_pool
from testbed.trace.tallies import precisions, tallies
from testbed.trace.tally import RATES, SIZES, TIMES, cleared, new_tally, tallied


@pytest.mark.parametrize("kind", [SIZES, TIMES, RATES])
@pytest.mark.parametrize("distinct", [1, 7, 60, 2000])
@pytest.mark.parametrize("count", [0, 1, 9, 10, 58, 59, 250, 251, 3000])
def test_a_tally_tells_every_value_it_was_given(
    kind: int, distinct: int, count: int
) -> None:
    pool = new_pool(1 << 20, 1)
    at = new_tally(pool, kind)
    values = np.random.default_rng(count).integers(0, distinct, count) * 1_000_003 - 5
    for value in values.tolist():
        at = tallied(pool, at, value, kind)

    told = tallies(pool, np.array([at]))

    exact = not precisions(pool, np.array([at]))[0]
    assert exact or kind == RATES
    found = np.repeat(*told.distinct(0))
    wanted = np.sort(values)
    assert len(found) == count
    assert np.all(np.abs(found - wanted) <= (0 if exact else np.abs(wanted) >> 6))
    assert (told.total[0], told.summaries().n[0]) == (values.sum(), count)


def test_a_tally_that_is_cleared_is_empty_in_whichever_form() -> None:
    for kind in (SIZES, TIMES):
        pool = new_pool(1 << 20, 1)
        at = new_tally(pool, kind)
        for value in range(9):
            at = tallied(pool, at, value, kind)

        cleared(pool, at)

        assert len(tallies(pool, np.array([at])).values) == 0
        assert tallied(pool, at, 3, kind) == at
        assert tallies(pool, np.array([at])).distinct(0)[0].tolist() == [3]
