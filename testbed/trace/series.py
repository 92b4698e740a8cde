"""The packets of each flow as a Trace, where the series was kept. Start with traces."""

from typing import TYPE_CHECKING

import numpy as np

from testbed.trace.jit import Table
from testbed.trace.state import (
    ACKS_FROM,
    E_LENGTH,
    E_NS,
    E_POSITION,
    E_SIDE,
    E_SYN,
    E_WINDOW,
    HAS_START,
    HAS_SYN,
    KNOWS,
    ROWS,
    SYN_NS,
    TOLD_WSCALE,
    State,
)
from testbed.trace.trace import Trace

if TYPE_CHECKING:
    from testbed.trace.inspection import Flows


def traces(state: State, flows: "Flows") -> tuple[Trace, ...]:
    """Return a trace for each direction that carried payload, by its first packet."""
    emitted = state.emitted[: state.counts[ROWS]]
    order = np.argsort(emitted[:, E_SIDE], kind="stable")
    bounds = np.searchsorted(emitted[order, E_SIDE], np.arange(len(state.sides) + 1))
    found = []
    for row in range(len(flows)):
        place = flows.side(row)
        rows = order[bounds[place] : bounds[place + 1]]
        found.append(_trace(state, flows, row, rows, emitted[rows]))
    return tuple(found)


def _trace(
    state: State, flows: "Flows", row: int, rows: Table, emitted: Table
) -> Trace:
    place = flows.side(row)
    own, peer = state.sides[place], state.sides[place ^ 1]
    start_known = bool(own[KNOWS] & HAS_START)
    base = flows.base(row)
    mss, source = flows.mss(row)
    data = emitted[emitted[:, E_LENGTH] >= 0]
    acks = emitted[(emitted[:, E_LENGTH] < 0) & (rows >= own[ACKS_FROM])]
    return Trace(
        flow=flows.flow(row),
        mss=mss,
        time_ns=data[:, E_NS].copy(),
        seq=data[:, E_POSITION] - base,
        length=data[:, E_LENGTH].copy(),
        ack_time_ns=acks[:, E_NS].copy(),
        ack=acks[:, E_POSITION] - base,
        ack_window=_windows(own, peer, acks),
        mss_source=source,
        syn_time_ns=_syn_time(own, peer),
        start_known=start_known,
    )


def _windows(own: Table, peer: Table, acks: Table) -> Table:
    """Return the peer's windows in bytes; a SYN's own is never scaled (RFC 7323)."""
    told = acks[:, E_WINDOW]
    if own[TOLD_WSCALE] < 0 or peer[TOLD_WSCALE] < 0:
        return told.copy()
    return told << np.where(acks[:, E_SYN] != 0, 0, peer[TOLD_WSCALE])


def _syn_time(own: Table, peer: Table) -> int | None:
    known = [int(side[SYN_NS]) for side in (own, peer) if side[KNOWS] & HAS_SYN]
    return min(known, default=None)
