"""TcpSock: the sender's state, mutable, with the kernel's field names."""

from collections import deque

from testbed.model.lock import SocketLock
from testbed.model.packet import Skb

INFINITE_SSTHRESH = 0x7FFFFFFF
INIT_CWND = 10
NO_RTT = 0xFFFFFFFF
#: The fields that state_of() gives.
WATCHED = (
    *("snd_cwnd", "snd_ssthresh", "packets_out", "snd_una", "snd_wnd"),
    *("sk_pacing_rate", "srtt_us", "min_rtt_us", "sk_wmem_alloc"),
)
#: struct sk_buff aligned, and the skb_shared_info behind a linear head.
_SK_BUFF = 256
_SHARED_INFO = 320


class TcpSock:
    """What tcp_sock, inet_connection_sock and sock hold of a sender.

    Sequence numbers count payload from 0.  srtt_us: times 8.  sk_pacing_rate: bytes/s.
    write_queue: not yet sent.  rtx_queue: sent, not yet acknowledged.
    """

    __slots__ = (
        "cwnd_usage_seq",
        "data_segs_out",
        "gso_segs",
        "is_cwnd_limited",
        "max_packets_out",
        "max_window",
        "min_rtt_us",
        "nospace",
        "packets_out",
        "pushed_seq",
        "rtx_queue",
        "sk_lock",
        "sk_pacing_rate",
        "sk_sndbuf",
        "sk_wmem_alloc",
        "sk_wmem_queued",
        "snd_cwnd",
        "snd_cwnd_cnt",
        "snd_cwnd_stamp",
        "snd_cwnd_used",
        "snd_nxt",
        "snd_sml",
        "snd_ssthresh",
        "snd_una",
        "snd_wnd",
        "srtt_us",
        "tcp_clock_cache",
        "tcp_wstamp_ns",
        "tsq_throttled",
        "write_queue",
        "write_seq",
    )

    def __init__(self, sk_sndbuf: int) -> None:
        self.sk_lock = SocketLock()
        self.sk_sndbuf = sk_sndbuf
        self.write_queue: deque[Skb] = deque()
        self.rtx_queue: deque[Skb] = deque()
        self.snd_cwnd = INIT_CWND
        self.snd_ssthresh = INFINITE_SSTHRESH
        self.min_rtt_us = NO_RTT
        self.is_cwnd_limited = False
        self.nospace = False
        self.tsq_throttled = False
        self.snd_una = self.snd_nxt = self.snd_sml = 0
        self.write_seq = self.pushed_seq = self.cwnd_usage_seq = 0
        self.snd_wnd = self.max_window = 0
        self.snd_cwnd_used = self.snd_cwnd_stamp = 0
        self.snd_cwnd_cnt = self.packets_out = self.max_packets_out = 0
        self.data_segs_out = self.gso_segs = 0
        self.sk_wmem_queued = self.sk_pacing_rate = 0
        self.sk_wmem_alloc = 1  # the reference that sk_alloc() takes
        self.srtt_us = self.tcp_clock_cache = self.tcp_wstamp_ns = 0

    @property
    def wnd_end(self) -> int:
        """Return the end of the receiver's window."""
        return self.snd_una + self.snd_wnd

    def in_slow_start(self) -> bool:
        """Tell whether cwnd doubles in a round trip."""
        return self.snd_cwnd < self.snd_ssthresh

    def cwnd_limited(self) -> bool:
        """Tell whether cwnd may grow. Source: include/net/tcp.h, tcp_is_cwnd_limited().

        In slow start it may grow to twice what was acknowledged.
        """
        if self.is_cwnd_limited:
            return True
        return self.in_slow_start() and self.snd_cwnd < 2 * self.max_packets_out

    def memory_free(self) -> bool:
        """Tell whether sendmsg() may queue another skb."""
        return self.sk_wmem_queued < self.sk_sndbuf

    def writeable(self) -> bool:
        """Tell whether a sleeping writer is woken: a third of the buffer is free."""
        free = self.sk_sndbuf - self.sk_wmem_queued
        return free >= self.sk_wmem_queued >> 1 and self.memory_free()


def state_of(sock: TcpSock) -> dict[str, int]:
    """Return what decides about a packet, by name."""
    return {name: getattr(sock, name) for name in WATCHED}


def sndbuf_wanted(cwnd: int, mss_clamp: int, header: int) -> int:
    """Return the sndbuf of a cwnd: tcp_sndbuf_expand(), net/ipv4/tcp_input.c."""
    per_mss = mss_clamp + header + _SHARED_INFO
    per_mss = (1 << (per_mss - 1).bit_length()) + _SK_BUFF
    return 2 * max(cwnd, INIT_CWND) * per_mss
