"""DCTCP: cwnd shrinks by how much of a round trip was marked, at both ends.

Source: net/ipv4/tcp_dctcp.c and tcp_dctcp.h, Linux 6.12; RFC 8257. PLB is off, as it is
unless net.ipv4.tcp_plb_enabled is set.
"""

from testbed.model.acks import Acks
from testbed.model.congestion import Reno
from testbed.model.rcv_sock import RcvSock
from testbed.model.sock import TcpSock

MAX_ALPHA = 1024  # DCTCP_MAX_ALPHA, and dctcp_alpha_on_init
_SHIFT_G = 4  # dctcp_shift_g: a round trip counts for 1/16
_ALPHA_SHIFT = 11  # half of MAX_ALPHA
_MIN_CWND = 2


class Dctcp(Reno):
    """struct dctcp of a sender: Reno's growth, and a measured share of marks.

    dctcp_alpha: the share, in 1024ths. Without ECN it is Reno: dctcp_init().
    """

    __slots__ = (
        "_ecn",
        "dctcp_alpha",
        "loss_cwnd",
        "next_seq",
        "old_delivered",
        "old_delivered_ce",
    )

    def __init__(self) -> None:
        super().__init__()
        self._ecn = True
        self.dctcp_alpha = MAX_ALPHA
        self.loss_cwnd = self.next_seq = 0
        self.old_delivered = self.old_delivered_ce = 0

    def begin(self, sock: TcpSock) -> None:
        """Count from here, or be Reno: dctcp_init()."""
        self._ecn = sock.ecn_ok
        self.loss_cwnd = 0
        self._reset(sock)

    def _reset(self, sock: TcpSock) -> None:
        self.next_seq = sock.snd_nxt
        self.old_delivered = sock.delivered
        self.old_delivered_ce = sock.delivered_ce

    def in_ack_event(self, sock: TcpSock) -> None:
        """Once a round trip, learn the share of marks: dctcp_update_alpha()."""
        if sock.snd_una < self.next_seq:
            return
        delivered = sock.delivered - self.old_delivered
        marked = sock.delivered_ce - self.old_delivered_ce
        alpha = self.dctcp_alpha
        alpha -= alpha >> _SHIFT_G or alpha
        if marked:
            share = (marked << (10 - _SHIFT_G)) // max(1, delivered)
            alpha = min(alpha + share, MAX_ALPHA)
        self.dctcp_alpha = alpha
        self._reset(sock)

    def ssthresh(self, sock: TcpSock) -> int:
        """Return cwnd less half the share of marks: dctcp_ssthresh()."""
        if not self._ecn:
            return super().ssthresh(sock)
        cwnd = sock.snd_cwnd
        self.loss_cwnd = cwnd
        return max(cwnd - (cwnd * self.dctcp_alpha >> _ALPHA_SHIFT), _MIN_CWND)

    def recovers(self, sock: TcpSock) -> None:
        """Halve cwnd where something is lost: dctcp_state()."""
        if self._ecn:
            self._react_to_loss(sock)

    def timed_out(self, sock: TcpSock) -> None:
        """Halve cwnd after a timeout: CA_EVENT_LOSS."""
        if self._ecn:
            self._react_to_loss(sock)

    def _react_to_loss(self, sock: TcpSock) -> None:
        self.loss_cwnd = sock.snd_cwnd
        sock.snd_ssthresh = max(sock.snd_cwnd >> 1, _MIN_CWND)

    def undo_cwnd(self, sock: TcpSock) -> int:
        """Return what cwnd was before the last reduction: dctcp_cwnd_undo()."""
        if not self._ecn:
            return super().undo_cwnd(sock)
        return max(sock.snd_cwnd, self.loss_cwnd)


class CeState:
    """What a receiver saw last, so that ACKs tell the sender which packets were marked.

    Source: dctcp_ece_ack_update().
    """

    __slots__ = ("_acks", "_ce_state", "_prior_rcv_nxt", "_sock")

    def __init__(self, sock: RcvSock, acks: Acks) -> None:
        self._sock = sock
        self._acks = acks
        self._ce_state = False
        self._prior_rcv_nxt = 0

    def update(self, *, is_ce: bool) -> None:
        """Take a packet; if the mark changed, ACK what came before it, and it, at once.

        An ACK that waited for more tells the old state first.
        """
        sock = self._sock
        if is_ce is not self._ce_state:
            if self._acks.is_delayed():
                sock.demand_cwr = self._ce_state
                self._acks.send_prior(self._prior_rcv_nxt)
            sock.now = True
        self._prior_rcv_nxt = sock.rcv_nxt
        self._ce_state = sock.demand_cwr = is_ce
