"""In which order packets are followed: connection by connection. A kernel.

What is remembered of ten thousand connections does not fit the cache, and a packet that
comes after one of another connection finds nothing of its own there. So packets wait
until there are some of each connection, and then have their turns connection by
connection; of one connection, in the order of the capture. No result depends on it, for
no connection knows of another.
"""

from testbed.trace.jit import Table, kernel
from testbed.trace.loads import bit_length

#: A turn: the row of a header among those that wait; its connection, as found.
ROW, FOUND = range(2)
TURN_COLUMNS = 2

#: Connections next to each other share a bucket if there are more of them than these.
_BITS = 12
BUCKETS = 1 << _BITS


@kernel
def arrange(found: Table, connections: int, turns: Table, buckets: Table) -> None:
    """Write the turns of all packets.

    found: the connection of each, see connections.find.  connections: how many there
    are.  buckets: room for BUCKETS + 1 numbers.
    """
    shift = 1 + max(0, bit_length(connections) - _BITS)
    last = 2 * connections >> shift
    buckets[: last + 2] = 0
    for each in found:
        buckets[(each >> shift) + 1] += 1
    for bucket in range(last + 1):
        buckets[bucket + 1] += buckets[bucket]
    for row in range(len(found)):
        bucket = found[row] >> shift
        turn = turns[buckets[bucket]]
        turn[ROW], turn[FOUND] = row, found[row]
        buckets[bucket] += 1
