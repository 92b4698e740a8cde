"""What an acknowledgment adds to the flow it is for. Kernels."""

from testbed.trace.connections import flow_of
from testbed.trace.counted import count, make_room
from testbed.trace.decode import FIN, RST, SYN
from testbed.trace.flight import arrived
from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.layers import (
    ACK,
    FLAGS,
    H_TIME,
    LENGTH,
    SACK,
    SACKS,
    WINDOW,
)
from testbed.trace.loads import LOW_WORD, signed
from testbed.trace.ranges import covered, floored
from testbed.trace.state import (
    ACK_GAP,
    ACK_HIGH,
    ACK_LAST,
    ACKED,
    ADVANCED_NS,
    ADVANCES,
    BOARD,
    DSACKS,
    DUP_ACKS,
    FIN_END,
    HAS_ACK,
    HAS_SEQ,
    HAS_START,
    KNOWS,
    LAST_WINDOW,
    S_FLOW,
    SACKED,
    SENT_HIGH,
    SEQ_LAST,
    ZERO_WINDOWS,
    State,
    emit,
)


@inlined
def acknowledge(header: Table, places: tuple[int, int], state: State) -> None:
    """Add what a packet with the ACK flag acknowledges to its peer's flow.

    places: of its own side and of its peer's.
    """
    side = state.sides[places[1]]
    knows, now = side[KNOWS], header[H_TIME]
    acked = min(_position(side, header[ACK]), side[FIN_END])
    if not knows & (HAS_ACK | HAS_START):
        side[ACK_HIGH] = acked
    newly = acked - side[ACK_HIGH]
    side[KNOWS] = knows | HAS_ACK
    syn = header[FLAGS] & SYN
    emit(state, (places[1], now, acked, -1, header[WINDOW], syn))
    if newly > 0:
        _advance(state, places[1], newly, now)
    if side[S_FLOW]:
        flow = state.flows[side[S_FLOW]]
        if newly > 0 or not knows & HAS_ACK:
            arrived(state.pool, flow, acked, now)
        elif newly == 0:
            own = state.sides[places[0]]
            flow[DUP_ACKS] += _is_duplicate(header, own, side, flow)
        if not header[WINDOW] and not header[FLAGS] & (RST | SYN):
            flow[ZERO_WINDOWS] += 1
        if header[SACKS]:
            _sack(header, flow, side[ACK_HIGH], state.pool)


@inlined
def _position(side: Table, ack: int) -> int:
    """Return the position that an acknowledgment means: the nearest to the last one."""
    if side[KNOWS] & (HAS_ACK | HAS_START):
        last = side[ACK_LAST]
    else:
        last = side[SEQ_LAST] if side[KNOWS] & HAS_SEQ else ack
    last += signed(ack - last, 32)
    side[ACK_LAST] = last
    position: int = last
    return position


@inlined
def _advance(state: State, place: int, newly: int, now: int) -> None:
    flow, pool = state.flows[flow_of(state, place)], state.pool
    make_room(pool, flow)
    state.sides[place, ACK_HIGH] += newly
    if flow[ADVANCES]:
        count(pool, flow, ACK_GAP, now - flow[ADVANCED_NS])
    flow[ADVANCES] += 1
    flow[ADVANCED_NS] = now
    count(pool, flow, ACKED, newly)


@inlined
def _is_duplicate(header: Table, own: Table, side: Table, flow: Table) -> bool:
    """Say whether it is a duplicate ACK as RFC 5681 has it (section 2)."""
    return (
        not header[LENGTH]
        and not header[FLAGS] & (SYN | FIN | RST)
        and header[WINDOW] == own[LAST_WINDOW]
        and flow[SENT_HIGH] > side[ACK_HIGH]
    )


@kernel
def _sack(header: Table, flow: Table, floor: int, pool: Table) -> None:
    """Take SACK blocks (RFC 2018); the first may tell of a duplicate (RFC 2883)."""
    floored(pool, flow, BOARD, floor)
    for which in range(header[SACKS]):
        low, high = _edges(header, which)
        low = floor + signed(low - floor, 32)
        high = low + signed(high - low, 32)
        if high <= low or high > flow[SENT_HIGH]:
            continue
        if which == 0 and (high <= floor or _is_within_next(header)):
            flow[DSACKS] += 1
            continue
        low = max(low, floor)
        if low < high:
            new, _ = covered(pool, flow, BOARD, (low, high), 0)
            flow[SACKED] += new
            floored(pool, flow, BOARD, floor)


@inlined
def _edges(header: Table, which: int) -> tuple[int, int]:
    """Return where a block begins and ends, as sequence numbers."""
    return header[SACK + which] >> 32 & LOW_WORD, header[SACK + which] & LOW_WORD


@kernel
def _is_within_next(header: Table) -> bool:
    """Say whether the first of several blocks lies inside the second."""
    if header[SACKS] < 2:  # noqa: PLR2004
        return False
    (first, last), (low, high) = _edges(header, 0), _edges(header, 1)
    return signed(first - low, 32) >= 0 and signed(high - last, 32) >= 0
