"""Round-trip times: RFC 6298, and tcp_rtt_estimator()."""

import pytest

from testbed.model.rtt import jiffies_of, learn_rtt
from testbed.model.sock import TcpSock


def a_sock(*rtts_us: int) -> TcpSock:
    sock = TcpSock(1 << 20)
    for rtt_us in rtts_us:
        learn_rtt(sock, rtt_us, rtt_us)
    return sock


@pytest.mark.parametrize(("time_us", "jiffies"), [(1000, 1), (1001, 2), (0, 0)])
def test_a_time_is_rounded_up_to_jiffies(time_us: int, jiffies: int) -> None:
    assert jiffies_of(time_us) == jiffies


def test_the_first_sample_is_the_srtt_and_half_of_it_the_deviation() -> None:
    # RFC 6298, 2.2: RTTVAR is R/2, the RTO R + 4 RTTVAR.
    sock = a_sock(200_000)

    assert (sock.srtt_us >> 3, sock.icsk_rto) == (200_000, 600)


def test_the_deviation_counts_for_200_ms_at_least() -> None:
    assert a_sock(40_000).icsk_rto == 240


def test_an_eighth_of_a_sample_enters_the_srtt() -> None:
    assert a_sock(40_000, 48_000).srtt_us >> 3 == 41_000


def test_a_quarter_of_an_error_enters_the_deviation() -> None:
    # 3/4 of 4 * 100 ms, and 1/4 of 4 * 400 ms.
    assert a_sock(200_000, 600_000).mdev_us == 300_000 + 400_000


def test_a_sample_much_below_the_srtt_hardly_raises_the_deviation() -> None:
    # "This is similar to one of Eifel findings": an eighth of what it would be.
    sock = a_sock(200_000, 600_000)
    sock.mdev_us = 0
    learn_rtt(sock, (sock.srtt_us >> 3) - 80_000, 1)

    assert sock.mdev_us == 10_000


def test_once_a_round_trip_the_deviation_falls_by_a_quarter_of_what_was_too_much() -> (
    None
):
    sock = a_sock(200_000)
    sock.snd_una, sock.snd_nxt, sock.mdev_max_us = 1, 10, 200_000
    learn_rtt(sock, 200_000, 200_000)  # 3/4 of 400 ms is the largest now

    assert (sock.rttvar_us, sock.rtt_seq) == (375_000, 10)
    assert sock.mdev_max_us == 200_000


def test_within_a_round_trip_it_does_not_fall() -> None:
    sock = a_sock(200_000)
    sock.snd_una, sock.snd_nxt, sock.rtt_seq = 5, 10, 5
    sock.mdev_max_us = 200_000
    learn_rtt(sock, 200_000, 200_000)

    assert sock.rttvar_us == 400_000


def test_the_minimum_is_that_of_the_packets_acknowledged_last() -> None:
    sock = a_sock(50_000)
    learn_rtt(sock, 60_000, 40_000)

    assert sock.min_rtt_us == 40_000


def test_a_round_trip_of_no_time_counts_as_a_jiffy() -> None:
    assert a_sock(0).min_rtt_us == 1000


def test_a_sample_ends_the_backoff() -> None:
    sock = a_sock(40_000)
    sock.icsk_backoff, sock.icsk_rto = 3, 1920
    learn_rtt(sock, 40_000, 40_000)

    assert (sock.icsk_backoff, sock.icsk_rto) == (0, 240)
