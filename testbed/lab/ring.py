"""A packet socket's ring: memory that the kernel fills with packets, a block at a time.

Nobody is woken for a packet, only for a block that is full, and to read one takes no
system call. In User-Mode Linux that is most of what a capture costs; and a process that
wakes among packets changes the order in which the kernel handles them.

Source: Documentation/networking/packet_mmap.rst and include/uapi/linux/if_packet.h,
TPACKET_V3. Start with Ring.
"""

import contextlib
import mmap
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

SOL_PACKET = 263
_PACKET_RX_RING = 5
_PACKET_STATISTICS = 6
_PACKET_VERSION = 10
_TPACKET_V3 = 2
#: What no packet has: the last ethertype, which IANA keeps reserved.
_ETH_P_NONE = 0xFFFF

#: The largest that is one piece of memory: order 10 of pages. At a snaplen of 128 a
#: packet takes 152 (a pure ACK) to 216 bytes, so a block holds 19,417 packets or more.
#: The shipped experiments' captures fit into one, the largest with 4.05 MB; but for
#: tso-rtt-log's, whose 150,853 packets take 29 MB.
BLOCK_SIZE = 4 << 20
#: One is filled, the others wait to be read: 32 MB. In virtual time none waits long.
BLOCKS = 8
_SMALLEST_FRAME = 256  # the kernel only checks it
#: A block that is not full stays open for 24 days: no timer hands it over.
_RETIRE_MS = 2**31 - 1

#: struct tpacket_hdr_v1, from block_status to offset_to_first_pkt.
_BLOCK = struct.Struct("=III")
_BLOCK_AT = 8
_TP_STATUS_KERNEL = 0
_TP_STATUS_USER = 1
#: struct tpacket3_hdr, up to tp_mac.
_PACKET = struct.Struct("=IIIIIIH")
#: Of sll_pkttype: TPACKET_ALIGN(sizeof(struct tpacket3_hdr)), and 10 in sockaddr_ll.
_PKTTYPE_AT = 48 + 10
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A packet as the ring has it: the bytes kept, and how many it had."""

    time_ns: int
    data: bytes
    wire_length: int
    outgoing: bool


def packets_in(block: memoryview) -> Iterator[Seen]:
    """Yield the packets of a block, full or not."""
    _status, packets, at = _BLOCK.unpack_from(block, _BLOCK_AT)
    for _ in range(packets):
        step, seconds, ns, kept, length, _flags, mac = _PACKET.unpack_from(block, at)
        yield Seen(
            time_ns=seconds * _NS + ns,
            data=bytes(block[at + mac : at + mac + kept]),
            wire_length=length,
            outgoing=block[at + _PKTTYPE_AT] == socket.PACKET_OUTGOING,
        )
        at += step


class Ring:
    """The ring of one bound packet socket. Start with ring_of."""

    def __init__(self, sock: socket.socket, memory: memoryview) -> None:
        self.sock = sock
        self._memory = memory
        self._next = 0  # block to be read

    def take_full(self) -> Iterator[Seen]:
        """Yield the packets of all blocks that are full, and give those back."""
        while self._status() & _TP_STATUS_USER:
            yield from self._take()

    def take_rest(self) -> Iterator[Seen]:
        """Stop capturing, and yield all packets that are left."""
        # With the last packet of before the bind() gone by: packet_do_bind() waits.
        self.sock.bind((self.sock.getsockname()[0], _ETH_P_NONE))
        yield from self.take_full()
        yield from self._take()

    def statistics(self) -> tuple[int, int]:
        """Return the packets (received, dropped) since this was last asked."""
        packed = self.sock.getsockopt(SOL_PACKET, _PACKET_STATISTICS, 12)
        received, dropped, _freezes = struct.unpack("=III", packed)
        return received, dropped

    def _block(self) -> memoryview:
        return self._memory[self._next * BLOCK_SIZE : (self._next + 1) * BLOCK_SIZE]

    def _status(self) -> int:
        status, _packets, _at = _BLOCK.unpack_from(self._block(), _BLOCK_AT)
        return int(status)

    def _take(self) -> Iterator[Seen]:
        block = self._block()
        yield from packets_in(block)
        # Empty it first: given back, it is the kernel's.
        struct.pack_into("=I", block, _BLOCK_AT + 4, 0)
        struct.pack_into("=I", block, _BLOCK_AT, _TP_STATUS_KERNEL)
        self._next = (self._next + 1) % BLOCKS


@contextlib.contextmanager
def ring_of(sock: socket.socket) -> Iterator[Ring]:
    """Have a bound packet socket fill a ring from now on, instead of its queue."""
    sock.setsockopt(SOL_PACKET, _PACKET_VERSION, _TPACKET_V3)
    frames = BLOCK_SIZE // _SMALLEST_FRAME * BLOCKS
    request = struct.pack(  # struct tpacket_req3
        "=7I", BLOCK_SIZE, BLOCKS, _SMALLEST_FRAME, frames, _RETIRE_MS, 0, 0
    )
    sock.setsockopt(SOL_PACKET, _PACKET_RX_RING, request)
    with (
        mmap.mmap(sock.fileno(), BLOCK_SIZE * BLOCKS) as memory,
        memoryview(memory) as view,
    ):
        ring = Ring(sock, view)
        ring.statistics()  # of the queue: forgotten
        yield ring
