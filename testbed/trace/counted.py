"""Values that wait to be counted, while the cache fetches where. Kernels.

In a capture of many flows a tally is seldom in the cache when a packet needs it. What
to count waits in a short queue, in order: when its turn comes, the tally is there.
"""

from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.loads import prefetch
from testbed.trace.pool import place_of, tallied
from testbed.trace.state import (
    Q_FLOW,
    Q_KIND,
    Q_TALLY,
    Q_VALUE,
    QUEUED,
    WAITING,
    State,
)


@inlined
def count(state: State, row: int, tally: int, value: int, kind: int) -> None:
    """Have a value counted.

    row: of the flow.  tally: its column.  kind: see pool.py.
    """
    number = state.counts[QUEUED]
    state.counts[QUEUED] = number + 1
    waiting = state.queue[number & (WAITING - 1)]
    if waiting[Q_FLOW]:
        _counted(state, waiting)
    waiting[Q_FLOW], waiting[Q_TALLY] = row, tally
    waiting[Q_VALUE], waiting[Q_KIND] = value, kind
    prefetch(state.pool, place_of(state.pool, state.flows[row, tally], value))


@inlined
def _counted(state: State, waiting: Table) -> None:
    flow, tally = state.flows[waiting[Q_FLOW]], waiting[Q_TALLY]
    flow[tally] = tallied(state.pool, flow[tally], waiting[Q_VALUE], waiting[Q_KIND])


@kernel
def counted(state: State) -> None:
    """Count all that waits, in the order in which it came."""
    for number in range(state.counts[QUEUED], state.counts[QUEUED] + WAITING):
        waiting = state.queue[number & (WAITING - 1)]
        if waiting[Q_FLOW]:
            _counted(state, waiting)
            waiting[Q_FLOW] = 0
