"""Received bytes in memory: buffers that packets join where there is room for them.

Source: net/ipv4/tcp_input.c, tcp_try_coalesce(), and net/core/skbuff.c,
skb_try_coalesce(), Linux 6.12.
"""

from collections import deque

from testbed.model.packet import Packet

#: A buffer has room for so many pieces of pages: CONFIG_MAX_SKB_FRAGS.
_MAX_FRAGS = 17
#: The sender's pages, which the packets still are: sk_page_frag(), order 3.
_PAGE = 32768


class Buffer:
    """A run of bytes, start to end; a FIN takes a place. memory: it is charged for."""

    __slots__ = ("end", "fin", "frags", "memory", "start")

    def __init__(self, packet: Packet) -> None:
        self.start = packet.seq
        self.end = packet.seq + packet.length + packet.fin
        self.fin = packet.fin
        self.memory = packet.truesize
        last = max(packet.length - 1, 0) + packet.seq
        self.frags = last // _PAGE - packet.seq // _PAGE + 1

    def join(self, other: "Buffer", overhead: int) -> int:
        """Take in what follows; return what it is charged for, 0 if there is no room.

        overhead: of a buffer, which what joins leaves behind.
        """
        if other.start != self.end or self.frags + other.frags > _MAX_FRAGS:
            return 0
        self.end, self.fin = other.end, other.fin
        self.frags += other.frags
        memory = other.memory - overhead
        self.memory += memory
        return memory


class ReceiveQueue:
    """What waits in sequence for the process. memory: bytes charged for it."""

    __slots__ = ("_buffers", "_overhead", "memory")

    def __init__(self, overhead: int) -> None:
        self._buffers: deque[Buffer] = deque()
        self._overhead = overhead
        self.memory = 0

    def __bool__(self) -> bool:
        return bool(self._buffers)

    def append(self, buffer: Buffer) -> None:
        """Add what is next in sequence."""
        if self._buffers and (memory := self._buffers[-1].join(buffer, self._overhead)):
            self.memory += memory
        else:
            self._buffers.append(buffer)
            self.memory += buffer.memory

    def read(self, copied_seq: int, most: int) -> int:
        """Return how many bytes the first buffer gives a process that takes most."""
        first = self._buffers[0]
        return min(first.end - first.fin - copied_seq, most)

    def drop_read(self, copied_seq: int) -> None:
        """Free the first buffer if all of it is read."""
        first = self._buffers[0]
        if copied_seq >= first.end - first.fin:
            self._buffers.popleft()
            self.memory -= first.memory
