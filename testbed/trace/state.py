"""What is remembered of connections, directions and flows: columns, and their room.

Numbers of bytes are positions: sequence numbers unwrapped, so that the low 32 bits are
the field as sent. A direction has a side, however little it sends; one with payload
has a flow as well.
"""

from typing import NamedTuple

import numpy as np

from testbed.trace.jit import Table, entry, inlined, kernel
from testbed.trace.pool import NEXT, RESERVE, grown_pool, new_pool
from testbed.trace.tables import LINE, lined_up

#: A connection: its endpoints, the lower one first; its newest pair of sides.
LOW_HIGH, LOW, HIGH_HIGH, HIGH, PORTS, PAIR = range(6)
CONNECTION_COLUMNS = 8

#: A side, which is one direction of a connection. The two sides of a connection stand
#: next to each other, the one from its lower endpoint first.
#: S_CONNECTION: its connection.  S_FIRST: number of its first packet, from 1, 0 if
#: there was none.  S_FLOW: row of its flow, 0 if there is none.
#: ISN: initial sequence number, -1 if not known.  START: position of its first byte.
#: SEQ_LAST, ACK_LAST: the position last met, from which the next is unwrapped.
#: ACK_HIGH: the highest acknowledged.  FIN_END: where its payload ends.
#: TOLD_MSS, TOLD_WSCALE: options of its SYN.  TOLD_TTL: of its first packet.
#: TOLD_DIRECTION: pcapng.Direction of its first packet.  SYN_NS, SYN_AGAIN_NS: when its
#: first and its last SYN passed.  ANSWER_NS: when it first acknowledged a SYN-ACK.
#: LAST_WINDOW: as last advertised by it.  KNOWS: the bits below.  ACKS_FROM: the row of
#: the series from which on ACKs of it count.
#: What every packet needs comes first, a line of the cache.
S_FIRST, S_FLOW, KNOWS, SEQ_LAST, ACK_LAST, ACK_HIGH, FIN_END, LAST_WINDOW = range(8)
S_CONNECTION, ISN, START, TOLD_MSS, TOLD_WSCALE, TOLD_TTL, TOLD_DIRECTION = range(8, 15)
SYN_NS, SYN_AGAIN_NS, ANSWER_NS, ACKS_FROM = range(15, 19)
SIDE_COLUMNS = 24
#: HAS_START: START is known.  HAS_SEQ, HAS_ACK: SEQ_LAST, ACK_LAST and ACK_HIGH are.
#: HAS_DATA: payload was seen.  CLOSED: a FIN or RST was.  HAS_SYN, HAS_ANSWER: SYN_NS
#: and ANSWER_NS are known.  ACCEPTS: its SYN was a SYN-ACK.
HAS_START, HAS_SEQ, HAS_ACK, HAS_DATA, CLOSED, HAS_SYN, HAS_ANSWER, ACCEPTS = (
    1 << bit for bit in range(8)
)

