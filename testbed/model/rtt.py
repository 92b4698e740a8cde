"""Round-trip times: srtt, its variance, and the retransmission timeout they give.

Source: net/ipv4/tcp_input.c, tcp_rtt_estimator(), and include/net/tcp.h, Linux 6.12.
RFC 6298 with Linux's finer variance.
"""

from testbed.model.sock import TcpSock

_SRTT_SCALE = 3
RTO_MIN_US = 200_000  # TCP_RTO_MIN
RTO_MAX_MS = 120_000
_JIFFY_US = 1000


def jiffies_of(time_us: int) -> int:
    """Return how many jiffies a time is, rounded up: usecs_to_jiffies()."""
    return -(-time_us // _JIFFY_US)


def learn_rtt(sock: TcpSock, seq_rtt_us: int, ca_rtt_us: int) -> None:
    """Learn a round trip: tcp_ack_update_rtt().

    seq_rtt_us: of the first packet acknowledged, for srtt.  ca_rtt_us: of the last, for
    the minimum, which is kept for good, not for tcp_min_rtt_wlen's 300 s.
    """
    sock.min_rtt_us = min(sock.min_rtt_us, ca_rtt_us or _JIFFY_US)
    if sock.srtt_us:
        _smooth(sock, seq_rtt_us)
    else:
        sock.srtt_us = max(seq_rtt_us << _SRTT_SCALE, 1)
        sock.mdev_us = seq_rtt_us << 1
        sock.rttvar_us = sock.mdev_max_us = max(sock.mdev_us, RTO_MIN_US)
        sock.rtt_seq = sock.snd_nxt
    rto_us = (sock.srtt_us >> _SRTT_SCALE) + sock.rttvar_us
    sock.icsk_rto = min(jiffies_of(rto_us), RTO_MAX_MS)
    sock.icsk_backoff = 0


def _smooth(sock: TcpSock, rtt_us: int) -> None:
    error = rtt_us - (sock.srtt_us >> _SRTT_SCALE)
    sock.srtt_us = max(sock.srtt_us + error, 1)
    change = abs(error) - (sock.mdev_us >> 2)
    if error < 0 < change:
        change >>= 3
    sock.mdev_us += change
    if sock.mdev_us > sock.mdev_max_us:
        sock.mdev_max_us = sock.mdev_us
        sock.rttvar_us = max(sock.rttvar_us, sock.mdev_max_us)
    if sock.snd_una > sock.rtt_seq:
        if sock.mdev_max_us < sock.rttvar_us:
            sock.rttvar_us -= (sock.rttvar_us - sock.mdev_max_us) >> 2
        sock.rtt_seq = sock.snd_nxt
        sock.mdev_max_us = RTO_MIN_US
