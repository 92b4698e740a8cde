"""Which connection a packet belongs to: a hash table, and what a SYN begins. Kernels.

A connection is the packets between two (address, port) pairs. A SYN with a new initial
sequence number after a FIN or an RST begins another, with a new pair of sides; the same
SYN again, or a SYN out of place, does not.
"""

from testbed.trace.counted import counted, kind_of
from testbed.trace.decode import ACK_FLAG
from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.layers import (
    ACK,
    DPORT,
    DST,
    DST_HIGH,
    FAMILY,
    FLAGS,
    SEQ,
    SPORT,
    SRC,
    SRC_HIGH,
)
from testbed.trace.loads import AHEAD, LOW_WORD, prefetch
from testbed.trace.state import (
    ACK_GAP,
    ACKED,
    ACKS_FROM,
    ADVANCES,
    CLOSED,
    CONNECTION_COLUMNS,
    CONNECTIONS,
    DUP_ACKS,
    F_SIDE,
    FIN_END,
    FLOWS,
    HAS_DATA,
    HIGH,
    HIGH_HIGH,
    ISN,
    KNOWS,
    LAST_WINDOW,
    LOW,
    LOW_HIGH,
    MIX,
    NOWHERE,
    PAIR,
    PLACE,
    PORTS,
    ROWS,
    S_CONNECTION,
    S_FLOW,
    SIDES,
    SIZE,
    TALLIES,
    TOLD_MSS,
    TOLD_WSCALE,
    ZERO_WINDOWS,
    State,
)
from testbed.trace.tally import cleared, new_tally

_HASH_BITS = 31
_HASH = (1 << _HASH_BITS) - 1
_FAMILY_SHIFT, _PORT_SHIFT, _SRC_SHIFT = 32, 16, 16


@inlined
def find_all(headers: Table, found: Table, state: State) -> None:
    """Find the connections of packets, adding those not met before; see find.

    found: room for what is found.  There must be room for as many new connections.
    """
    rows = len(headers)
    for row in range(rows):
        found[row] = hashed(headers[row], state.counts[MIX])
        prefetch(state.slots, found[row] & (len(state.slots) - 1))
    for row in range(-AHEAD, rows):
        if row + AHEAD < rows:
            _fetch_connection(found[row + AHEAD], state)
        if row >= 0:
            found[row] = find(headers[row], found[row], state)
            pair_of(found[row], state)


@inlined
def _fetch_connection(mixed: int, state: State) -> None:
    """Have the cache fetch the connection of a packet that comes soon."""
    slot = state.slots[mixed & (len(state.slots) - 1)]
    if slot:
        prefetch(state.connections, ((slot & LOW_WORD) - 1) * CONNECTION_COLUMNS)


@inlined
def hashed(header: Table, seed: int) -> int:
    """Return the hash of a packet's connection, the same for both directions."""
    ends = _ends(header, _downwards(header))
    mixed = _mixed(_mixed(seed, ends[0], ends[1]), ends[2], ends[3])
    return _mixed(mixed, ends[4] >> _FAMILY_SHIFT, ends[4])


@inlined
def _ends(header: Table, downwards: int) -> tuple[int, int, int, int, int]:
    """Return the lower endpoint, the higher one, and the ports with the family."""
    if downwards:
        low_high, low = header[DST_HIGH], header[DST]
        high_high, high = header[SRC_HIGH], header[SRC]
        ports = header[DPORT] << _PORT_SHIFT | header[SPORT]
    else:
        low_high, low = header[SRC_HIGH], header[SRC]
        high_high, high = header[DST_HIGH], header[DST]
        ports = header[SPORT] << _PORT_SHIFT | header[DPORT]
    ports |= header[FAMILY] << _FAMILY_SHIFT
    return low_high, low, high_high, high, ports


@inlined
def find(header: Table, mixed: int, state: State) -> int:
    """Return the place of a packet's connection, twice, plus 1 if it goes downwards.

    mixed: its hash.  A connection that was not met before is added; there must be room
    for it.
    """
    slots, connections = state.slots, state.connections
    downwards = _downwards(header)
    low_high, low, high_high, high, ports = _ends(header, downwards)
    mask = len(slots) - 1
    slot = mixed & mask
    while slots[slot]:
        place = (slots[slot] & LOW_WORD) - 1
        row = connections[place]
        if slots[slot] >> PLACE == mixed and (
            (row[LOW] == low and row[HIGH] == high and row[PORTS] == ports)
            and (row[LOW_HIGH] == low_high and row[HIGH_HIGH] == high_high)
        ):
            return place << 1 | downwards
        slot = (slot + 1) & mask
    slots[slot] = mixed << PLACE | state.counts[CONNECTIONS] + 1
    ends = (low_high, low, high_high, high, ports)
    return _added(connections, state.counts, ends) << 1 | downwards


