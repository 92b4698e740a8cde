"""Buffers of received bytes: tcp_try_coalesce() and skb_try_coalesce()."""

from testbed.model.packet import Packet
from testbed.model.receive_queue import Buffer, ReceiveQueue

OVERHEAD = 832
PAGE = 32768


def a_buffer(start: int, length: int, *, fin: bool = False) -> Buffer:
    packet = Packet(start, length, 1, 52)
    packet.fin = fin
    return Buffer(packet)


def test_what_joins_a_buffer_leaves_its_overhead_behind() -> None:
    queue = ReceiveQueue(OVERHEAD)
    queue.append(a_buffer(0, 1000))
    queue.append(a_buffer(1000, 1000))

    assert queue.memory == 2000 + OVERHEAD


def test_what_overlaps_does_not_join() -> None:
    first = a_buffer(0, 1000)

    assert first.join(a_buffer(999, 1000), OVERHEAD) == 0


def test_a_buffer_has_room_for_17_pieces_of_pages() -> None:
    buffer, page = a_buffer(0, 1000), 0
    while buffer.join(a_buffer(buffer.end, 1000), OVERHEAD):
        page += 1

    assert (page, buffer.frags) == (16, 17)


def test_a_packet_across_pages_has_a_piece_of_each() -> None:
    frags = [
        a_buffer(start, length).frags
        for start, length in ((0, PAGE), (PAGE - 1, 2), (0, 2 * PAGE + 1), (0, 0))
    ]

    assert frags == [1, 2, 3, 1]


def test_a_read_ends_with_a_buffer() -> None:
    queue = ReceiveQueue(OVERHEAD)
    queue.append(a_buffer(0, 1000))

    assert (queue.read(0, 5000), queue.read(400, 5000), queue.read(400, 50)) == (
        *(1000, 600),
        50,
    )


def test_a_fin_is_not_read() -> None:
    queue = ReceiveQueue(OVERHEAD)
    queue.append(a_buffer(0, 1000, fin=True))

    assert queue.read(0, 5000) == 1000


def test_a_buffer_is_freed_once_all_of_it_is_read() -> None:
    queue = ReceiveQueue(OVERHEAD)
    queue.append(a_buffer(0, 1000, fin=True))
    queue.drop_read(999)
    before = queue.memory
    queue.drop_read(1000)

    assert (before, queue.memory, bool(queue)) == (1000 + OVERHEAD, 0, False)
