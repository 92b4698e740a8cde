"""Headers to statistics: one pass over the packets, in which every definition is met.

Definitions that are decided here:

- Position 0 is the byte after the SYN, from the flow's own SYN or else from what the
  SYN-ACK of the other side acknowledges; with neither, the first byte of payload seen.
  A SYN that comes after payload is out of place, and tells nothing. ACKs before the SYN
  that counts belong to an attempt that was given up.
- A keepalive (one byte at snd_nxt - 1, already acknowledged) is no data anywhere;
  snd_nxt is the highest sequence seen or acknowledged before it.
- The FIN takes no place in positions: an ACK of it is an ACK of the payload before.

Start with follow, a kernel.
"""

from testbed.trace.acked import acknowledge
from testbed.trace.connections import begins, begun, forget, pair_of
from testbed.trace.counted import counted, fetch_log, make_room
from testbed.trace.decode import ACK_FLAG, FIN, RST, SYN
from testbed.trace.flight import fetch_flight
from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.layers import (
    ACK,
    FLAGS,
    H_DIRECTION,
    H_TIME,
    HEADER_COLUMNS,
    LENGTH,
    MSS,
    OPTIONS,
    SACK,
    SACKS,
    SEQ,
    TTL,
    WINDOW,
    WSCALE,
)
from testbed.trace.loads import AHEAD, LOW_WORD, prefetch, signed
from testbed.trace.ranges import fetch_ranges
from testbed.trace.sent import burst, send
from testbed.trace.state import (
    ACCEPTS,
    ACK_HIGH,
    ACK_LAST,
    ADVANCES,
    ANSWER_NS,
    BOARD,
    BURST_BYTES,
    BURST_PACKETS,
    CLOSED,
    CONNECTION_COLUMNS,
    FIN_END,
    FLIGHT_HEAD,
    FLIGHT_TAIL,
    FLOW_COLUMNS,
    FLOWS,
    HAS_ACK,
    HAS_ANSWER,
    HAS_DATA,
    HAS_SEQ,
    HAS_START,
    HAS_SYN,
    ISN,
    KNOWS,
    LAST_WINDOW,
    LOG,
    NOWHERE,
    NUMBER,
    OPTIONS_0,
    PAIR,
    S_FIRST,
    S_FLOW,
    SEEN,
    SEQ_LAST,
    SIDE_COLUMNS,
    START,
    SYN_AGAIN_NS,
    SYN_NS,
    TOLD_DIRECTION,
    TOLD_MSS,
    TOLD_TTL,
    TOLD_WSCALE,
    State,
    has_room,
    has_words,
)
from testbed.trace.turns import FOUND, ROW


@kernel
def follow(headers: Table, turns: Table, state: State) -> int:
    """Follow headers in their turns; return how many, fewer if the state has to grow.

    headers, turns: see decode.py and turns.py.
    """
    if not has_room(state, len(turns)):
        return 0
    rows = len(turns)
    for row in range(-4 * AHEAD, rows):
        _fetch(headers, turns, row, state)
        if row >= 0:
            if not has_words(state):
                return row
            _packet(headers, turns[row], state)
    return rows


@kernel
def close(state: State) -> bool:
    """Count what went on when the capture ended; False if the state has to grow."""
    for row in range(1, state.counts[FLOWS]):
        if not has_words(state):
            return False
        flow, pool = state.flows[row], state.pool
        if flow[BURST_PACKETS]:
            make_room(pool, flow)
            burst(pool, flow)
        counted(pool, flow)
    return True


@inlined
def _fetch(headers: Table, turns: Table, row: int, state: State) -> None:
    """Have the cache fetch what packets after a row need, the nearest to it most."""
    rows = len(turns)
    if row + 4 * AHEAD < rows:
        _fetch_header(headers, turns[row + 4 * AHEAD], state)
    if 0 <= row + 3 * AHEAD < rows:
        _fetch_sides(turns[row + 3 * AHEAD], state)
    if 0 <= row + 2 * AHEAD < rows:
        _fetch_flow(headers, turns[row + 2 * AHEAD], state)
    if 0 <= row + AHEAD < rows:
        _fetch_pool(headers, turns[row + AHEAD], state)


@inlined
def _fetch_header(headers: Table, turn: Table, state: State) -> None:
    """Have the cache fetch the header and the connection of a packet."""
    prefetch(headers, turn[ROW] * HEADER_COLUMNS)
    prefetch(state.connections, (turn[FOUND] >> 1) * CONNECTION_COLUMNS)


@inlined
def _fetch_sides(turn: Table, state: State) -> None:
    """Have the cache fetch the sides of a packet."""
    pair = state.connections[turn[FOUND] >> 1, PAIR]
    prefetch(state.sides, pair * SIDE_COLUMNS)
    prefetch(state.sides, (pair + 1) * SIDE_COLUMNS)


@inlined
def _fetch_flow(headers: Table, turn: Table, state: State) -> None:
    """Have the cache fetch what is first needed of the flows of a packet."""
    header, found = headers[turn[ROW]], turn[FOUND]
    if header[SACKS]:
        prefetch(headers, turn[ROW] * HEADER_COLUMNS + SACK)
    side = state.connections[found >> 1, PAIR] + (found & 1)
    if header[LENGTH]:
        flow = state.sides[side, S_FLOW] * FLOW_COLUMNS
        for line in (SEEN, LOG, BURST_BYTES, OPTIONS_0 + (header[OPTIONS] >> 2)):
            prefetch(state.flows, flow + line)
    flow = state.sides[side ^ 1, S_FLOW] * FLOW_COLUMNS
    if flow:
        for line in (SEEN, LOG, ADVANCES):
            prefetch(state.flows, flow + line)


