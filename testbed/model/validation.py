"""Whether cwnd is used: it grows only if it is, and shrinks if it long was not.

Source: net/ipv4/tcp_output.c, tcp_cwnd_validate(), Linux 6.12.
"""

from testbed.model.cpu import NS_PER_MS
from testbed.model.sock import INIT_CWND, TcpSock


def cwnd_validate(sock: TcpSock, *, limited: bool) -> None:
    """Note whether cwnd is what limits the sender, as it has just sent."""
    if (
        sock.snd_una >= sock.cwnd_usage_seq
        or limited
        or (not sock.is_cwnd_limited and sock.packets_out > sock.max_packets_out)
    ):
        sock.is_cwnd_limited = limited
        sock.max_packets_out = sock.packets_out
        sock.cwnd_usage_seq = sock.snd_nxt
    jiffies = sock.tcp_clock_cache // NS_PER_MS
    if sock.cwnd_limited():
        sock.snd_cwnd_used = 0
        sock.snd_cwnd_stamp = jiffies
        return
    sock.snd_cwnd_used = max(sock.snd_cwnd_used, sock.packets_out)
    if jiffies - sock.snd_cwnd_stamp >= sock.icsk_rto:
        _application_limited(sock)
        sock.snd_cwnd_stamp = jiffies


def _application_limited(sock: TcpSock) -> None:
    """Take back half of what was not used: tcp_cwnd_application_limited()."""
    if sock.nospace or not sock.is_open():
        return
    used = max(sock.snd_cwnd_used, INIT_CWND)
    cwnd = sock.snd_cwnd
    if used < cwnd:
        sock.snd_ssthresh = max(sock.snd_ssthresh, (cwnd >> 1) + (cwnd >> 2))
        sock.snd_cwnd = (cwnd + used) >> 1
    sock.snd_cwnd_used = 0
