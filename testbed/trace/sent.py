"""What a data packet adds to its flow. Kernels.

Definitions that are decided here:

- A retransmission lies wholly at or below the highest position sent before it.
- A byte is a duplicate if it was seen before; a packet is late if it brings bytes that
  were missing below the highest seen. It is reordered if that gap is younger than 3 ms
  (what Wireshark takes for reordering, where it knows no better); else it was resent.
- A burst is a run of data packets each of which follows the one before within
  burst_ns. The pace is the bytes of a burst over the time to the start of the next.
"""

from testbed.trace.connections import flow_of
from testbed.trace.counted import count, make_room
from testbed.trace.flight import departed, marked
from testbed.trace.jit import Table, inlined
from testbed.trace.layers import H_TIME, LENGTH, OPTIONS
from testbed.trace.ranges import covered, floored
from testbed.trace.state import (
    ACK_HIGH,
    BASE,
    BURST,
    BURST_BYTES,
    BURST_LIMIT,
    BURST_NS,
    BURST_PACKETS,
    BYTES,
    DUPLICATE,
    FIRST_NS,
    HAS_ACK,
    HAS_DATA,
    HAS_START,
    KNOWS,
    LAST_NS,
    LATE,
    OPTIONS_0,
    PACE,
    PACKETS,
    REORDERED,
    RETRANSMITS,
    S_FLOW,
    SEEN,
    SEEN_COUNT,
    SEEN_FLOOR,
    SEND_GAP,
    SENT_HIGH,
    SIZE,
    START,
    State,
    emit,
)

_REORDERING_NS = 3_000_000
_BITS_PER_NS = 8e9  # to bit/s
_FASTEST = 1e18  # bit/s


@inlined
def send(header: Table, place: int, position: int, state: State) -> None:
    """Add a packet with payload to its side's flow, unless it is a keepalive."""
    side = state.sides[place]
    length, now = header[LENGTH], header[H_TIME]
    span = (position, position + length)
    side[KNOWS] |= HAS_DATA
    if length == 1 and _is_keepalive(state, side, span[1]):
        return
    flow, pool = state.flows[flow_of(state, place)], state.pool
    make_room(pool, flow)
    if not flow[PACKETS]:
        flow[BASE] = side[START] if side[KNOWS] & HAS_START else position
        flow[FIRST_NS] = flow[BURST_NS] = now
        flow[SEEN_FLOOR], flow[SENT_HIGH] = flow[BASE], position
    else:
        _gap(pool, flow, now, state.counts[BURST_LIMIT])
    _order(pool, flow, span, now)
    _flight(pool, flow, side, span, now)
    flow[PACKETS] += 1
    flow[BYTES] += length
    flow[BURST_PACKETS] += 1
    flow[BURST_BYTES] += length
    flow[LAST_NS] = now
    flow[OPTIONS_0 + (header[OPTIONS] >> 2)] += 1
    count(pool, flow, SIZE, length)
    flow[SENT_HIGH] = max(flow[SENT_HIGH], span[1])
    emit(state, (place, now, position, length, 0, 0))


@inlined
def _is_keepalive(state: State, side: Table, end: int) -> bool:
    # At snd_nxt - 1, and snd_nxt is the highest sent or acknowledged: the capture may
    # lack what was acknowledged.
    if not side[KNOWS] & HAS_ACK or end != side[ACK_HIGH]:
        return False
    flow = state.flows[side[S_FLOW]]
    return not flow[PACKETS] or end >= flow[SENT_HIGH]


@inlined
def _gap(pool: Table, flow: Table, now: int, burst_ns: int) -> None:
    """Count the time since the data packet before, and the burst if that ended it."""
    gap = now - flow[LAST_NS]
    count(pool, flow, SEND_GAP, gap)
    if gap > burst_ns:
        took = now - flow[BURST_NS]
        if took > 0:  # unless the clock of the capture went back
            pace = min(flow[BURST_BYTES] * _BITS_PER_NS / took, _FASTEST)
            count(pool, flow, PACE, int(pace))
        burst(pool, flow)
        flow[BURST_NS] = now


@inlined
def burst(pool: Table, flow: Table) -> None:
    """Count the burst that goes on as one that has ended."""
    count(pool, flow, BURST, flow[BURST_PACKETS])
    flow[BURST_PACKETS] = flow[BURST_BYTES] = 0


@inlined
def _order(pool: Table, flow: Table, span: tuple[int, int], now: int) -> None:
    """See which bytes are new, missing so far, or repeated."""
    low, high = span
    sent, floor = flow[SENT_HIGH], flow[SEEN_FLOOR]
    if flow[PACKETS] and high <= sent:
        flow[RETRANSMITS] += 1
    if low == floor and not flow[SEEN_COUNT]:
        flow[SEEN_FLOOR] = high
        return
    first = min(max(low, floor), high)
    repeated, missing = first - low, 0
    if first < high:
        new, since = covered(pool, flow, SEEN, (first, high), now)
        repeated += high - first - new
        missing = new - max(0, high - max(sent, first))
        if missing > 0:
            flow[LATE] += 1
            flow[REORDERED] += now - since < _REORDERING_NS
    flow[DUPLICATE] += repeated
    flow[SEEN_FLOOR] = floored(pool, flow, SEEN, floor)


@inlined
def _flight(
    pool: Table, flow: Table, side: Table, span: tuple[int, int], now: int
) -> None:
    """Remember when new bytes were sent, and which bytes were sent again."""
    answered = side[KNOWS] & HAS_ACK
    if flow[PACKETS] and span[0] < flow[SENT_HIGH]:
        marked(pool, flow, span)
    elif not answered or span[1] > side[ACK_HIGH]:
        departed(pool, flow, span, now, answered)
