"""What an ACK does at the sender: tcp_ack(). Start with Input.ack.

Source: net/ipv4/tcp_input.c, Linux 6.12.
"""

from collections.abc import Callable

from testbed.model import rack, sizing
from testbed.model.acknowledged import clean_rtx_queue, learn_rtts
from testbed.model.congestion import CongestionControl
from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu
from testbed.model.news import News
from testbed.model.output import Output
from testbed.model.packet import Packet
from testbed.model.recovery import Recovery, Rexmit
from testbed.model.retransmit import Retransmit
from testbed.model.rtt import learn_rtt
from testbed.model.rules import Nagle
from testbed.model.scoreboard import tag
from testbed.model.settings import MAX_TCP_HEADER, Tuning
from testbed.model.sock import REORDERING, CaState, TcpSock, sndbuf_wanted


class Input:
    """Takes the ACKs of one sender.

    writeable: called when a writer that waits for room may go on.  locked: whether
    SO_SNDBUF was set, which switches autotuning off.  mss_clamp: the MSS option.
    """

    __slots__ = (
        "_congestion",
        "_cpu",
        "_locked",
        "_mss_clamp",
        "_output",
        "_recovery",
        "_retransmit",
        "_sock",
        "_tuning",
        "_writeable",
    )

    def __init__(  # noqa: PLR0913  # what a sender is made of
        self,
        sock: TcpSock,
        *,
        cpu: Cpu,
        output: Output,
        congestion: CongestionControl,
        recovery: Recovery,
        retransmit: Retransmit,
        tuning: Tuning,
        mss_clamp: int,
        locked: bool,
        writeable: Callable[[], None],
    ) -> None:
        self._sock = sock
        self._cpu = cpu
        self._output = output
        self._congestion = congestion
        self._recovery = recovery
        self._retransmit = retransmit
        self._tuning = tuning
        self._mss_clamp = mss_clamp
        self._locked = locked
        self._writeable = writeable

    def established(self, packet: Packet, *, timeouts: int = 0) -> None:
        """Take the SYN-ACK: the first round-trip time, window and pacing rate.

        timeouts: how often the SYN was sent again.
        """
        sock = self._sock
        sock.tcp_clock_cache = self._cpu.clock
        sock.snd_wnd = sock.max_window = packet.window
        sock.delivered = 1  # the SYN
        sock.ecn_ok = sock.ecn_ok and packet.ece and not packet.cwr
        if timeouts:
            self._remember_timeouts(timeouts)
        self._congestion.begin(sock)
        sock.rcv_tsecr = packet.tsecr
        sock.snd_cwnd_stamp = self._cpu.clock // NS_PER_MS
        self._output.ts_recent = packet.tsval
        rtt_us = self._cpu.clock // NS_PER_US - sock.tcp_wstamp_ns // NS_PER_US
        if timeouts:  # Karn's algorithm: only the timestamp tells
            elapsed_ms = self._cpu.clock // NS_PER_MS - packet.tsecr
            rtt_us = max(elapsed_ms, 1) * NS_PER_US
        learn_rtt(sock, rtt_us, rtt_us)
        self._set_pacing_rate()
        if not self._locked:
            self._expand_sndbuf()

    def _remember_timeouts(self, timeouts: int) -> None:
        # What tcp_enter_loss() did, and tcp_init_transfer() leaves of it.
        sock = self._sock
        sock.snd_ssthresh = self._congestion.ssthresh(sock)
        self._congestion.timed_out(sock)
        sock.total_retrans = timeouts
        if timeouts > 1:
            sock.snd_cwnd = 1

    def ack(self, packet: Packet) -> None:
        """Take an ACK, and send what it allows."""
        sock = self._sock
        sock.tcp_clock_cache = self._cpu.paid_clock()
        self._output.ts_recent = packet.tsval
        sock.rcv_tsecr = packet.tsecr
        prior_fack, prior_una = sock.highest_sack_seq(), sock.snd_una
        delivered, lost = sock.delivered, sock.lost
        news = self._learn(packet)
        if sock.rtx_queue:
            clean_rtx_queue(sock, news, prior_fack, self._tuning.mss)
            rtt_us = learn_rtts(sock, news)
            if rtt_us >= 0:
                self._congestion.pkts_acked(sock, sock.tcp_clock_cache, rtt_us)
            if sock.ecn_ok:
                self._learn_marks(news, sock.delivered - delivered)
            rexmit = self._judge(packet, news, prior_una)
            if news.set_xmit_timer:
                self._retransmit.set_timer()
            self._cong_control(sock.delivered - delivered, sock.lost - lost, news)
            self._send_again(rexmit)
        else:
            self._learn_without_queue(packet, news, prior_una)
        if sock.write_queue:
            self._output.write_xmit(Nagle.ON)
        self.check_space()

    def _learn_marks(self, news: News, delivered: int) -> None:
        if news.ece:
            self._sock.delivered_ce += delivered
        self._congestion.in_ack_event(self._sock)

    def _learn(self, packet: Packet) -> News:
        """Learn the window, what is acknowledged and what is sacked."""
        sock = self._sock
        prior_una = sock.snd_una
        advanced = packet.ack > prior_una
        grew = packet.window > sock.snd_wnd or not packet.window
        win_update = advanced or grew  # tcp_may_update_window()
        if win_update:
            sock.snd_wnd = packet.window
            sock.max_window = max(sock.max_window, packet.window)
            sock.snd_una = packet.ack
        if advanced:
            sock.icsk_retransmits = 0
        if packet.sacks:
            mss = self._tuning.mss
            news = tag(sock, packet.sacks, packet.ack, prior_una, mss)
            sock.delivered += news.sack_delivered
        else:
            news = News()
        news.una_advanced, news.win_update = advanced, win_update
        news.ece = packet.ece and sock.ecn_ok
        return news

    def _learn_without_queue(self, packet: Packet, news: News, prior_una: int) -> None:
        """Learn of what came twice after all is acknowledged: no_queue of tcp_ack()."""
        if self._sock.ecn_ok:
            self._learn_marks(news, 0)
        if news.dsacking:
            self._recovery.alert(news, prior_una)
        if self._sock.tlp_high_seq:
            self._recovery.process_tlp_ack(packet.ack, news, not_dup=news.win_update)

    def _judge(self, packet: Packet, news: News, prior_una: int) -> Rexmit:
        """Ask recovery about an ACK that is out of the ordinary."""
        sock, recovery = self._sock, self._recovery
        not_dup = news.win_update or news.data_acked
        if sock.tlp_high_seq:
            recovery.process_tlp_ack(packet.ack, news, not_dup=not_dup)
        alert = news.data_sacked or news.ece or news.dsacking
        if not_dup and not alert and sock.ca_state is CaState.OPEN:
            return Rexmit.NONE
        if news.data_acked or news.data_sacked:
            rack.update_reo_wnd(sock)
        news.dupack = not (news.una_advanced or not_dup or news.dsacking)
        return recovery.alert(news, prior_una)

    def _send_again(self, rexmit: Rexmit) -> None:
        # As tcp_xmit_recovery() does.
        sock = self._sock
        if rexmit is Rexmit.NEW:
            self._output.write_xmit(Nagle.OFF)
            if sock.snd_nxt > sock.high_seq:
                return
            sock.frto = False
        if rexmit is not Rexmit.NONE:
            self._retransmit.queue()

    def _cong_control(self, delivered: int, lost: int, news: News) -> None:
        # As tcp_cong_control() does.
        sock = self._sock
        if sock.in_cwnd_reduction():
            advanced = news.una_advanced
            self._recovery.cwnd_reduction(delivered, lost, una_advanced=advanced)
        elif news.data_acked or (news.data_sacked and sock.reordering > REORDERING):
            self._congestion.cong_avoid(sock, sock.tcp_clock_cache, delivered)
            sock.snd_cwnd_stamp = sock.tcp_clock_cache // NS_PER_MS
        self._set_pacing_rate()

    def _set_pacing_rate(self) -> None:
        sock, tuning = self._sock, self._tuning
        ratio = sizing.pacing_ratio(sock.snd_cwnd, sock.snd_ssthresh, tuning)
        rate = sizing.pacing_rate(
            sock.snd_cwnd, sock.packets_out, sock.srtt_us, ratio, tuning.mss
        )
        most = tuning.max_pacing_rate
        sock.sk_pacing_rate = rate if most is None else min(rate, most)

    def check_space(self) -> None:
        """Wake a writer that waits, if there is room for it: tcp_check_space()."""
        sock = self._sock
        if not sock.nospace:
            return
        if not self._locked and sock.in_flight() < sock.snd_cwnd:
            self._expand_sndbuf()
            sock.snd_cwnd_stamp = self._cpu.clock // NS_PER_MS
        if sock.writeable():
            sock.nospace = False
            self._writeable()

    def _expand_sndbuf(self) -> None:
        sock = self._sock
        wanted = sndbuf_wanted(sock.snd_cwnd, self._mss_clamp, MAX_TCP_HEADER)
        if sock.sk_sndbuf < wanted:
            sock.sk_sndbuf = min(wanted, self._tuning.wmem[2])