@kernel
def _added(
    connections: Table, counts: Table, ends: tuple[int, int, int, int, int]
) -> int:
    place = counts[CONNECTIONS]
    counts[CONNECTIONS] += 1
    row = connections[place]
    row[LOW_HIGH], row[LOW], row[HIGH_HIGH], row[HIGH], row[PORTS] = ends
    row[PAIR] = -1
    return place


@inlined
def _downwards(header: Table) -> int:
    """Say whether a packet goes from its connection's higher endpoint to the lower."""
    if header[SRC_HIGH] != header[DST_HIGH]:
        return int(header[SRC_HIGH] > header[DST_HIGH])
    if header[SRC] != header[DST]:
        return int(header[SRC] > header[DST])
    return int(header[SPORT] > header[DPORT])


@inlined
def _mixed(state: int, one: int, other: int) -> int:
    """Mix two numbers into a hash of 31 bits, all of whose products fit 64."""
    for value in (one >> 32, one, other >> 32, other):
        state = ((state ^ (value & LOW_WORD)) * 0x2C1B_3C6D) & 0x3FFF_FFFF_FFFF_FFFF
        state = (state ^ (state >> 29)) & _HASH
    return state


@inlined
def pair_of(found: int, state: State) -> int:
    """Return the place of the first of a connection's two sides, which may be new."""
    row = state.connections[found >> 1]
    if row[PAIR] < 0:
        row[PAIR] = _new_pair(found >> 1, state)
    return row[PAIR]


@kernel
def begun(found: int, state: State) -> int:
    """Begin another connection between the same endpoints; return its first side.

    One in which no payload was seen is forgotten: it would be listed nowhere.
    """
    row = state.connections[found >> 1]
    pair = row[PAIR]
    sides = state.sides
    if (sides[pair, KNOWS] | sides[pair + 1, KNOWS]) & HAS_DATA:
        row[PAIR] = _new_pair(found >> 1, state)
        return row[PAIR]
    for place in (pair, pair + 1):
        flow = sides[place, S_FLOW]
        _clear(sides[place], found >> 1)
        sides[place, S_FLOW] = flow
        forget(state, sides[place])
    return pair


@kernel
def _new_pair(connection: int, state: State) -> int:
    pair = state.counts[SIDES]
    state.counts[SIDES] += 2
    _clear(state.sides[pair], connection)
    _clear(state.sides[pair + 1], connection)
    return pair


@kernel
def _clear(side: Table, connection: int) -> None:
    side[:] = 0
    side[S_CONNECTION] = connection
    side[ISN] = side[TOLD_MSS] = side[TOLD_WSCALE] = side[LAST_WINDOW] = -1
    side[FIN_END] = NOWHERE


@kernel
def forget(state: State, side: Table) -> None:
    """Drop what ACKs said so far of a side that has sent no payload."""
    side[ACKS_FROM] = state.counts[ROWS]
    if side[S_FLOW]:
        flow, pool = state.flows[side[S_FLOW]], state.pool
        counted(pool, flow)
        cleared(pool, flow[ACKED])
        cleared(pool, flow[ACK_GAP])
        flow[ADVANCES] = flow[DUP_ACKS] = flow[ZERO_WINDOWS] = 0


@kernel
def flow_of(state: State, place: int) -> int:
    """Return the row of a side's flow, which may be new."""
    side = state.sides[place]
    if not side[S_FLOW]:
        row = state.counts[FLOWS]
        state.counts[FLOWS] += 1
        side[S_FLOW] = row
        flow = state.flows[row]
        flow[F_SIDE] = place
        for tally in range(SIZE, SIZE + TALLIES):
            flow[tally] = new_tally(state.pool, kind_of(tally))
    return side[S_FLOW]


@kernel
def begins(header: Table, own: Table, peer: Table) -> bool:
    """Say whether a SYN begins another connection between the same endpoints."""
    if not (own[KNOWS] | peer[KNOWS]) & CLOSED:
        return False
    if own[ISN] >= 0:
        return own[ISN] != header[SEQ]
    if header[FLAGS] & ACK_FLAG and peer[ISN] >= 0:
        return header[ACK] != (peer[ISN] + 1) & LOW_WORD
    return True
