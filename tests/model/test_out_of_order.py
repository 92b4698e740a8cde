"""The out-of-order queue, and the blocks it gives: RFC 2018 and RFC 2883."""

import pytest

from testbed.model.out_of_order import OutOfOrder
from testbed.model.packet import Packet
from tests.model.scenarios import MSS, in_segments

OVERHEAD = 832


def a_queue(*blocks: tuple[int, int]) -> OutOfOrder:
    """Return a queue to which segments from start to end were added."""
    queue = OutOfOrder(OVERHEAD)
    for start, end in blocks:
        add(queue, start, end)
    queue.forget_twice()
    return queue


def add(queue: OutOfOrder, start: int, end: int) -> bool:
    return queue.add(Packet(start * MSS, (end - start) * MSS, end - start, 52))


def taken(queue: OutOfOrder, place: int) -> list[tuple[float, float]]:
    return in_segments((each.start, each.end) for each in queue.take(place * MSS))


def test_the_first_block_has_what_came_last() -> None:
    # RFC 2018, section 4.
    assert in_segments(a_queue((2, 3), (6, 7), (4, 5)).sacks()) == [
        *((4, 5), (6, 7), (2, 3))
    ]


def test_a_block_that_grows_comes_first() -> None:
    assert in_segments(a_queue((2, 3), (6, 7), (3, 4)).sacks()) == [(2, 4), (6, 7)]


def test_blocks_that_meet_are_one() -> None:
    assert in_segments(a_queue((2, 3), (4, 5), (3, 4)).sacks()) == [(2, 5)]


def test_with_timestamps_there_is_room_for_three_blocks() -> None:
    queue = a_queue((2, 3), (4, 5), (6, 7), (8, 9))

    assert in_segments(queue.sacks()) == [(8, 9), (6, 7), (4, 5)]


def test_a_fifth_block_makes_the_oldest_forgotten() -> None:
    queue = a_queue((10, 11), (8, 9), (6, 7), (4, 5), (2, 3))
    for place in (2, 4, 6, 8):
        queue.take(place * MSS)

    assert in_segments(queue.sacks()) == []
    assert queue


def test_what_came_twice_is_told_first_and_once() -> None:
    queue = a_queue((2, 4))
    add(queue, 2, 3)
    told = in_segments(queue.sacks())

    assert told == [(2, 3), (2, 4)]
    assert in_segments(queue.sacks()) == [(2, 4)]


def test_a_dsack_leaves_room_for_two_blocks() -> None:
    queue = a_queue((2, 3), (4, 5), (6, 7))
    queue.came_twice(0, MSS)

    assert in_segments(queue.sacks()) == [(0, 1), (6, 7), (4, 5)]


@pytest.mark.parametrize(
    ("block", "twice", "taken_later"),
    [
        pytest.param((3, 5), (3, 5), [(2, 6)], id="all-of-it"),
        pytest.param((4, 8), (4, 6), [(2, 6), (4, 8)], id="its-head"),
        pytest.param((2, 8), (2, 6), [(2, 8)], id="more-than-was-there"),
        pytest.param((1, 4), (2, 4), [(1, 4), (2, 6)], id="its-tail"),
    ],
)
def test_what_overlaps_came_twice(
    block: tuple[int, int],
    twice: tuple[int, int],
    taken_later: list[tuple[int, int]],
) -> None:
    queue = a_queue((2, 6))
    add(queue, *block)

    assert in_segments(queue.sacks())[0] == twice
    assert taken(queue, taken_later[0][0]) == taken_later
    assert queue.memory == 0


def test_all_that_a_packet_covers_came_twice() -> None:
    queue = a_queue((3, 4), (5, 6))
    add(queue, 4, 5)
    queue.forget_twice()
    add(queue, 3, 7)

    assert in_segments(queue.sacks()) == [(3, 6), (3, 7)]


def test_a_packet_that_follows_joins_the_buffer_before_it() -> None:
    queue = a_queue((2, 3))
    is_own = add(queue, 3, 4)

    assert (is_own, queue.memory) == (False, 2 * MSS + OVERHEAD)


def test_a_packet_of_its_own_is_charged_for_whole() -> None:
    queue = a_queue((2, 3))
    is_own = add(queue, 4, 5)

    assert (is_own, queue.memory) == (True, 2 * (MSS + OVERHEAD))


def test_what_is_in_sequence_is_taken_out_and_no_more() -> None:
    queue = a_queue((2, 3), (4, 5), (3, 4), (6, 7))

    assert taken(queue, 2)[-1][1] == 5
    assert in_segments(queue.sacks()) == [(6, 7)]
    assert (bool(queue), queue.memory) == (True, MSS + OVERHEAD)


def test_nothing_is_taken_out_before_the_gap_is_filled() -> None:
    assert taken(a_queue((2, 3)), 1) == []


def test_what_the_filler_brought_too_came_twice() -> None:
    queue = a_queue((2, 3), (5, 6))

    assert taken(queue, 4) == []
    assert in_segments(queue.sacks()) == [(2, 3), (5, 6)]


@pytest.mark.parametrize(
    ("blocks", "new", "crowds"),
    [
        pytest.param(((2, 3), (4, 5)), (6, 7), True, id="a-third-block"),
        pytest.param(((2, 3),), (6, 7), False, id="a-second-block"),
        pytest.param(((2, 3), (4, 5), (6, 7)), (1, 2), True, id="the-third-grows"),
        pytest.param(((2, 3), (4, 5), (6, 7)), (7, 8), False, id="the-first-grows"),
    ],
)
def test_a_block_beyond_the_second_may_not_be_sent_again(
    blocks: tuple[tuple[int, int], ...], new: tuple[int, int], *, crowds: bool
) -> None:
    # TCP_SACK_BLOCKS_EXPECTED
    queue = a_queue(*blocks)

    assert queue.crowds_block(new[0] * MSS, new[1] * MSS) == crowds