@inlined
def _fetch_pool(headers: Table, turn: Table, state: State) -> None:
    """Have the cache fetch what else the flow of a packet needs."""
    header, found = headers[turn[ROW]], turn[FOUND]
    side = state.connections[found >> 1, PAIR] + (found & 1)
    pool = state.pool
    if header[LENGTH]:
        flow = state.flows[state.sides[side, S_FLOW]]
        fetch_flight(pool, flow, flow[FLIGHT_HEAD])
        fetch_ranges(pool, flow, SEEN)
    else:
        flow = state.flows[state.sides[side ^ 1, S_FLOW]]
        fetch_flight(pool, flow, flow[FLIGHT_TAIL])
        fetch_ranges(pool, flow, BOARD)
    fetch_log(pool, flow)


@inlined
def _packet(headers: Table, turn: Table, state: State) -> None:
    header, found = headers[turn[ROW]], turn[FOUND]
    pair, downwards = pair_of(found, state), found & 1
    own, peer = state.sides[pair + downwards], state.sides[pair + 1 - downwards]
    flags, length = header[FLAGS], header[LENGTH]
    if flags & SYN and begins(header, own, peer):
        pair = begun(found, state)
        own, peer = state.sides[pair + downwards], state.sides[pair + 1 - downwards]
    places = (pair + downwards, pair + 1 - downwards)
    _introduce(header, own, peer, state.counts[NUMBER] + turn[ROW] + 1, state)
    if length or flags & FIN:
        _sequence(header, places[0], state)
    if flags & ACK_FLAG:
        acknowledge(header, places, state)
    own[LAST_WINDOW] = header[WINDOW]


@inlined
def _introduce(
    header: Table, own: Table, peer: Table, number: int, state: State
) -> None:
    """Learn what a packet says of its side, apart from data and ACKs.

    number: of the packet in the capture.
    """
    flags = header[FLAGS]
    if not own[S_FIRST]:
        own[S_FIRST] = number
        own[TOLD_TTL], own[TOLD_DIRECTION] = header[TTL], header[H_DIRECTION]
    if flags & SYN:
        _syn(header, own, state)
        if flags & ACK_FLAG:
            _syn_ack(header, own, peer, state)
    elif flags & ACK_FLAG and not own[KNOWS] & HAS_ANSWER and peer[KNOWS] & ACCEPTS:
        own[ANSWER_NS] = header[H_TIME]
        own[KNOWS] |= HAS_ANSWER
    if flags & (FIN | RST):
        own[KNOWS] |= CLOSED


@kernel
def _syn(header: Table, own: Table, state: State) -> None:
    """Learn from a SYN: options, and where its side's positions start."""
    if own[TOLD_MSS] < 0:
        own[TOLD_MSS] = header[MSS]
    if own[TOLD_WSCALE] < 0:
        own[TOLD_WSCALE] = header[WSCALE]
    if not own[KNOWS] & HAS_SYN:
        own[SYN_NS] = header[H_TIME]
        own[KNOWS] |= HAS_SYN
    own[SYN_AGAIN_NS] = header[H_TIME]
    if not own[KNOWS] & HAS_DATA:
        own[ISN] = header[SEQ]
        start = (header[SEQ] + 1) & LOW_WORD
        if not own[KNOWS] & HAS_START or own[START] != start:
            _starts(own, start, state)
    elif own[ISN] < 0:
        own[ISN] = header[SEQ]


@kernel
def _syn_ack(header: Table, own: Table, peer: Table, state: State) -> None:
    """Learn from a SYN-ACK where the positions of the other side start."""
    own[KNOWS] |= ACCEPTS
    if not peer[KNOWS] & (HAS_DATA | HAS_START):
        _starts(peer, header[ACK], state)


@kernel
def _starts(side: Table, start: int, state: State) -> None:
    side[START] = side[SEQ_LAST] = side[ACK_LAST] = side[ACK_HIGH] = start
    side[FIN_END] = NOWHERE
    side[KNOWS] = (side[KNOWS] | HAS_START | HAS_SEQ) & ~HAS_ACK
    forget(state, side)


@inlined
def _sequence(header: Table, place: int, state: State) -> None:
    """Find the position of a packet's payload, or of its FIN."""
    side = state.sides[place]
    first = header[SEQ] + ((header[FLAGS] & SYN) != 0)
    if side[KNOWS] & HAS_SEQ:
        last = side[SEQ_LAST]
    else:
        last = side[ACK_LAST] if side[KNOWS] & HAS_ACK else first
    last += signed(first - last, 32)
    side[SEQ_LAST] = last
    side[KNOWS] |= HAS_SEQ
    if header[FLAGS] & FIN:
        end = last + header[LENGTH]
        known = side[FIN_END]
        side[FIN_END] = end if known == NOWHERE else max(known, end)
    if header[LENGTH]:
        send(header, place, last, state)
