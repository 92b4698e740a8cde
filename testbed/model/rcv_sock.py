"""RcvSock: the receiver's state, mutable, with the kernel's field names.

Source: net/ipv4/tcp_output.c (tcp_select_initial_window, __tcp_select_window) and
tcp_input.c (tcp_init_buffer_space), Linux 6.12.
"""

from testbed.model.lock import SocketLock
from testbed.model.out_of_order import OutOfOrder
from testbed.model.receive_queue import ReceiveQueue
from testbed.model.sock import INIT_CWND

_RATIO_SHIFT = 8  # TCP_RMEM_TO_WIN_SCALE
_DEFAULT_RATIO = 128
MAX_SCALED = 65535
_MSS_DEFAULT = 536
_MSS_MIN = 88
ATO_MIN_MS = 40  # TCP_ATO_MIN and TCP_DELACK_MIN


class RcvSock:
    """What a receiver keeps. Times in us, unless their names say otherwise.

    mss: advmss, which the timestamp option has shortened.  rmem: tcp_rmem.  rcvbuf:
    SO_RCVBUF, None for autotuning.  skb_overhead: as in Features.
    rtt_us, srtt_us: times 8.  copied_seq: what the process has read.  ecn_ok,
    demand_cwr: TCP_ECN_OK and TCP_ECN_DEMAND_CWR of ecn_flags.
    """

    __slots__ = (
        "advmss",
        "ato",
        "ato_max",
        "copied_seq",
        "delack_ms",
        "demand_cwr",
        "ecn_ok",
        "fin",
        "locked",
        "lrcvtime_ms",
        "now",
        "ofo",
        "pushed",
        "queue",
        "quick",
        "ratio",
        "rcv_mss",
        "rcv_nxt",
        "rcv_rtt_seq",
        "rcv_rtt_time",
        "rcv_ssthresh",
        "rcv_wnd",
        "rcv_wscale",
        "rcv_wup",
        "rcvbuf",
        "rcvbuf_max",
        "rcvq_seq",
        "rcvq_space",
        "rcvq_time",
        "rtt_us",
        "scheduled",
        "sk_lock",
        "srtt_us",
        "ts_recent",
        "tsecr_seen",
        "window_clamp",
    )

    def __init__(
        self, *, mss: int, rmem: tuple[int, ...], rcvbuf: int | None, skb_overhead: int
    ) -> None:
        self.sk_lock = SocketLock()
        self.queue = ReceiveQueue(skb_overhead)
        self.ofo = OutOfOrder(skb_overhead)
        self.advmss = mss
        self.locked = rcvbuf is not None
        self.rcvbuf = rmem[1] if rcvbuf is None else 2 * rcvbuf
        self.rcvbuf_max = rmem[2]
        # An ACK is due; at once; it was asked for by a short segment.
        self.scheduled = self.now = self.pushed = False
        self.fin = False
        self.ecn_ok = self.demand_cwr = False
        self.quick = self.ato = self.lrcvtime_ms = self.delack_ms = 0
        self.ato_max = ATO_MIN_MS
        self.rcv_nxt = self.rcv_wup = self.copied_seq = 0
        self.rtt_us = self.srtt_us = self.rcv_rtt_seq = self.rcv_rtt_time = 0
        self.rcvq_seq = self.rcvq_time = 0
        self.ts_recent = self.tsecr_seen = 0
        self.ratio = _DEFAULT_RATIO
        self._select_initial_window()

    def _select_initial_window(self) -> None:
        full = self.window_of(self.rcvbuf)
        mss = self.advmss
        self.rcv_wnd = full // mss * mss if full > mss else full
        widest = full if self.locked else max(full, self.rcvbuf_max)
        self.rcv_wscale = min(max(widest.bit_length() - 1 - 15, 0), 14)
        self.window_clamp = full
        if full > 2 * mss:
            self.window_clamp = max(2 * mss, full - mss)
        self.rcv_ssthresh = min(self.rcv_wnd, self.window_clamp)
        self.rcv_mss = max(min(mss, self.rcv_wnd // 2, _MSS_DEFAULT), _MSS_MIN)
        self.rcvq_space = min(self.rcv_ssthresh, INIT_CWND * mss)

    def window_of(self, space: int) -> int:
        """Return the window that memory is worth: tcp_win_from_space()."""
        return space * self.ratio >> _RATIO_SHIFT

    def space_of(self, window: int) -> int:
        """Return the memory a window needs: tcp_space_from_win()."""
        return (window << _RATIO_SHIFT) // self.ratio

    def learn_ratio(self, length: int, truesize: int) -> None:
        """Learn how much of the memory is payload."""
        ratio = (length << _RATIO_SHIFT) // truesize or 1
        if ratio != self.ratio:
            self.ratio = ratio
            self.window_clamp = self.window_of(self.rcvbuf)
            self.rcvq_space = min(self.rcvq_space, self.window_clamp)

    def space(self, uncharged: int = 0) -> int:
        """Return the window of what memory is left: tcp_space()."""
        used = self.queue.memory + self.ofo.memory - uncharged
        return self.window_of(self.rcvbuf - used)

    def in_quickack_mode(self) -> bool:
        """Tell whether each packet has an ACK; a FIN ends that: tcp_fin()."""
        return self.quick > 0 and not self.fin

    def grant_quickacks(self, most: int) -> None:
        """Have the next packets acknowledged one by one: tcp_incr_quickack()."""
        window = self.rcv_wnd // (2 * self.rcv_mss) or 2
        self.quick = max(self.quick, min(window, most))

    def enter_quickack_mode(self, most: int) -> None:
        """Acknowledge at once for a while: tcp_enter_quickack_mode()."""
        self.grant_quickacks(most)
        self.ato = ATO_MIN_MS

    def receive_window(self) -> int:
        """Return what is left of the window offered: tcp_receive_window()."""
        return max(self.rcv_wup + self.rcv_wnd - self.rcv_nxt, 0)

    def select_window(self) -> int:
        """Return the window to offer: __tcp_select_window(); it ends quick ACKs."""
        free = self.space()
        allowed = self.window_of(self.rcvbuf)
        full = min(self.window_clamp, allowed)
        mss = min(self.rcv_mss, full)
        unit = 1 << self.rcv_wscale
        if free < full >> 1:
            self.quick = 0
            free -= free % unit
            if free < allowed >> 4 or free < mss:
                return 0
        free = min(free, self.rcv_ssthresh)
        return -(-free // unit) * unit
