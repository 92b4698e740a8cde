"""SACK blocks at the sender: RFC 2018, RFC 2883, and tcp_sacktag_write_queue()."""

import pytest

from testbed.model.scoreboard import check_reordering, tag
from testbed.model.sock import CaState
from tests.model.scenarios import (
    MS,
    MSS,
    a_sender,
    lose,
    marks,
    sack,
    send_again,
)


def test_a_block_marks_the_packets_in_it() -> None:
    sock = a_sender(1, 1, 1, 1)
    news = sack(sock, (1, 3))

    assert marks(sock) == ["", "S", "S", ""]
    assert (sock.sacked_out, news.sack_delivered, news.data_sacked) == (2, 2, True)


def test_a_block_that_is_known_brings_nothing() -> None:
    sock = a_sender(1, 1, 1)
    sack(sock, (1, 2))
    news = sack(sock, (1, 2))

    assert (sock.sacked_out, news.sack_delivered, news.data_sacked) == (1, 0, False)


def test_blocks_count_in_whatever_order_they_come() -> None:
    sock = a_sender(1, 1, 1, 1, 1)
    sack(sock, (3, 4), (1, 2))

    assert marks(sock) == ["", "S", "", "S", ""]


def test_a_block_inside_a_packet_cuts_it() -> None:
    sock = a_sender(5)
    sack(sock, (2, 4))

    assert marks(sock) == ["", "S", ""]
    assert [skb.pcount for skb in sock.rtx_queue] == [2, 2, 1]
    assert (sock.packets_out, sock.sacked_out) == (5, 2)


def test_only_whole_segments_are_sacked() -> None:
    sock = a_sender(5)
    tag(sock, [(MSS + 100, 3 * MSS + 100)], 0, 0, MSS)

    assert marks(sock) == ["", "S", ""]
    assert [skb.seq // MSS for skb in sock.rtx_queue] == [0, 2, 3]


def test_less_than_a_segment_is_not_sacked() -> None:
    sock = a_sender(1, 3)
    tag(sock, [(MSS, MSS + 100)], 0, 0, MSS)

    assert marks(sock) == ["", ""]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param((0, 1), id="begins-at-una"),
        pytest.param((2, 9), id="beyond-what-was-sent"),
        pytest.param((2, 1), id="reversed"),
    ],
)
def test_a_block_that_cannot_be_is_ignored(block: tuple[int, int]) -> None:
    sock = a_sender(1, 1, 1)
    sack(sock, block)

    assert sock.sacked_out == 0


def test_a_reversed_block_cuts_no_packet_either() -> None:
    sock = a_sender(5)
    sack(sock, (3, 2))

    assert len(sock.rtx_queue) == 1


def test_what_is_sacked_is_not_lost() -> None:
    sock = a_sender(1, 1)
    lose(sock, 0, 1)
    sack(sock, (1, 2))

    assert (marks(sock), sock.lost_out) == (["L", "S"], 1)


def test_a_sacked_retransmission_is_no_longer_under_way() -> None:
    sock = a_sender(1, 1)
    lose(sock, 1)
    send_again(sock, 1)
    sack(sock, (1, 2))

    assert marks(sock) == ["", "S"]
    assert (sock.lost_out, sock.retrans_out) == (0, 0)


def test_where_nothing_was_lost_the_retransmission_is_still_under_way() -> None:
    sock = a_sender(1, 1)
    send_again(sock, 1)
    sack(sock, (1, 2))

    assert (marks(sock), sock.retrans_out) == (["", "SR"], 1)


def test_the_times_of_the_first_and_the_last_newly_sacked_are_noted() -> None:
    news = sack(a_sender(1, 1, 1, 1), (1, 4))

    assert (news.first_sackt, news.last_sackt) == (2 * MS, 4 * MS)


def test_the_time_of_what_was_sent_twice_is_not() -> None:
    sock = a_sender(1, 1)
    lose(sock, 1)
    sock.rtx_queue[1].ever_retrans = True  # and lost again

    assert sack(sock, (1, 2)).first_sackt == 0


@pytest.mark.parametrize(("high", "is_original"), [(2, True), (1, False)])
def test_a_sack_of_what_was_sent_before_the_episode_is_told(
    high: int, *, is_original: bool
) -> None:
    sock = a_sender(1, 1)
    sock.high_seq = high * MSS

    assert sack(sock, (1, 2)).orig_sack_acked == is_original


# D-SACK


def test_a_first_block_below_the_ack_is_a_dsack() -> None:
    sock = a_sender(1, 1, 1)
    sock.total_retrans, sock.snd_una = 1, MSS
    news = sack(sock, (0, 1), ack=1)

    assert (news.dsacking, news.sack_delivered, sock.sacked_out) == (True, 1, 0)


def test_a_first_block_within_the_second_is_a_dsack() -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.total_retrans = 1

    assert sack(sock, (2, 3), (1, 4)).dsacking


