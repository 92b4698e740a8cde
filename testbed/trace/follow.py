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
from testbed.trace.connections import begins, begun, find, forget, pair_of
from testbed.trace.decode import ACK_FLAG, FIN, RST, SYN
from testbed.trace.jit import Bytes, Table, kernel
from testbed.trace.layers import (
    ACK,
    FLAGS,
    H_DIRECTION,
    H_TIME,
    LENGTH,
    MSS,
    SEQ,
    TTL,
    WINDOW,
    WSCALE,
)
from testbed.trace.loads import signed
from testbed.trace.sent import burst, send
from testbed.trace.state import (
    ACCEPTS,
    ACK_HIGH,
    ACK_LAST,
    ANSWER_NS,
    BURST_PACKETS,
    CLOSED,
    FIN_END,
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
    NOWHERE,
    NUMBER,
    S_FIRST,
    SEQ_LAST,
    START,
    SYN_AGAIN_NS,
    SYN_NS,
    TOLD_DIRECTION,
    TOLD_MSS,
    TOLD_TTL,
    TOLD_WSCALE,
    State,
    has_room,
)

_WORD = 0xFFFF_FFFF


@kernel
def follow(data: Bytes, headers: Table, state: State) -> int:
    """Follow a block of headers; return how many, fewer if the state has to grow.

    data: the buffer that the headers were decoded from.
    """
    for row in range(len(headers)):
        if not has_room(state):
            return row
        _packet(data, headers[row], state)
    return len(headers)


@kernel
def finish(state: State) -> None:
    """Count what went on when the capture ended."""
    for row in range(1, state.counts[FLOWS]):
        if state.flows[row, BURST_PACKETS]:
            burst(state.pool, state.flows[row])


@kernel
def _packet(data: Bytes, header: Table, state: State) -> None:
    found = find(header, state.slots, state.connections, state.counts)
    pair, downwards = pair_of(found, state), found & 1
    own, peer = state.sides[pair + downwards], state.sides[pair + 1 - downwards]
    flags, length = header[FLAGS], header[LENGTH]
    if flags & SYN and begins(header, own, peer):
        pair = begun(found, state)
        own, peer = state.sides[pair + downwards], state.sides[pair + 1 - downwards]
    places = (pair + downwards, pair + 1 - downwards)
    state.counts[NUMBER] += 1
    if not own[S_FIRST]:
        own[S_FIRST] = state.counts[NUMBER]
        own[TOLD_TTL], own[TOLD_DIRECTION] = header[TTL], header[H_DIRECTION]
    if flags & SYN:
        _syn(header, own, peer, state)
    elif flags & ACK_FLAG and not own[KNOWS] & HAS_ANSWER and peer[KNOWS] & ACCEPTS:
        own[ANSWER_NS] = header[H_TIME]
        own[KNOWS] |= HAS_ANSWER
    if flags & (FIN | RST):
        own[KNOWS] |= CLOSED
    if length or flags & FIN:
        _sequence(header, places[0], state)
    if flags & ACK_FLAG:
        acknowledge(data, header, places, state)
    own[LAST_WINDOW] = header[WINDOW]


@kernel
def _syn(header: Table, own: Table, peer: Table, state: State) -> None:
    """Learn from a SYN: options, and where the positions of both sides start."""
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
    if header[FLAGS] & ACK_FLAG:
        own[KNOWS] |= ACCEPTS
        if not peer[KNOWS] & (HAS_DATA | HAS_START):
            _starts(peer, header[ACK], state)


@kernel
def _starts(side: Table, start: int, state: State) -> None:
    side[START] = side[SEQ_LAST] = side[ACK_LAST] = side[ACK_HIGH] = start
    side[FIN_END] = NOWHERE
    side[KNOWS] = (side[KNOWS] | HAS_START | HAS_SEQ) & ~HAS_ACK
    forget(state, side)


@kernel
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
