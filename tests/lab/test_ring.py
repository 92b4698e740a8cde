"""The ring of a packet socket: blocks of bytes, as the kernel lays them out."""

import itertools
import socket
import struct
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.lab.ring import BLOCK_SIZE, BLOCKS, Ring, Seen, packets_in

#: Where tpacket_rcv() puts a packet: 20 bytes of sockaddr_ll are behind tpacket3_hdr,
#: and the MAC header ends on a multiple of 16.
MAC = 82
FIRST = 48
OPEN, FULL = 0, 1

packets = st.builds(
    Seen,
    time_ns=st.integers(0, 2**32 * 10**9 - 1),
    data=st.binary(max_size=128),
    wire_length=st.integers(0, 2**32 - 1),
    outgoing=st.booleans(),
)


def block_of(seen: Iterable[Seen], status: int = FULL) -> bytes:
    """Return a block: struct tpacket_block_desc, and packets behind each other."""
    body, count = b"", 0
    for count, each in enumerate(seen, 1):  # noqa: B007  # how many, afterwards
        body += frame_of(each)
    head = struct.pack("=7I", 2, FIRST, status, count, FIRST, FIRST + len(body), 1)
    return head.ljust(FIRST, b"\0") + body


def frame_of(seen: Seen) -> bytes:
    size = -(-(MAC + len(seen.data)) // 8) * 8
    seconds, ns = divmod(seen.time_ns, 10**9)
    kept = len(seen.data)
    head = struct.pack(
        "=6I2H", size, seconds, ns, kept, seen.wire_length, 0, MAC, MAC + 14
    )
    kind = socket.PACKET_OUTGOING if seen.outgoing else socket.PACKET_HOST
    address = struct.pack("=HHiHBB8x", 17, 8, 2, 1, kind, 6)
    return (head.ljust(48, b"\0") + address).ljust(MAC, b"\0").ljust(
        MAC, b"\0"
    ) + seen.data.ljust(size - MAC, b"\0")


def a_packet(number: int) -> Seen:
    return Seen(time_ns=number, data=b"%d" % number, wire_length=60, outgoing=False)


class Socket(socket.socket):
    """A socket that only notes what it is bound to, and has counted."""

    def __init__(self) -> None:
        super().__init__()
        self.bound: list[object] = []

    def getsockname(self) -> tuple[str, int]:
        return ("eth0", 3)

    def bind(self, address: object) -> None:
        self.bound.append(address)

    def getsockopt(self, *_args: int) -> bytes:  # type: ignore[override]
        return struct.pack("=III", 7, 2, 1)


class Kernel:
    """What fills a ring: the block that is open, and those that are full."""

    def __init__(self) -> None:
        self.memory = bytearray(BLOCK_SIZE * BLOCKS)
        self.open = 0

    def fill(self, *numbers: int, status: int = FULL) -> None:
        block = block_of(map(a_packet, numbers), status)
        self.memory[self.open * BLOCK_SIZE :][: len(block)] = block
        at = self.open * BLOCK_SIZE
        self.memory[at : at + len(block)] = block
        if status == FULL:
            self.open = (self.open + 1) % BLOCKS

    def status(self, block: int) -> int:
        return int(struct.unpack_from("=I", self.memory, block * BLOCK_SIZE + 8)[0])


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def ring(kernel: Kernel):
    with Socket() as sock, memoryview(kernel.memory) as memory:
        yield Ring(sock, memory)


def numbers(seen: Iterable[Seen]) -> list[int]:
    return [each.time_ns for each in seen]


@given(st.lists(packets, max_size=5))
def test_a_block_yields_what_was_put_in(seen: list[Seen]) -> None:
    assert list(packets_in(memoryview(block_of(seen)))) == seen


def test_a_packet_beyond_64_kb_keeps_its_length() -> None:
    seen = Seen(time_ns=1, data=b"x" * 128, wire_length=185_014, outgoing=True)

    assert list(packets_in(memoryview(block_of([seen])))) == [seen]


def test_only_full_blocks_are_taken_while_packets_come(ring, kernel) -> None:
    kernel.fill(1, 2)
    kernel.fill(3)
    kernel.fill(4, status=OPEN)

    assert numbers(ring.take_full()) == [1, 2, 3]
    assert numbers(ring.take_full()) == []


def test_a_block_that_was_taken_is_the_kernels_again(ring, kernel) -> None:
    kernel.fill(1)
    list(ring.take_full())

    assert kernel.status(0) == OPEN


def test_the_rest_has_the_open_block_too(ring, kernel) -> None:
    kernel.fill(1)
    kernel.fill(2, 3, status=OPEN)

    assert numbers(ring.take_rest()) == [1, 2, 3]


def test_a_ring_goes_round(ring, kernel) -> None:
    taken, number = [], itertools.count()
    for _ in range(BLOCKS + 2):
        kernel.fill(next(number))
        taken += numbers(ring.take_full())
    kernel.fill(next(number), status=OPEN)

    assert taken + numbers(ring.take_rest()) == list(range(BLOCKS + 3))


def test_no_packet_is_taken_twice_from_a_ring_that_was_full(ring, kernel) -> None:
    # Full all round, the kernel opens no block, and drops what comes: that is counted.
    for number in range(BLOCKS):
        kernel.fill(number)

    assert numbers(ring.take_rest()) == list(range(BLOCKS))


def test_what_is_left_is_taken_once_no_packet_comes_any_more(ring, kernel) -> None:
    kernel.fill(1, status=OPEN)
    rest = ring.take_rest()

    assert ring.sock.bound == []
    next(rest)
    assert ring.sock.bound == [("eth0", 0xFFFF)]


def test_packets_received_and_dropped_are_the_kernels_count(ring) -> None:
    assert ring.statistics() == (7, 2)
