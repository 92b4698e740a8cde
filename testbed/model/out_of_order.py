"""What the receiver has beyond a gap: the out-of-order queue, and its SACK blocks.

Source: net/ipv4/tcp_input.c, tcp_data_queue_ofo(), tcp_ofo_queue() and
tcp_sack_new_ofo_skb(), Linux 6.12; RFC 2018 and RFC 2883.
"""

from testbed.model.packet import Block, Packet
from testbed.model.receive_queue import Buffer

_NUM_SACKS = 4  # TCP_NUM_SACKS
#: With timestamps, an option has room for three.
_SENT = 3
#: From this block on, an ACK that waits is sent before a block is moved.
BLOCKS_EXPECTED = 2


class OutOfOrder:
    """The queue, by sequence; and the blocks, the one that changed last first.

    memory: bytes the queue is charged for.  overhead: of a buffer.
    """

    __slots__ = ("_blocks", "_buffers", "_dsack", "_overhead", "memory")

    def __init__(self, overhead: int) -> None:
        self._buffers: list[Buffer] = []
        self._overhead = overhead
        self._blocks: list[Block] = []
        self._dsack: Block | None = None
        self.memory = 0

    def __bool__(self) -> bool:
        return bool(self._buffers)

    def sacks(self) -> tuple[Block, ...]:
        """Return the blocks of the next ACK; what came twice is told once, first."""
        twice = () if self._dsack is None else (self._dsack,)
        self._dsack = None
        return (*twice, *self._blocks)[:_SENT]

    def came_twice(self, start: int, end: int) -> None:
        """Have the next ACK tell that these bytes were there already."""
        self._dsack = (start, end)

    def forget_twice(self) -> None:
        """Have the next ACK tell nothing of the kind."""
        self._dsack = None

    def crowds_block(self, start: int, end: int) -> bool:
        """Tell whether a new packet will move a block that may not be sent again."""
        for place, block in enumerate(self._blocks):
            if start <= block[1] and block[0] <= end:
                return place >= BLOCKS_EXPECTED
        return len(self._blocks) >= BLOCKS_EXPECTED

    def add(self, packet: Packet) -> bool:
        """Keep a packet from beyond the gap; tell whether as a buffer of its own."""
        new = Buffer(packet)
        start, end = new.start, new.end
        is_own = self._insert(new)
        self._add_block(start, end)
        return is_own

    def _insert(self, new: Buffer) -> bool:
        place = len(self._buffers)
        while place and new.start < self._buffers[place - 1].start:
            place -= 1
        before = self._buffers[place - 1] if place else None
        if before is not None and new.end <= before.end:
            self._dsack = (new.start, new.end)
            return False
        if before is not None and new.start < before.end:
            self._dsack = (new.start, before.end)
        if before is not None and (memory := before.join(new, self._overhead)):
            self.memory += memory
            return False
        if before is not None and new.start == before.start:
            place -= 1  # the new one covers it
        while place < len(self._buffers) and new.end > self._buffers[place].start:
            covered = self._buffers[place]
            self._extend_dsack(covered.start, min(covered.end, new.end))
            if new.end < covered.end:
                break
            del self._buffers[place]
            self.memory -= covered.memory
        self._buffers.insert(place, new)
        self.memory += new.memory
        return True

    def _extend_dsack(self, start: int, end: int) -> None:
        known = self._dsack
        if known is None:
            self._dsack = (start, end)
        elif start <= known[1] and known[0] <= end:
            self._dsack = (min(start, known[0]), max(end, known[1]))

    def _add_block(self, start: int, end: int) -> None:
        blocks = self._blocks
        for place, block in enumerate(blocks):
            if start <= block[1] and block[0] <= end:
                first = (min(start, block[0]), max(end, block[1]))
                rest = [*blocks[:place], *blocks[place + 1 :]]
                self._blocks = _joined(first, rest)
                return
        self._blocks = [(start, end), *blocks][:_NUM_SACKS]

    def take(self, rcv_nxt: int) -> list[Buffer]:
        """Take out what follows rcv_nxt, in sequence."""
        taken, twice_until = [], rcv_nxt
        while self._buffers and self._buffers[0].start <= rcv_nxt:
            buffer = self._buffers.pop(0)
            self.memory -= buffer.memory
            if buffer.start < twice_until:
                self._extend_dsack(buffer.start, min(buffer.end, twice_until))
            if buffer.end > rcv_nxt:
                rcv_nxt = buffer.end
                taken.append(buffer)
        self._blocks = [each for each in self._blocks if each[0] > rcv_nxt]
        return taken


def _joined(first: Block, rest: list[Block]) -> list[Block]:
    """Return the blocks with those in that the first now reaches."""
    blocks = []
    for block in rest:
        if first[0] <= block[1] and block[0] <= first[1]:
            first = (min(first[0], block[0]), max(first[1], block[1]))
        else:
            blocks.append(block)
    return [first, *blocks]