@pytest.mark.parametrize("second", [(2, 3), (3, 4), (1, 2)])
def test_a_first_block_that_reaches_beyond_the_second_is_not(
    second: tuple[int, int],
) -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.total_retrans = 2

    assert not sack(sock, (1, 3), second).dsacking


def test_a_dsack_of_more_than_was_sent_again_is_dubious() -> None:
    sock = a_sender(1, 1, 1)
    sock.snd_una = 2 * MSS
    sock.total_retrans = 1

    assert not sack(sock, (0, 2), ack=2).dsacking


def test_a_dsack_of_more_than_the_window_ever_was_is_dubious() -> None:
    sock = a_sender(1, 1, 1)
    sock.snd_una, sock.total_retrans, sock.max_window = 2 * MSS, 9, 2 * MSS - 1

    assert not sack(sock, (0, 2), ack=2).dsacking


def test_a_dsack_below_una_takes_back_what_may_be_undone() -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.snd_una, sock.total_retrans = 3 * MSS, 3
    sock.undo_marker, sock.undo_retrans = 0, 3
    sack(sock, (0, 2), ack=3)

    assert sock.undo_retrans == 1


def test_a_dsack_from_before_the_episode_does_not() -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.snd_una, sock.total_retrans = 3 * MSS, 3
    sock.undo_marker, sock.undo_retrans = 2 * MSS, 3
    sack(sock, (0, 2), ack=3)

    assert sock.undo_retrans == 3


def test_a_dsack_above_una_ends_the_retransmission_it_tells_of() -> None:
    sock = a_sender(1, 1, 1)
    sock.undo_marker, sock.undo_retrans = 0, 2
    send_again(sock, 1)
    sack(sock, (1, 2), (1, 3))

    assert (marks(sock), sock.retrans_out) == (["", "S", "S"], 0)
    assert sock.undo_retrans == 1


def test_a_dsack_of_what_was_sacked_before_ends_its_retransmission_too() -> None:
    sock = a_sender(1, 1, 1)
    send_again(sock, 1)
    sack(sock, (1, 2))
    sack(sock, (1, 2), (1, 3))

    assert (marks(sock), sock.retrans_out) == (["", "S", "S"], 0)


@pytest.mark.parametrize("reordered", [True, False])
def test_rack_heeds_a_dsack_once_reordering_was_seen(*, reordered: bool) -> None:
    sock = a_sender(1, 1, 1)
    sock.snd_una, sock.total_retrans, sock.reord_seen = MSS, 1, reordered
    sack(sock, (0, 1), ack=1)

    assert sock.rack.dsack_seen == reordered


def test_a_dsack_of_a_loss_probe_says_nothing_about_reordering() -> None:
    sock = a_sender(1, 1, 1)
    sock.snd_una, sock.total_retrans, sock.reord_seen = 3 * MSS, 1, True
    sock.tlp_high_seq = 3 * MSS
    news = sack(sock, (2, 3), ack=3)

    assert (news.dsack_tlp, sock.rack.dsack_seen) == (True, False)


# Reordering


def test_a_hole_filled_late_shows_how_far_packets_are_reordered() -> None:
    sock = a_sender(*[1] * 8)
    sack(sock, (6, 7))
    sack(sock, (1, 2), (6, 7))

    assert (sock.reordering, sock.reord_seen) == (6, True)


def test_a_hole_filled_by_a_retransmission_is_not_reordering() -> None:
    sock = a_sender(*[1] * 8)
    sack(sock, (6, 7))
    lose(sock, 1)
    send_again(sock, 1)
    sack(sock, (1, 2), (6, 7))

    assert (sock.reordering, sock.reord_seen) == (3, False)


def test_a_retransmission_that_was_not_needed_shows_reordering() -> None:
    sock = a_sender(*[1] * 8)
    send_again(sock, 1)
    sack(sock, (1, 2), (6, 7))
    before = sock.reord_seen
    sack(sock, (1, 2), (1, 2), (6, 7))

    assert (before, sock.reordering, sock.reord_seen) == (False, 6, True)


def test_a_little_reordering_is_seen_but_changes_no_threshold() -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.reordering = 5
    sack(sock, (3, 4))
    sack(sock, (1, 2), (3, 4))

    assert (sock.reordering, sock.reord_seen) == (5, True)


def test_reordering_is_at_most_tcp_max_reordering() -> None:
    sock = a_sender(*[1] * 400)
    sack(sock, (399, 400))
    check_reordering(sock, MSS, MSS)

    assert sock.reordering == 300


@pytest.mark.parametrize(
    ("undo_marker", "seen"),
    [pytest.param(0, True, id="undoable"), pytest.param(None, False, id="not")],
)
def test_after_a_timeout_reordering_counts_only_while_it_may_be_undone(
    undo_marker: int | None, *, seen: bool
) -> None:
    # The end of tcp_sacktag_write_queue().
    sock = a_sender(*[1] * 8)
    sack(sock, (6, 7))
    sock.ca_state, sock.undo_marker = CaState.LOSS, undo_marker
    sack(sock, (1, 2), (6, 7))

    assert sock.reord_seen == seen
