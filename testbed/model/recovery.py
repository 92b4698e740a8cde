"""What becomes of cwnd and of the queue when packets are lost. Start with alert.

Source: net/ipv4/tcp_input.c, tcp_fastretrans_alert() and what it calls, Linux 6.12, for
connections with SACK, timestamps and RACK. RFC 6937 (PRR), RFC 5682 (F-RTO).
"""

import enum

from testbed.model import rack
from testbed.model.congestion import CongestionControl
from testbed.model.cpu import NS_PER_MS
from testbed.model.news import News
from testbed.model.packet import Skb
from testbed.model.rtt import jiffies_of
from testbed.model.rtx_queue import mark_lost
from testbed.model.scoreboard import check_reordering
from testbed.model.sock import INFINITE_SSTHRESH, REORDERING, CaState, TcpSock
from testbed.model.xmit_timer import Pending, XmitTimer

_RENEGING_MS = 10
_TIMEOUT_MIN_US = 2000  # TCP_TIMEOUT_MIN_US


class Rexmit(enum.Enum):
    """What is to be sent for the sake of recovery."""

    NONE = "nothing"
    LOST = "what is lost"
    NEW = "what was never sent, to learn whether the timeout was right (F-RTO)"


class Recovery:
    """The state machine of one sender's losses."""

    __slots__ = ("_congestion", "_mss", "_sock", "_timer")

    def __init__(
        self,
        sock: TcpSock,
        *,
        congestion: CongestionControl,
        timer: XmitTimer,
        mss: int,
    ) -> None:
        self._sock = sock
        self._congestion = congestion
        self._timer = timer
        self._mss = mss

    def alert(self, news: News, prior_una: int) -> Rexmit:
        """Take an ACK that is out of the ordinary; say what to send again."""
        sock = self._sock
        if not sock.packets_out:
            sock.sacked_out = 0
        if news.ece:
            sock.prior_ssthresh = 0
        if self._is_reneging(news):
            return Rexmit.NONE
        if sock.ca_state is CaState.OPEN:
            sock.retrans_stamp = 0
        elif sock.snd_una >= sock.high_seq:
            self._leave()
        return self._act(news, prior_una)

    def _act(self, news: News, prior_una: int) -> Rexmit:
        """Do what the state asks for."""
        sock = self._sock
        if sock.ca_state == CaState.RECOVERY:
            return self._go_on(news, prior_una)
        if sock.ca_state == CaState.LOSS:
            rexmit = self._process_loss(news)
            self.identify_loss(news)
            if not self._sock.is_open() and not news.lost_retrans:
                return rexmit
        if sock.ca_state <= CaState.DISORDER:
            self._try_undo_dsack()
        self.identify_loss(news)
        if not sock.lost_out:
            self._try_to_open(news)
            return Rexmit.NONE
        self.enter_recovery(ece=news.ece)
        return Rexmit.LOST

    def _is_reneging(self, news: News) -> bool:
        """Give a receiver time that seems to have dropped what it had sacked."""
        if not (news.reneging and news.una_advanced):
            return False
        wait = max(jiffies_of(self._sock.srtt_us >> 4), _RENEGING_MS)
        self._timer.reset(Pending.RETRANS, wait)
        news.set_xmit_timer = False
        return True

    def _leave(self) -> None:
        """Leave CWR or Recovery, as all that was sent before is acknowledged."""
        sock = self._sock
        if sock.ca_state is CaState.CWR:
            if sock.snd_una != sock.high_seq:
                self._end_cwnd_reduction()
                sock.ca_state = CaState.OPEN
        elif sock.ca_state is CaState.RECOVERY:
            self._try_undo_recovery()
            self._end_cwnd_reduction()

    def _go_on(self, news: News, prior_una: int) -> Rexmit:
        """Be in Recovery."""
        sock = self._sock
        if news.una_advanced and self._is_undone_partially(prior_una):
            return Rexmit.NONE
        if self._try_undo_dsack():
            self._try_to_open(news)
        self.identify_loss(news)
        if sock.ca_state is not CaState.RECOVERY:
            if not sock.lost_out:
                return Rexmit.NONE
            self.enter_recovery(ece=news.ece)
        return Rexmit.LOST

    def identify_loss(self, news: News) -> None:
        """Have RACK mark what is lost: tcp_identify_packet_loss()."""
        sock = self._sock
        if not sock.rtx_queue or not sock.rack.advanced:
            return
        before = sock.retrans_out
        sock.rack.advanced = False
        wait_us = rack.detect_loss(sock)
        if wait_us:
            wait = jiffies_of(wait_us + _TIMEOUT_MIN_US)
            self._timer.reset(Pending.REO_TIMEOUT, min(wait, sock.icsk_rto))
            news.set_xmit_timer = False
        if before > sock.retrans_out:
            news.lost_retrans = True

    def enter_recovery(self, *, ece: bool = False) -> None:
        """Begin to repair losses."""
        sock = self._sock
        if not self._any_retrans_done():
            sock.retrans_stamp = 0
        sock.prior_ssthresh = 0
        self._init_undo()
        if not sock.in_cwnd_reduction():
            if not ece:
                sock.prior_ssthresh = sock.current_ssthresh()
            self._init_cwnd_reduction()
        self._congestion.recovers(sock)
        sock.ca_state = CaState.RECOVERY

    def enter_cwr(self) -> None:
        """Reduce cwnd where nothing is lost: for ECN, or a full qdisc of our own."""
        sock = self._sock
        sock.prior_ssthresh = 0
        if sock.ca_state < CaState.CWR:
            sock.undo_marker = None
            self._init_cwnd_reduction()
            sock.ca_state = CaState.CWR

    def enter_loss(self) -> None:
        """Begin again from one segment, after a timeout."""
        sock = self._sock
        new_recovery = sock.ca_state < CaState.RECOVERY
        self._mark_lost_at_timeout()
        if (
            sock.ca_state <= CaState.DISORDER
            or sock.high_seq <= sock.snd_una
            or (sock.ca_state is CaState.LOSS and not sock.icsk_retransmits)
        ):
            sock.prior_ssthresh = sock.current_ssthresh()
            sock.prior_cwnd = sock.snd_cwnd
            sock.snd_ssthresh = self._congestion.ssthresh(sock)
            self._congestion.timed_out(sock)
            self._init_undo()
        sock.snd_cwnd = sock.in_flight() + 1
        sock.snd_cwnd_cnt = 0
        sock.snd_cwnd_stamp = sock.tcp_clock_cache // NS_PER_MS
        if sock.ca_state <= CaState.DISORDER and sock.sacked_out >= REORDERING:
            sock.reordering = min(sock.reordering, REORDERING)
        self._congestion.lost(sock, sock.tcp_clock_cache)
        sock.ca_state = CaState.LOSS
        sock.high_seq = sock.snd_nxt
        sock.tlp_high_seq = 0
        sock.queue_cwr = sock.ecn_ok
        sock.frto = new_recovery or bool(sock.icsk_retransmits)

    def _mark_lost_at_timeout(self) -> None:
        # As tcp_timeout_mark_lost() does.
        sock = self._sock
        head: Skb = sock.rtx_queue[0]
        reneging = head.sacked
        if reneging:
            sock.sacked_out = 0
        for skb in sock.rtx_queue:
            if reneging:
                skb.sacked = False
            elif skb is not head and rack.timeout_of(sock, skb, 0) > 0:
                continue
            mark_lost(sock, skb)

    def cwnd_reduction(
        self, delivered: int, newly_lost: int, *, una_advanced: bool
    ) -> None:
        """Let out as much as proportional rate reduction allows."""
        sock = self._sock
        if delivered <= 0 or not sock.prior_cwnd:
            return
        in_flight = sock.in_flight()
        delta = sock.snd_ssthresh - in_flight
        sock.prr_delivered += delivered
        if delta < 0:
            share = -(-sock.snd_ssthresh * sock.prr_delivered // sock.prior_cwnd)
            count = share - sock.prr_out
        else:
            count = max(sock.prr_delivered - sock.prr_out, delivered)
            count += una_advanced and not newly_lost
            count = min(delta, count)
        sock.snd_cwnd = in_flight + max(count, 0 if sock.prr_out else 1)

    def process_tlp_ack(self, ack: int, news: News, *, not_dup: bool) -> None:
        """Learn from what answers a tail loss probe: tcp_process_tlp_ack()."""
        sock = self._sock
        if ack < sock.tlp_high_seq:
            return
        if not sock.tlp_retrans or news.dsack_tlp:
            sock.tlp_high_seq = 0
        elif ack > sock.tlp_high_seq:
            self._init_cwnd_reduction()
            sock.ca_state = CaState.CWR
            self._end_cwnd_reduction()
            self._try_keep_open()
        elif not (news.una_advanced or not_dup or news.data_sacked):
            sock.tlp_high_seq = 0

    def _init_cwnd_reduction(self) -> None:
        sock = self._sock
        sock.high_seq = sock.snd_nxt
        sock.tlp_high_seq = 0
        sock.snd_cwnd_cnt = 0
        sock.prior_cwnd = sock.snd_cwnd
        sock.prr_delivered = sock.prr_out = 0
        sock.snd_ssthresh = self._congestion.ssthresh(sock)
        sock.queue_cwr = sock.ecn_ok

    def _end_cwnd_reduction(self) -> None:
        sock = self._sock
        if sock.snd_ssthresh < INFINITE_SSTHRESH and (
            sock.ca_state is CaState.CWR or sock.undo_marker is not None
        ):
            sock.snd_cwnd = sock.snd_ssthresh
            sock.snd_cwnd_stamp = sock.tcp_clock_cache // NS_PER_MS

    def _any_retrans_done(self) -> bool:
        sock = self._sock
        if sock.retrans_out:
            return True
        return bool(sock.rtx_queue) and sock.rtx_queue[0].ever_retrans

    def _try_to_open(self, news: News) -> None:
        sock = self._sock
        if not self._any_retrans_done():
            sock.retrans_stamp = 0
        if news.ece:
            self.enter_cwr()
        if sock.ca_state is not CaState.CWR:
            self._try_keep_open()

    def _try_keep_open(self) -> None:
        sock = self._sock
        state = CaState.OPEN
        if sock.sacked_out or sock.lost_out or self._any_retrans_done():
            state = CaState.DISORDER
        if sock.ca_state is not state:
            sock.ca_state = state
            sock.high_seq = sock.snd_nxt

    # What follows takes a reduction back that turns out not to have been needed.

    def _init_undo(self) -> None:
        sock = self._sock
        sock.undo_marker = sock.snd_una
        retrans = sock.retrans_out
        retrans += bool(sock.tlp_high_seq) and sock.tlp_retrans
        sock.undo_retrans = retrans or -1

    def _is_delayed(self) -> bool:
        """Tell whether the original came, not what was sent again."""
        sock = self._sock
        if sock.retrans_stamp:
            return 0 < sock.rcv_tsecr < sock.retrans_stamp
        return True

    def _may_undo(self) -> bool:
        sock = self._sock
        return sock.undo_marker is not None and (
            not sock.undo_retrans or self._is_delayed()
        )

    def _undo(self, *, unmark_loss: bool) -> None:
        sock = self._sock
        if unmark_loss:
            for skb in sock.rtx_queue:
                skb.lost = False
            sock.lost_out = 0
        if sock.prior_ssthresh:
            sock.snd_cwnd = self._congestion.undo_cwnd(sock)
            if sock.prior_ssthresh > sock.snd_ssthresh:
                sock.snd_ssthresh = sock.prior_ssthresh
                sock.queue_cwr = False
        sock.snd_cwnd_stamp = sock.tcp_clock_cache // NS_PER_MS
        sock.undo_marker = None
        sock.rack.advanced = True

    def _try_undo_recovery(self) -> None:
        sock = self._sock
        if self._may_undo():
            self._undo(unmark_loss=False)
        elif sock.rack.reo_wnd_persist:
            sock.rack.reo_wnd_persist -= 1
        sock.ca_state = CaState.OPEN

    def _try_undo_dsack(self) -> bool:
        sock = self._sock
        if sock.undo_marker is None or sock.undo_retrans:
            return False
        persist = sock.rack.reo_wnd_persist
        sock.rack.reo_wnd_persist = min(rack.RECOVERY_THRESH, persist + 1)
        self._undo(unmark_loss=False)
        return True

    def _is_undone_partially(self, prior_una: int) -> bool:
        # As tcp_try_undo_partial() does.
        sock = self._sock
        if sock.undo_marker is None or not self._is_delayed():
            return False
        check_reordering(sock, prior_una, self._mss)
        if sock.retrans_out:
            return True
        if not self._any_retrans_done():
            sock.retrans_stamp = 0
        self._undo(unmark_loss=True)
        self._try_keep_open()
        return False

    def _try_undo_loss(self, *, frto: bool) -> bool:
        sock = self._sock
        if not frto and not self._may_undo():
            return False
        self._undo(unmark_loss=True)
        sock.icsk_retransmits = 0
        sock.ca_state = CaState.OPEN
        return True

    def _process_loss(self, news: News) -> Rexmit:
        sock = self._sock
        if news.una_advanced and self._try_undo_loss(frto=False):
            return Rexmit.NONE
        if sock.frto and (rexmit := self._doubt_timeout(news)) is not None:
            return rexmit
        if sock.snd_una >= sock.high_seq:
            self._try_undo_recovery()
            return Rexmit.NONE
        return Rexmit.LOST

    def _doubt_timeout(self, news: News) -> Rexmit | None:
        """Find out whether the timeout was right; None: go on recovering."""
        sock = self._sock
        if news.orig_sack_acked and self._try_undo_loss(frto=True):
            return Rexmit.NONE
        if sock.snd_nxt > sock.high_seq:
            if news.data_sacked or news.dupack:
                sock.frto = False
        elif news.una_advanced and sock.snd_una < sock.high_seq:
            sock.high_seq = sock.snd_nxt
            if sock.write_queue and sock.wnd_end > sock.snd_nxt:
                return Rexmit.NEW
            sock.frto = False
        return None
