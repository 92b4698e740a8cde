"""Data in flight, and the round trip times it tells. Kernels.

A ring of the data packets that brought only new bytes and are not acknowledged yet. One
of which a byte is sent again stays in it, marked: its ACK would not tell which of the
two it answers (Karn's rule). The ring grows by need up to a bound; packets beyond it
are counted, and give no sample.
"""

from testbed.trace.counted import count, make_room
from testbed.trace.jit import Table, inlined, kernel
from testbed.trace.loads import prefetch
from testbed.trace.pool import BUDGET, NEXT, give, take
from testbed.trace.state import (
    FLIGHT_BITS,
    FLIGHT_HEAD,
    FLIGHT_TAIL,
    IN_FLIGHT,
    RTT,
    RTT_MISSED,
)

_WORDS = 2  # an entry takes four words, as a power of two
_LOW, _HIGH, _SENT_NS, _AGAIN = range(4)  # again: see marked, 0 if it was sent once
_FIRST_BITS, _MOST_BITS, _FRUGAL_BITS = 2, 14, 6
_UNANSWERED_BITS = 8  # for a flow of which no ACK was ever seen


@inlined
def departed(
    pool: Table, flow: Table, span: tuple[int, int], now: int, answered: int
) -> None:
    """Remember a packet of new bytes. answered: whether any ACK was ever seen."""
    head, bits = flow[FLIGHT_HEAD], flow[FLIGHT_BITS]
    if head - flow[FLIGHT_TAIL] == _room(flow):
        most = _MOST_BITS if answered else _UNANSWERED_BITS
        if bits >= most or (bits >= _FRUGAL_BITS and pool[NEXT] > pool[BUDGET]):
            flow[RTT_MISSED] += 1
            return
        _grow(pool, flow)
    place = _entry(flow, head)
    pool[place + _LOW], pool[place + _HIGH] = span
    pool[place + _SENT_NS] = now
    pool[place + _AGAIN] = 0
    flow[FLIGHT_HEAD] = head + 1


@inlined
def _room(flow: Table) -> int:
    return 1 << flow[FLIGHT_BITS] if flow[IN_FLIGHT] else 0


@inlined
def _entry(flow: Table, number: int) -> int:
    return flow[IN_FLIGHT] + ((number & ((1 << flow[FLIGHT_BITS]) - 1)) << _WORDS)


@kernel
def _grow(pool: Table, flow: Table) -> None:
    if not flow[IN_FLIGHT]:
        flow[FLIGHT_BITS] = _FIRST_BITS
        flow[IN_FLIGHT] = take(pool, _FIRST_BITS + _WORDS)
        return
    old, bits = flow[IN_FLIGHT], flow[FLIGHT_BITS]
    new = take(pool, bits + 1 + _WORDS)
    for number in range(flow[FLIGHT_TAIL], flow[FLIGHT_HEAD]):
        source = _entry(flow, number)
        target = new + ((number & ((2 << bits) - 1)) << _WORDS)
        for word in range(1 << _WORDS):
            pool[target + word] = pool[source + word]
    give(pool, old, bits + _WORDS)
    flow[IN_FLIGHT], flow[FLIGHT_BITS] = new, bits + 1


@inlined
def arrived(pool: Table, flow: Table, position: int, now: int) -> None:
    """Take out all that an ACK covers, and count the time each took."""
    tail, head = flow[FLIGHT_TAIL], flow[FLIGHT_HEAD]
    while tail < head:
        place = _entry(flow, tail)
        if pool[place + _HIGH] > position:
            break
        took = now - pool[place + _SENT_NS]
        if not pool[place + _AGAIN] and took >= 0:
            make_room(pool, flow)
            count(pool, flow, RTT, took)
        tail += 1
    flow[FLIGHT_TAIL] = tail


@inlined
def fetch_flight(pool: Table, flow: Table, number: int) -> None:
    """Have the cache fetch an entry. number: FLIGHT_HEAD's or FLIGHT_TAIL's."""
    prefetch(pool, _entry(flow, number))


@kernel
def marked(pool: Table, flow: Table, span: tuple[int, int]) -> None:
    """Mark what is in flight of the bytes that are sent again.

    A mark is the number of an entry after it up to which all are marked, so that the
    same bytes sent again and again cost a few steps, not one an entry.
    """
    low, high = span
    first, head = _first_above(pool, flow, low), flow[FLIGHT_HEAD]
    number = first
    while number < head and pool[_entry(flow, number) + _LOW] < high:
        mark = pool[_entry(flow, number) + _AGAIN]
        number = mark if mark else number + 1
    end = number
    number = first
    while number < end:
        place = _entry(flow, number)
        mark = pool[place + _AGAIN]
        pool[place + _AGAIN] = max(mark, end)
        number = mark if mark else number + 1


@kernel
def _first_above(pool: Table, flow: Table, position: int) -> int:
    """Return the number of the first entry that ends above a position."""
    low, high = flow[FLIGHT_TAIL], flow[FLIGHT_HEAD]
    while low < high:
        middle = (low + high) // 2
        if pool[_entry(flow, middle) + _HIGH] > position:
            high = middle
        else:
            low = middle + 1
    return low
