"""The receiver's windows: tcp_select_initial_window() and __tcp_select_window()."""

import pytest

from testbed.model.packet import Packet
from testbed.model.rcv_sock import RcvSock
from testbed.model.receive_queue import Buffer
from tests.model.scenarios import MSS, RMEM


def a_sock(rcvbuf: int | None = None) -> RcvSock:
    return RcvSock(mss=MSS, rmem=RMEM, rcvbuf=rcvbuf, skb_overhead=832)


def holding(sock: RcvSock, size: int) -> RcvSock:
    """Have a socket hold so many bytes of memory."""
    sock.queue.append(Buffer(Packet(0, size - 832, 1, 52)))
    return sock


def test_half_of_the_memory_is_window_at_first() -> None:
    sock = a_sock()

    assert sock.window_of(131072) == 65536
    assert sock.space_of(65536) == 131072


def test_so_rcvbuf_is_doubled() -> None:
    assert a_sock(50_000).rcvbuf == 100_000


@pytest.mark.parametrize(
    ("rcvbuf", "scale"),
    [
        pytest.param(None, 7, id="tcp_rmem-of-6-MB"),
        pytest.param(1_000_000, 4, id="of-1-MB"),
        pytest.param(20_000, 0, id="of-20-KB"),
    ],
)
def test_the_scale_makes_the_largest_window_fit_16_bits(
    rcvbuf: int | None, scale: int
) -> None:
    # ilog2(space) - 15, by which space is what a window can become.
    assert a_sock(rcvbuf).rcv_wscale == scale


def test_the_first_guess_of_the_senders_segments_is_536() -> None:
    assert a_sock().rcv_mss == 536


def test_what_is_left_of_the_window_is_never_less_than_nothing() -> None:
    sock = a_sock()
    sock.rcv_wup, sock.rcv_wnd, sock.rcv_nxt = 1000, 500, 1200
    left = sock.receive_window()
    sock.rcv_nxt = 1600

    assert (left, sock.receive_window()) == (300, 0)


def test_a_window_is_a_multiple_of_its_unit() -> None:
    sock = a_sock()
    sock.rcv_ssthresh = 10_001

    assert sock.select_window() == 10_112  # 79 * 128


def test_a_window_is_at_most_rcv_ssthresh() -> None:
    sock = a_sock()
    sock.rcv_ssthresh = 12_800

    assert sock.select_window() == 12_800


def test_with_little_memory_left_there_is_no_window() -> None:
    # Below 1/16 of what it may be: 4096 of 65536.
    sock = holding(a_sock(), 131072 - 2 * 4000)

    assert sock.select_window() == 0


def test_with_less_than_half_of_it_left_quick_acks_end() -> None:
    sock = holding(a_sock(), 131072 - 2 * 20_000)
    sock.quick = 5

    assert sock.select_window() == 20_000 // 128 * 128
    assert sock.quick == 0


def test_the_share_of_payload_makes_a_wider_window() -> None:
    sock = a_sock()
    sock.learn_ratio(28_960, 28_960 + 832)

    assert sock.ratio == 248
    assert sock.window_clamp == 131072 * 248 >> 8


def test_each_packet_has_an_ack_while_quick_until_the_fin() -> None:
    sock = a_sock()
    sock.quick = 1
    before = sock.in_quickack_mode()
    sock.fin = True

    assert (before, sock.in_quickack_mode()) == (True, False)
