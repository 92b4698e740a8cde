from testbed.model.sock import CaState, TcpSock
from testbed.model.validation import cwnd_validate

MS = 1_000_000


def a_sock(packets_out: int) -> TcpSock:
    """Return a socket of cwnd 100 that has sent; its RTO is 240 ms."""
    sock = TcpSock(1 << 20)
    sock.snd_cwnd, sock.snd_ssthresh = 100, 50
    sock.packets_out, sock.snd_nxt = packets_out, packets_out * 1448
    sock.icsk_rto = 240
    return sock


def test_a_full_window_makes_it_cwnd_limited() -> None:
    sock = a_sock(100)
    cwnd_validate(sock, limited=True)

    assert (sock.is_cwnd_limited, sock.max_packets_out) == (True, 100)


def test_cwnd_stays_limited_until_the_window_is_acknowledged() -> None:
    sock = a_sock(100)
    cwnd_validate(sock, limited=True)
    sock.packets_out, sock.snd_una = 50, 50 * 1448
    cwnd_validate(sock, limited=False)
    before = sock.is_cwnd_limited
    sock.snd_una = 100 * 1448
    cwnd_validate(sock, limited=False)

    assert (before, sock.is_cwnd_limited) == (True, False)


def test_cwnd_that_is_not_used_for_an_rto_is_taken_back_by_half() -> None:
    sock = a_sock(20)
    sock.tcp_clock_cache = 240 * MS
    cwnd_validate(sock, limited=False)

    assert (sock.snd_cwnd, sock.snd_ssthresh) == (60, 75)


def test_cwnd_is_kept_where_the_send_buffer_is_the_limit() -> None:
    sock = a_sock(20)
    sock.tcp_clock_cache, sock.nospace = 240 * MS, True
    cwnd_validate(sock, limited=False)

    assert sock.snd_cwnd == 100


def test_cwnd_is_kept_for_less_than_an_rto() -> None:
    sock = a_sock(20)
    sock.tcp_clock_cache = 239 * MS
    cwnd_validate(sock, limited=False)

    assert sock.snd_cwnd == 100


def test_cwnd_is_kept_while_losses_are_repaired() -> None:
    # tcp_cwnd_application_limited() asks for TCP_CA_Open.
    sock = a_sock(20)
    sock.tcp_clock_cache, sock.ca_state = 240 * MS, CaState.RECOVERY
    cwnd_validate(sock, limited=False)

    assert sock.snd_cwnd == 100
