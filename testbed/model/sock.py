"""TcpSock: the sender's state, mutable, with the kernel's field names."""

import enum
from collections import deque

from testbed.model.lock import SocketLock
from testbed.model.packet import Skb

INFINITE_SSTHRESH = 0x7FFFFFFF
INIT_CWND = 10
NO_RTT = 0xFFFFFFFF
#: tcp_reordering, TCP_TIMEOUT_INIT.
REORDERING = 3
_RTO_INITIAL_MS = 1000
_NS_PER_US = 1000
#: The fields that state_of() gives.
WATCHED = (
    *("snd_cwnd", "snd_ssthresh", "packets_out", "snd_una", "snd_wnd"),
    *("sk_pacing_rate", "srtt_us", "min_rtt_us", "sk_wmem_alloc"),
)
#: struct sk_buff aligned, and the skb_shared_info behind a linear head.
_SK_BUFF = 256
_SHARED_INFO = 320


class CaState(enum.IntEnum):
    """What the congestion control is told of losses: enum tcp_ca_state."""

    OPEN = 0
    DISORDER = 1
    CWR = 2
    RECOVERY = 3
    LOSS = 4


class Rack:
    """What RACK knows: of the packets delivered, the one that was sent last.

    mstamp: when it was sent, us.  prior_delivered: what was delivered then.
    reo_wnd_steps: quarters of min_rtt to wait for packets that come late.
    Source: struct tcp_rack, include/linux/tcp.h.
    """

    __slots__ = (
        "advanced",
        "dsack_seen",
        "end_seq",
        "last_delivered",
        "mstamp",
        "prior_delivered",
        "reo_wnd_persist",
        "reo_wnd_steps",
        "rtt_us",
    )

    def __init__(self) -> None:
        self.advanced = self.dsack_seen = False
        self.mstamp = self.rtt_us = self.end_seq = self.prior_delivered = 0
        self.reo_wnd_steps = 1
        self.reo_wnd_persist = self.last_delivered = 0


class TcpSock:
    """What tcp_sock, inet_connection_sock and sock hold of a sender.

    Sequence numbers count payload from 0, and the FIN.  srtt_us: times 8.  icsk_rto:
    jiffies of 1 ms.  sk_pacing_rate: bytes/s.  write_queue: not yet sent.  rtx_queue:
    sent, not yet acknowledged, by sequence.  sack_high: the end of the highest sacked.
    ecn_ok, queue_cwr: TCP_ECN_OK and TCP_ECN_QUEUE_CWR of ecn_flags.
    rcv_tsecr: the last timestamp echoed, ms.  retrans_stamp: that of the first
    retransmission of an episode.
    """

    __slots__ = (
        "ca_state",
        "cwnd_usage_seq",
        "data_segs_out",
        "delivered",
        "delivered_ce",
        "dsack_dups",
        "ecn_ok",
        "frto",
        "gso_segs",
        "high_seq",
        "icsk_backoff",
        "icsk_retransmits",
        "icsk_rto",
        "is_cwnd_limited",
        "lost",
        "lost_out",
        "max_packets_out",
        "max_window",
        "mdev_max_us",
        "mdev_us",
        "min_rtt_us",
        "nospace",
        "packets_out",
        "prior_cwnd",
        "prior_ssthresh",
        "prr_delivered",
        "prr_out",
        "pushed_seq",
        "queue_cwr",
        "rack",
        "rcv_tsecr",
        "reord_seen",
        "reordering",
        "retrans_out",
        "retrans_stamp",
        "rtt_seq",
        "rttvar_us",
        "rtx_queue",
        "sack_high",
        "sacked_out",
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
        "tlp_high_seq",
        "tlp_retrans",
        "total_retrans",
        "tsq_throttled",
        "undo_marker",
        "undo_retrans",
        "write_queue",
        "write_seq",
    )

    def __init__(self, sk_sndbuf: int) -> None:
        self.sk_lock = SocketLock()
        self.sk_sndbuf = sk_sndbuf
        self.write_queue: deque[Skb] = deque()
        self.rtx_queue: list[Skb] = []
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
        self.ecn_ok = self.queue_cwr = False
        self.delivered_ce = 0
        self._begin_recovery_state()

    def _begin_recovery_state(self) -> None:
        self.ca_state = CaState.OPEN
        self.rack = Rack()
        self.reordering = REORDERING
        self.icsk_rto = _RTO_INITIAL_MS
        self.frto = self.reord_seen = self.tlp_retrans = False
        self.sacked_out = self.lost_out = self.retrans_out = 0
        self.delivered = self.lost = self.total_retrans = self.dsack_dups = 0
        self.prior_cwnd = self.prior_ssthresh = self.prr_delivered = self.prr_out = 0
        self.sack_high = self.high_seq = self.tlp_high_seq = self.rtt_seq = 0
        self.undo_marker: int | None = None
        self.undo_retrans = self.retrans_stamp = self.rcv_tsecr = 0
        self.mdev_us = self.mdev_max_us = self.rttvar_us = 0
        self.icsk_backoff = self.icsk_retransmits = 0

    @property
    def wnd_end(self) -> int:
        """Return the end of the receiver's window."""
        return self.snd_una + self.snd_wnd

    @property
    def tcp_mstamp(self) -> int:
        """Return the time of what is being done, in us."""
        return self.tcp_clock_cache // _NS_PER_US

    def in_flight(self) -> int:
        """Return how many segments are in the network: tcp_packets_in_flight()."""
        return self.packets_out - self.sacked_out - self.lost_out + self.retrans_out

    def highest_sack_seq(self) -> int:
        """Return what follows the highest segment sacked."""
        return self.sack_high if self.sacked_out else self.snd_una

    def is_open(self) -> bool:
        """Tell whether nothing out of the ordinary goes on."""
        return self.ca_state == CaState.OPEN

    def in_cwnd_reduction(self) -> bool:
        """Tell whether PRR sets cwnd: tcp_in_cwnd_reduction()."""
        return self.ca_state in (CaState.CWR, CaState.RECOVERY)

    def current_ssthresh(self) -> int:
        """Return ssthresh, or 3/4 of a larger cwnd: tcp_current_ssthresh()."""
        if self.in_cwnd_reduction():
            return self.snd_ssthresh
        cwnd = self.snd_cwnd
        return max(self.snd_ssthresh, (cwnd >> 1) + (cwnd >> 2))

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
