import pytest

from testbed.model.dctcp import Dctcp
from testbed.model.sock import TcpSock


def a_sock(*, ecn_ok: bool = True) -> TcpSock:
    sock = TcpSock(1_000_000)
    sock.snd_cwnd = 100
    sock.delivered = 1
    sock.ecn_ok = ecn_ok
    return sock


def a_dctcp(sock: TcpSock) -> Dctcp:
    dctcp = Dctcp()
    dctcp.begin(sock)
    return dctcp


def deliver(dctcp: Dctcp, sock: TcpSock, segments: int, marked: int) -> None:
    """Have a round trip deliver segments."""
    sock.snd_una = sock.snd_nxt = dctcp.next_seq + segments * 1448
    sock.delivered += segments
    sock.delivered_ce += marked
    dctcp.in_ack_event(sock)


def test_a_round_trip_without_marks_takes_a_sixteenth_of_alpha() -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    deliver(dctcp, sock, 100, 0)

    assert dctcp.dctcp_alpha == 1024 - 64


def test_alpha_follows_the_share_of_marks() -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    for _ in range(200):
        deliver(dctcp, sock, 100, 25)

    # 25/100 of 1024 are 256; 1600 // 100 = 16 is added where alpha >> 4 is taken.
    assert dctcp.dctcp_alpha == 16 * 16 + 15


def test_a_small_alpha_is_gone_at_once() -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    dctcp.dctcp_alpha = 15
    deliver(dctcp, sock, 100, 0)

    assert dctcp.dctcp_alpha == 0


def test_alpha_waits_for_the_end_of_the_round_trip() -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    dctcp.next_seq = 1448
    dctcp.in_ack_event(sock)

    assert dctcp.dctcp_alpha == 1024


@pytest.mark.parametrize(
    ("alpha", "cwnd"),
    [
        pytest.param(1024, 50, id="all-marked"),
        pytest.param(256, 88, id="a-quarter"),
        pytest.param(0, 100, id="none"),
    ],
)
def test_cwnd_shrinks_by_half_the_share_of_marks(alpha: int, cwnd: int) -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    dctcp.dctcp_alpha = alpha

    assert dctcp.ssthresh(sock) == cwnd


def test_a_loss_halves_cwnd_whatever_was_marked() -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    dctcp.dctcp_alpha = 0
    dctcp.recovers(sock)

    assert sock.snd_ssthresh == 50


def test_a_reduction_is_taken_back_to_what_cwnd_was() -> None:
    sock = a_sock()
    dctcp = a_dctcp(sock)
    sock.snd_cwnd = dctcp.ssthresh(sock)

    assert dctcp.undo_cwnd(sock) == 100


def test_without_ecn_it_is_reno() -> None:
    sock = a_sock(ecn_ok=False)
    dctcp = a_dctcp(sock)
    dctcp.dctcp_alpha = 0
    dctcp.recovers(sock)
    dctcp.timed_out(sock)

    assert dctcp.ssthresh(sock) == 50
    assert sock.snd_ssthresh == TcpSock(1).snd_ssthresh
