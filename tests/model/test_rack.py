"""RACK: RFC 8985 and tcp_recovery.c. Packets are sent 1 ms apart, it is 50 ms now."""

import pytest

from testbed.model import rack
from testbed.model.sock import CaState, TcpSock
from tests.model.scenarios import MS, MSS, RTT_US, a_sender, lose, marks, send_again


def deliver(sock: TcpSock, *places: int) -> None:
    """Have packets be sacked."""
    for place in places:
        skb = sock.rtx_queue[place]
        skb.sacked = True
        sock.sacked_out += skb.pcount
        rack.advance(sock, skb)


def test_the_packet_sent_last_is_what_others_are_compared_with() -> None:
    sock = a_sender(1, 1, 1)
    deliver(sock, 2, 0)

    assert (sock.rack.mstamp, sock.rack.end_seq) == (3000, 3 * MSS)


def test_of_packets_sent_at_one_time_it_is_the_last_by_sequence() -> None:
    sock = a_sender(1, 1)
    sock.rtx_queue[1].tstamp_ns = sock.rtx_queue[0].tstamp_ns
    deliver(sock, 0, 1)

    assert sock.rack.end_seq == 2 * MSS


def test_the_round_trip_is_that_of_the_packet_delivered_last() -> None:
    sock = a_sender(1, 1)
    deliver(sock, 1, 0)

    assert sock.rack.rtt_us == 49_000


def test_what_comes_back_too_fast_was_the_original() -> None:
    sock = a_sender(1, 1)
    send_again(sock, 0)
    sock.tcp_clock_cache += RTT_US * 1000 - 1000
    deliver(sock, 0)

    assert (sock.rack.advanced, sock.rack.mstamp) == (False, 0)


def test_a_retransmission_that_took_a_round_trip_counts() -> None:
    sock = a_sender(1, 1)
    send_again(sock, 0)
    sock.tcp_clock_cache += RTT_US * 1000
    deliver(sock, 0)

    assert sock.rack.mstamp == 50_000


def test_packets_sent_a_quarter_of_an_rtt_earlier_are_lost() -> None:
    sock = a_sender(*[1] * 12, now_ms=60)
    deliver(sock, 11)  # sent at 12 ms
    rack.detect_loss(sock)

    assert marks(sock) == ["L", "L", *[""] * 9, "S"]  # sent at 1 and 2 ms


def test_the_others_are_waited_for() -> None:
    sock = a_sender(1, 1, 1, 1)
    deliver(sock, 3)

    assert rack.detect_loss(sock) == 9000  # 46 ms and 10 ms, less 47 ms
    assert sock.lost_out == 0


def test_the_one_sent_last_of_them_is_waited_for() -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.rtx_queue[0].tstamp_ns = 3_500_000
    deliver(sock, 3)

    assert rack.detect_loss(sock) == 9500


def test_the_packet_that_others_are_compared_with_is_not_suspected() -> None:
    sock = a_sender(1, now_ms=500)
    sock.rack.mstamp, sock.rack.end_seq = 1000, MSS
    rack.detect_loss(sock)

    assert marks(sock) == [""]


def test_packets_sent_later_are_not_suspected() -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.reordering = 1
    deliver(sock, 1)
    wait_us = rack.detect_loss(sock)

    assert (marks(sock), wait_us) == (["L", "S", "", ""], 0)


def test_three_sacked_packets_prove_a_loss_without_waiting() -> None:
    sock = a_sender(1, 1, 1, 1)
    deliver(sock, 1, 2, 3)

    assert (rack.detect_loss(sock), marks(sock)) == (0, ["L", "S", "S", "S"])


def test_in_recovery_there_is_no_waiting() -> None:
    sock = a_sender(1, 1)
    sock.ca_state = CaState.RECOVERY
    deliver(sock, 1)
    rack.detect_loss(sock)

    assert marks(sock) == ["L", "S"]


@pytest.mark.parametrize("state", [CaState.DISORDER, CaState.RECOVERY])
def test_once_reordering_was_seen_there_always_is(state: CaState) -> None:
    sock = a_sender(1, 1, 1, 1)
    sock.ca_state, sock.reord_seen = state, True
    deliver(sock, 1, 2, 3)

    assert rack.detect_loss(sock) == 7000


def test_a_wider_window_is_no_longer_than_a_round_trip() -> None:
    sock = a_sender(1, 1)
    sock.rack.reo_wnd_steps = 9
    deliver(sock, 1)

    assert rack.detect_loss(sock) == 48_000 + RTT_US - 49_000


def test_a_lost_retransmission_is_lost_again() -> None:
    sock = a_sender(1, 1, 1)
    sock.ca_state, sock.tcp_clock_cache = CaState.RECOVERY, 44 * MS
    lose(sock, 0)
    send_again(sock, 0)
    sock.rtx_queue[2].tstamp_ns = 45 * MS  # new data
    sock.tcp_clock_cache = 90 * MS
    deliver(sock, 2)
    rack.detect_loss(sock)

    assert marks(sock) == ["L", "L", "S"]
    assert (sock.retrans_out, sock.lost) == (0, 2)


def test_what_is_lost_and_not_sent_again_is_not_counted_twice() -> None:
    sock = a_sender(1, 1)
    sock.ca_state = CaState.RECOVERY
    lose(sock, 0)
    deliver(sock, 1)
    rack.detect_loss(sock)

    assert (sock.lost_out, sock.lost) == (1, 0)


def a_dsacked_sender(steps: int) -> TcpSock:
    sock = a_sender()
    sock.rack.reo_wnd_steps, sock.rack.dsack_seen = steps, True
    sock.delivered, sock.rack.prior_delivered = 20, 10
    return sock


@pytest.mark.parametrize(("steps", "wider"), [(1, 2), (255, 255)])
def test_a_dsack_widens_the_window_by_a_step(steps: int, wider: int) -> None:
    sock = a_dsacked_sender(steps)
    rack.update_reo_wnd(sock)

    assert (sock.rack.reo_wnd_steps, sock.rack.reo_wnd_persist) == (wider, 16)
    assert not sock.rack.dsack_seen


def test_only_one_dsack_a_round_trip_counts() -> None:
    sock = a_dsacked_sender(1)
    rack.update_reo_wnd(sock)
    sock.rack.dsack_seen, sock.rack.prior_delivered = True, 19
    rack.update_reo_wnd(sock)

    assert (sock.rack.reo_wnd_steps, sock.rack.dsack_seen) == (2, False)


def test_the_next_round_trips_dsack_counts_again() -> None:
    sock = a_dsacked_sender(1)
    rack.update_reo_wnd(sock)
    sock.rack.dsack_seen, sock.rack.prior_delivered = True, 20
    rack.update_reo_wnd(sock)

    assert sock.rack.reo_wnd_steps == 3


@pytest.mark.parametrize(("persist", "steps"), [(1, 5), (0, 1)])
def test_a_wide_window_is_kept_for_some_recoveries(persist: int, steps: int) -> None:
    sock = a_sender()
    sock.rack.reo_wnd_steps, sock.rack.reo_wnd_persist = 5, persist
    rack.update_reo_wnd(sock)

    assert sock.rack.reo_wnd_steps == steps
