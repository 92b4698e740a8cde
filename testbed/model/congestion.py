"""Congestion control: what an ACK does to cwnd. Reno here, CUBIC in cubic.py.

Source: net/ipv4/tcp_cong.c, Linux 6.12.
"""

from typing import Protocol

from testbed.model.sock import TcpSock


class CongestionControl(Protocol):
    """What the ACK path asks of a congestion control."""

    def begin(self, sock: TcpSock) -> None:
        """Learn that the connection is established."""

    def pkts_acked(self, sock: TcpSock, now_ns: int, rtt_us: int) -> None:
        """Learn the round-trip time of the packet acknowledged last."""

    def in_ack_event(self, sock: TcpSock) -> None:
        """Learn what an ACK has delivered, where ECN was agreed on."""

    def cong_avoid(self, sock: TcpSock, now_ns: int, acked: int) -> None:
        """Grow cwnd for acked segments."""

    def ssthresh(self, sock: TcpSock) -> int:
        """Return what cwnd is to become after a loss."""

    def recovers(self, sock: TcpSock) -> None:
        """Learn that repairing a loss begins, after ssthresh() or without it."""

    def timed_out(self, sock: TcpSock) -> None:
        """Learn, after ssthresh(), of a timeout before cwnd shrinks for it."""

    def lost(self, sock: TcpSock, now_ns: int) -> None:
        """Learn that a timeout has begun everything anew."""

    def undo_cwnd(self, sock: TcpSock) -> int:
        """Return what cwnd is when it turns out that nothing was lost."""


def slow_start(sock: TcpSock, acked: int) -> int:
    """Grow cwnd by a segment each; return the segments beyond ssthresh."""
    cwnd = min(sock.snd_cwnd + acked, sock.snd_ssthresh)
    acked -= cwnd - sock.snd_cwnd
    sock.snd_cwnd = cwnd
    return acked


def cong_avoid_ai(sock: TcpSock, every: int, acked: int) -> None:
    """Grow cwnd by one for every so many segments."""
    if sock.snd_cwnd_cnt >= every:
        sock.snd_cwnd_cnt = 0
        sock.snd_cwnd += 1
    sock.snd_cwnd_cnt += acked
    if sock.snd_cwnd_cnt >= every:
        more = sock.snd_cwnd_cnt // every
        sock.snd_cwnd_cnt -= more * every
        sock.snd_cwnd += more


class LossBased:
    """What is the same in all that care for losses only: marks count as losses."""

    __slots__ = ()

    def begin(self, sock: TcpSock) -> None:
        """Have nothing to prepare."""

    def pkts_acked(self, sock: TcpSock, now_ns: int, rtt_us: int) -> None:
        """Look at no round-trip time."""

    def in_ack_event(self, sock: TcpSock) -> None:
        """Look at no marks."""

    def recovers(self, sock: TcpSock) -> None:
        """Have reduced cwnd already."""

    def timed_out(self, sock: TcpSock) -> None:
        """Have reduced cwnd already."""

    def lost(self, sock: TcpSock, now_ns: int) -> None:
        """Keep nothing that a timeout could change."""

    def undo_cwnd(self, sock: TcpSock) -> int:
        """Return what cwnd was: tcp_reno_undo_cwnd()."""
        return max(sock.snd_cwnd, sock.prior_cwnd)


class Reno(LossBased):
    """Slow start, then a segment a round trip.

    stretch_acks: whether all segments of a stretch ACK count, beyond slow start.
    """

    __slots__ = ("_stretch_acks",)

    def __init__(self, *, stretch_acks: bool = True) -> None:
        self._stretch_acks = stretch_acks

    def cong_avoid(self, sock: TcpSock, now_ns: int, acked: int) -> None:
        """Grow cwnd: tcp_reno_cong_avoid()."""
        del now_ns
        if not sock.cwnd_limited():
            return
        if sock.in_slow_start():
            acked = slow_start(sock, acked)
            if not acked:
                return
        cong_avoid_ai(sock, sock.snd_cwnd, acked if self._stretch_acks else 1)

    def ssthresh(self, sock: TcpSock) -> int:
        """Return half of cwnd: tcp_reno_ssthresh()."""
        return max(sock.snd_cwnd >> 1, 2)