#: A flow. F_SIDE: its side.  PACKETS, BYTES: of data.  BASE: position of sequence 0.
#: SENT_HIGH: the highest end of payload.  FIRST_NS, LAST_NS: of data packets.
#: BURST_*: the burst that goes on.  RETRANSMITS, LATE, REORDERED: packets.
#: DUPLICATE, SACKED: bytes.  ADVANCED_NS: of the ACK that advanced last.
#: ADVANCES: how many ACKs did.  OPTIONS_0 and on: data packets by words of TCP options.
#: IN_FLIGHT, FLIGHT_BITS, FLIGHT_HEAD, FLIGHT_TAIL: see flight.py.
#: SEEN, SEEN_COUNT, SEEN_FLOOR, BOARD, BOARD_COUNT: see ranges.py.
#: LOG, LOG_ROOM, NOTED: values that wait to be counted, see counted.py.
#: By lines of the cache: for all, for data, for what it ends and for ACKs, the rest.
SEEN, SEEN_COUNT, SEEN_FLOOR, SENT_HIGH = range(4)
IN_FLIGHT, FLIGHT_BITS, FLIGHT_HEAD, FLIGHT_TAIL = range(4, 8)
LOG, LOG_ROOM, NOTED, PACKETS, BYTES, LAST_NS, BURST_NS, BURST_PACKETS = range(8, 16)
BURST_BYTES, ADVANCES, ADVANCED_NS, DUP_ACKS = range(16, 20)
BOARD, BOARD_COUNT, SACKED, DSACKS = range(20, 24)
RETRANSMITS, DUPLICATE, LATE, REORDERED = range(24, 28)
ZERO_WINDOWS, RTT_MISSED, F_SIDE, BASE, FIRST_NS = range(28, 33)
#: The places of its tallies; of the first so many the values are sizes, see tally.py.
SIZE, ACKED, BURST, SEND_GAP, ACK_GAP, RTT, PACE = range(33, 40)
TALLIES, SIZE_TALLIES = 7, 3
OPTIONS_0 = 40
OPTION_WORDS = 11
FLOW_COLUMNS = -(-(OPTIONS_0 + OPTION_WORDS) // LINE) * LINE

NOWHERE = 1 << 62  # beyond every position

_ROWS = 1 << 10
_MOST_NEW = 4  # rows that one packet can add to a table
#: A slot of the hash table: the hash above this bit, the connection's place + 1 below.
PLACE = 32

#: Places of the counts that kernels keep: rows in use, and the packet's number.
CONNECTIONS, SIDES, FLOWS, NUMBER, MIX, BURST_LIMIT, ROWS = range(7)
COUNT_COLUMNS = 8

#: A row of the series: the side the packet belongs to and its position; payload of a
#: data packet, -1 for an ACK; the window as sent, and whether it came with a SYN.
E_SIDE, E_NS, E_POSITION, E_LENGTH, E_WINDOW, E_SYN = range(6)
EMITTED_COLUMNS = 6


class State(NamedTuple):
    """All that is remembered of a capture. Kernels write to it; it grows in between.

    slots: places of connections by hash, one half at most in use.  emitted: a row for
    each data packet and each ACK, if the series is kept; else there is no room in it.
    """

    slots: Table
    connections: Table
    sides: Table
    flows: Table
    pool: Table
    counts: Table
    emitted: Table


def new_state(*, seed: int, burst_ns: int, budget: int, series: bool) -> State:
    """Return the state before the first packet.

    seed: of all hashes; nothing else depends on it.  burst_ns: see sent.py.  budget:
    see tally.py.  series: whether to keep a row a packet.
    """
    counts = np.zeros(COUNT_COLUMNS, np.int64)
    counts[FLOWS] = 1  # flow 0 is none
    counts[MIX], counts[BURST_LIMIT] = seed, burst_ns
    return State(
        slots=lined_up(4 * _ROWS),
        connections=lined_up(_ROWS, CONNECTION_COLUMNS),
        sides=lined_up(2 * _ROWS, SIDE_COLUMNS),
        flows=lined_up(_ROWS, FLOW_COLUMNS),
        pool=new_pool(budget, seed),
        counts=counts,
        emitted=lined_up(_ROWS if series else 0, EMITTED_COLUMNS),
    )


def grown(state: State, packets: int) -> State:
    """Return the same state, with more room on its way to that for so many packets."""
    counts = state.counts
    connections, slots = state.connections, state.slots
    most = _MOST_NEW * packets
    if 2 * (counts[CONNECTIONS] + packets) > len(slots):
        slots = lined_up(2 * len(slots))
        rehashed(state.slots, slots)
    pool = state.pool
    if pool[NEXT] + RESERVE > len(pool):
        pool = grown_pool(pool)
    return State(
        slots=slots,
        connections=_roomier(connections, counts[CONNECTIONS] + most),
        sides=_roomier(state.sides, counts[SIDES] + most),
        flows=_roomier(state.flows, counts[FLOWS] + most),
        pool=pool,
        counts=counts,
        emitted=_roomier(state.emitted, counts[ROWS] + most),
    )


def _roomier(table: Table, wanted: int) -> Table:
    if not len(table) or wanted <= len(table):
        return table
    larger = lined_up(2 * len(table), table.shape[1])
    larger[: len(table)] = table
    return larger


@kernel
def has_room(state: State, packets: int) -> bool:
    """Say whether the tables have room for whatever so many packets can bring."""
    counts, most = state.counts, _MOST_NEW * packets
    return (
        2 * (counts[CONNECTIONS] + packets) <= len(state.slots)
        and counts[CONNECTIONS] + most <= len(state.connections)
        and counts[SIDES] + most <= len(state.sides)
        and counts[FLOWS] + most <= len(state.flows)
        and (not len(state.emitted) or counts[ROWS] + most <= len(state.emitted))
    )


@inlined
def has_words(state: State) -> bool:
    """Say whether the pool has room for whatever one packet can bring."""
    enough: bool = state.pool[NEXT] + RESERVE <= len(state.pool)
    return enough


@inlined
def emit(state: State, row: tuple[int, int, int, int, int, int]) -> None:
    """Keep a row of the series, if the series is kept."""
    if len(state.emitted):
        kept = state.emitted[state.counts[ROWS]]
        kept[E_SIDE], kept[E_NS], kept[E_POSITION] = row[0], row[1], row[2]
        kept[E_LENGTH], kept[E_WINDOW], kept[E_SYN] = row[3], row[4], row[5]
        state.counts[ROWS] += 1


@entry
def rehashed(slots: Table, larger: Table) -> None:
    """Move all connections to a larger table, of which nothing is used."""
    mask = len(larger) - 1
    for each in slots:
        if each:
            slot = (each >> PLACE) & mask
            while larger[slot]:
                slot = (slot + 1) & mask
            larger[slot] = each
