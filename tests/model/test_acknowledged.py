"""tcp_clean_rtx_queue(): packets were sent 1 ms apart, and it is 50 ms now."""

import pytest

from testbed.model.acknowledged import clean_rtx_queue, learn_rtts
from testbed.model.news import News
from testbed.model.sock import TcpSock
from tests.model.scenarios import MS, MSS, a_sender, lose, marks, sack, send_again


def acked(sock: TcpSock, una: int, news: News | None = None) -> News:
    """Have una, in bytes, be acknowledged."""
    news = news or News()
    prior_fack = sock.highest_sack_seq()
    sock.snd_una = una
    clean_rtx_queue(sock, news, prior_fack, MSS)
    return news


def test_whole_packets_leave_the_queue() -> None:
    sock = a_sender(2, 2, 2)
    news = acked(sock, 4 * MSS)

    assert [skb.seq for skb in sock.rtx_queue] == [4 * MSS]
    assert (sock.packets_out, sock.delivered, news.data_acked) == (2, 4, True)
    assert sock.sk_wmem_queued == sock.rtx_queue[0].truesize


def test_the_acknowledged_segments_of_a_packet_count() -> None:
    sock = a_sender(4)
    news = acked(sock, 3 * MSS)

    assert (sock.packets_out, sock.delivered, news.data_acked) == (1, 3, True)
    assert sock.rtx_queue[0].seq == 3 * MSS


def test_a_part_of_a_segment_does_not() -> None:
    sock = a_sender(1)
    news = acked(sock, MSS - 1)

    assert (sock.packets_out, news.data_acked, news.set_xmit_timer) == (1, False, False)
    assert sock.rtx_queue[0].length == MSS


def test_what_was_sacked_was_delivered_then() -> None:
    sock = a_sender(1, 1, 1)
    sack(sock, (1, 2))
    acked(sock, 2 * MSS)

    assert (sock.delivered, sock.sacked_out) == (1, 0)


def test_what_was_sacked_had_its_round_trip_then() -> None:
    sock = a_sender(1, 1, 1)
    sack(sock, (1, 3))

    assert acked(sock, 3 * MSS).last_ackt == 1 * MS


def test_what_was_lost_and_sent_again_is_neither_any_more() -> None:
    sock = a_sender(1, 1, 1)
    lose(sock, 0, 1)
    send_again(sock, 0)
    news = acked(sock, 2 * MSS)

    assert (sock.lost_out, sock.retrans_out) == (0, 0)
    assert news.retrans_data_acked


def test_progress_sets_the_timer() -> None:
    assert acked(a_sender(1, 1), MSS).set_xmit_timer


def test_a_sacked_head_looks_like_reneging() -> None:
    sock = a_sender(1, 1, 1)
    sack(sock, (1, 2))

    assert acked(sock, MSS).reneging


def test_a_hole_filled_by_an_original_is_reordering() -> None:
    sock = a_sender(*[1] * 6)
    sack(sock, (5, 6))
    acked(sock, MSS)

    assert (sock.reordering, sock.reord_seen) == (6 - 0, True)


def test_a_hole_filled_by_a_retransmission_is_not() -> None:
    sock = a_sender(*[1] * 6)
    sack(sock, (5, 6))
    lose(sock, 0)
    send_again(sock, 0)
    acked(sock, MSS)

    assert not sock.reord_seen


def test_packets_in_order_are_not_reordering_either() -> None:
    sock = a_sender(*[1] * 6)
    acked(sock, MSS)

    assert not sock.reord_seen


@pytest.mark.parametrize(
    ("tsecr", "advanced"),
    [pytest.param(49, False, id="the-original"), pytest.param(50, True, id="again")],
)
def test_rack_heeds_a_retransmission_if_its_own_time_is_echoed(
    tsecr: int, *, advanced: bool
) -> None:
    # As tcp_skb_spurious_retrans() asks.
    sock = a_sender(1, 1)
    send_again(sock, 0)
    sock.tcp_clock_cache, sock.rcv_tsecr = 95 * MS, tsecr
    acked(sock, MSS)

    assert sock.rack.advanced == advanced


@pytest.mark.parametrize(("high", "is_original"), [(1, True), (0, False)])
def test_an_original_from_before_the_episode_is_told(
    high: int, *, is_original: bool
) -> None:
    sock = a_sender(1, 1)
    sock.high_seq = high * MSS

    assert acked(sock, MSS).orig_sack_acked == is_original


# Round trips


def test_srtt_has_the_first_packets_time_and_the_congestion_control_the_lasts() -> None:
    sock = a_sender(1, 1, 1)
    sock.srtt_us = 0

    assert learn_rtts(sock, acked(sock, 3 * MSS)) == 47_000
    assert (sock.srtt_us >> 3, sock.min_rtt_us) == (49_000, 40_000)


def test_no_round_trip_is_learned_from_what_was_sent_twice() -> None:
    # Karn's algorithm, RFC 6298, section 3.
    sock = a_sender(1, 1)
    send_again(sock, 0)
    news = acked(sock, 2 * MSS)

    assert learn_rtts(sock, news) == -1
    assert sock.srtt_us >> 3 == 40_000


def test_the_echoed_timestamp_tells_the_round_trip_of_what_was_sent_twice() -> None:
    # RFC 7323, section 4.1; in whole ms.
    sock = a_sender(1, 1)
    send_again(sock, 0)
    sock.rcv_tsecr = 2
    news = acked(sock, MSS)

    assert learn_rtts(sock, news) == 48_000


def test_a_timestamp_tells_nothing_without_progress() -> None:
    # RFC 7323, section 4.1: only an ACK that advances SND.UNA.
    sock = a_sender(1, 1)
    send_again(sock, 1)
    sock.rcv_tsecr = 2

    assert learn_rtts(sock, sack(sock, (1, 2))) == -1


def test_a_round_trip_by_timestamp_is_a_millisecond_at_least() -> None:
    sock = a_sender(1)
    send_again(sock, 0)
    sock.rcv_tsecr = 50

    assert learn_rtts(sock, acked(sock, MSS)) == 1000


def test_a_sacked_packet_has_a_round_trip_too() -> None:
    sock = a_sender(1, 1, 1)
    sock.srtt_us = 0
    news = sack(sock, (1, 3))

    assert learn_rtts(sock, news) == 47_000
    assert sock.srtt_us >> 3 == 48_000


@pytest.mark.parametrize(
    ("again", "resets"),
    [pytest.param(False, False, id="older-head"), pytest.param(True, True, id="newer")],
)
def test_a_sack_sets_the_timer_if_the_head_was_sent_since(
    *, again: bool, resets: bool
) -> None:
    sock = a_sender(1, 1)
    news = sack(sock, (1, 2))
    if again:
        send_again(sock, 0)
    learn_rtts(sock, news)

    assert news.set_xmit_timer == resets


def test_an_empty_queue_has_no_marks() -> None:
    sock = a_sender(1, 1)
    acked(sock, 2 * MSS)

    assert (marks(sock), sock.packets_out) == ([], 0)
