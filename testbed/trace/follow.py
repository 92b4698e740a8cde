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
from testbed.trace.connections import begins, begun, find, forget, hashed, pair_of
from testbed.trace.counted import counted
from testbed.trace.decode import ACK_FLAG, FIN, RST, SYN
from testbed.trace.flight import fetch_flight
from testbed.trace.jit import Bytes, Table, entry, inlined, kernel
from testbed.trace.layers import (
    ACK,
    FLAGS,
    FOUND,
    H_DIRECTION,
    H_TIME,
    LENGTH,
    MSS,
    OPTIONS,
    SEQ,
    TTL,
    WINDOW,
    WSCALE,
)
from testbed.trace.loads import prefetch, signed
from testbed.trace.ranges import fetch_ranges
from testbed.trace.sent import burst, send
from testbed.trace.state import (
    ACCEPTS,
    ACK_GAP,
    ACK_HIGH,
    ACK_LAST,
    ACKED,
    ANSWER_NS,
    BOARD,
    BURST,
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
    MIX,
    NOWHERE,
    NUMBER,
    OPTIONS_0,
    PACE,
    PACKETS,
    PAIR,
    RTT,
    S_FIRST,
    S_FLOW,
    SEEN,
    SEND_GAP,
    SEQ_LAST,
    SIDE_COLUMNS,
    SIZE,
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

_WORD = 0xFFFF_FFFF
_AHEAD = 6  # packets between asking the cache for something and using it


@kernel
def follow(data: Bytes, headers: Table, state: State) -> int:
    """Follow a block of headers; return how many, fewer if the state has to grow.

    data: the buffer that the headers were decoded from.
    """
    if not has_room(state, len(headers)):
        return 0
    _find_all(headers, state)
    rows = len(headers)
    for row in range(-2 * _AHEAD, rows):
        if row + 2 * _AHEAD < rows:
            _fetch_flow(headers[row + 2 * _AHEAD], state)
        if 0 <= row + _AHEAD < rows:
            _fetch_tallies(headers[row + _AHEAD], state)
        if row >= 0:
            if not has_words(state):
                counted(state)
                return row
            _packet(data, headers[row], state)
    counted(state)
    return rows


@entry
def finish(state: State) -> bool:
    """Count what went on when the capture ended; False if the state has to grow."""
    for row in range(1, state.counts[FLOWS]):
        if not has_words(state):
            return False
        if state.flows[row, BURST_PACKETS]:
            burst(state, row)
    counted(state)
    return True


@inlined
def _find_all(headers: Table, state: State) -> None:
    """Find the connections of packets, whose sides the cache is to fetch."""
    rows = len(headers)
    for row in range(rows):
        header = headers[row]
        header[FOUND] = hashed(header, state.counts[MIX])
        prefetch(state.slots, header[FOUND] & (len(state.slots) - 1))
    for row in range(-_AHEAD, rows):
        if row + _AHEAD < rows:
            _fetch_connection(headers[row + _AHEAD], state)
        if row >= 0:
            header = headers[row]
            header[FOUND] = find(header, header[FOUND], state)
            pair = pair_of(header[FOUND], state)
            prefetch(state.sides, pair * SIDE_COLUMNS)
            prefetch(state.sides, (pair + 1) * SIDE_COLUMNS)


@inlined
def _fetch_connection(header: Table, state: State) -> None:
    """Have the cache fetch the connection of a packet that comes soon."""
    slot = state.slots[header[FOUND] & (len(state.slots) - 1)]
    if slot:
        prefetch(state.connections, ((slot & _WORD) - 1) * CONNECTION_COLUMNS)


@inlined
def _fetch_flow(header: Table, state: State) -> None:
    """Have the cache fetch the flows of a packet that comes soon."""
    side = state.connections[header[FOUND] >> 1, PAIR] + (header[FOUND] & 1)
    if header[LENGTH]:
        flow = state.sides[side, S_FLOW] * FLOW_COLUMNS
        for line in (SEEN, PACKETS, BURST, OPTIONS_0 + (header[OPTIONS] >> 2)):
            prefetch(state.flows, flow + line)
    flow = state.sides[side ^ 1, S_FLOW] * FLOW_COLUMNS
    if flow:
        for line in (SEEN, BURST, BOARD):
            prefetch(state.flows, flow + line)


@inlined
def _fetch_tallies(header: Table, state: State) -> None:
    """Have the cache fetch where a packet that comes sooner will be counted."""
    side = state.connections[header[FOUND] >> 1, PAIR] + (header[FOUND] & 1)
    pool = state.pool
    if header[LENGTH]:
        flow = state.flows[state.sides[side, S_FLOW]]
        for tally in (SIZE, SEND_GAP, BURST, PACE):
            prefetch(pool, flow[tally])
        fetch_flight(pool, flow, flow[FLIGHT_HEAD])
        fetch_ranges(pool, flow, SEEN)
    else:
        flow = state.flows[state.sides[side ^ 1, S_FLOW]]
        for tally in (ACKED, ACK_GAP, RTT):
            prefetch(pool, flow[tally])
        fetch_flight(pool, flow, flow[FLIGHT_TAIL])
        fetch_ranges(pool, flow, BOARD)


@inlined
def _packet(data: Bytes, header: Table, state: State) -> None:
    found = header[FOUND]
    pair, downwards = pair_of(found, state), found & 1
    own, peer = state.sides[pair + downwards], state.sides[pair + 1 - downwards]
    flags, length = header[FLAGS], header[LENGTH]
    if flags & SYN and begins(header, own, peer):
        pair = begun(found, state)
        own, peer = state.sides[pair + downwards], state.sides[pair + 1 - downwards]
    places = (pair + downwards, pair + 1 - downwards)
    _introduce(header, own, peer, state)
    if length or flags & FIN:
        _sequence(header, places[0], state)
    if flags & ACK_FLAG:
        acknowledge(data, header, places, state)
    own[LAST_WINDOW] = header[WINDOW]


@inlined
def _introduce(header: Table, own: Table, peer: Table, state: State) -> None:
    """Learn what a packet says of its side, apart from data and ACKs."""
    flags = header[FLAGS]
    state.counts[NUMBER] += 1
    if not own[S_FIRST]:
        own[S_FIRST] = state.counts[NUMBER]
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
        start = (header[SEQ] + 1) & _WORD
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
