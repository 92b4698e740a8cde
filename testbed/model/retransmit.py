"""What is sent again, and what sends it: ACKs, the RTO, RACK's wait, loss probes.

Source: net/ipv4/tcp_output.c (tcp_xmit_retransmit_queue, __tcp_retransmit_skb,
tcp_schedule_loss_probe, tcp_send_loss_probe), tcp_timer.c (tcp_write_timer_handler,
tcp_retransmit_timer) and tcp_recovery.c (tcp_rack_reo_timeout), Linux 6.12.
"""

from testbed.model import rack
from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu
from testbed.model.output import Output
from testbed.model.packet import Skb
from testbed.model.recovery import Recovery
from testbed.model.rtt import RTO_MAX_MS, RTO_MIN_US, jiffies_of
from testbed.model.rtx_queue import fragment, trim_head
from testbed.model.rules import first_end
from testbed.model.sock import CaState, TcpSock
from testbed.model.xmit_timer import Pending, XmitTimer

_TIMEOUT_MIN_US = 2000
_INITIAL_MS = 1000
_BUSY_MS = 500  # TCP_RESOURCE_PROBE_INTERVAL


class Retransmit:
    """Sends what is lost, and keeps the timer that finds what no ACK tells of."""

    __slots__ = ("_cpu", "_mss", "_output", "_recovery", "_sock", "_timer")

    def __init__(
        self,
        sock: TcpSock,
        *,
        cpu: Cpu,
        output: Output,
        recovery: Recovery,
        timer: XmitTimer,
        mss: int,
    ) -> None:
        self._sock = sock
        self._cpu = cpu
        self._output = output
        self._recovery = recovery
        self._timer = timer
        self._mss = mss

    def queue(self) -> None:
        """Send what is lost, as far as cwnd goes: tcp_xmit_retransmit_queue()."""
        sock = self._sock
        head = sock.rtx_queue[0] if sock.rtx_queue else None
        max_segs = self._output.max_segs()
        place, head_sent = 0, False
        while place < len(sock.rtx_queue):  # which cutting a packet makes longer
            skb = sock.rtx_queue[place]
            place += 1
            segs = min(sock.snd_cwnd - sock.in_flight(), max_segs)
            if segs <= 0 or sock.retrans_out >= sock.lost_out:
                break
            if skb.lost and not skb.sacked and not skb.retrans:
                if not self._may_leave(skb) or not self._send_again(skb, segs):
                    break
                if sock.in_cwnd_reduction():
                    sock.prr_out += skb.pcount
                head_sent = head_sent or skb is head
        if head_sent and self._timer.pending is not Pending.REO_TIMEOUT:
            self._reset(Pending.RETRANS, sock.icsk_rto)

    def _may_leave(self, skb: Skb) -> bool:
        output = self._output
        return not output.must_wait() and not output.queue_is_full(skb, again=True)

    def _send_again(self, skb: Skb, segs: int) -> bool:
        """Send up to segs segments of a packet again: tcp_retransmit_skb()."""
        sock = self._sock
        sent = self._transmit(skb, segs)
        if sent:
            skb.retrans = True
            sock.retrans_out += skb.pcount
        sock.retrans_stamp = sock.retrans_stamp or skb.tstamp_ns // NS_PER_MS
        sock.undo_retrans = max(sock.undo_retrans, 0) + skb.pcount
        return sent

    def _transmit(self, skb: Skb, segs: int) -> bool:
        sock, mss = self._sock, self._mss
        if skb.clones:
            sock.tsq_throttled = True
            return False
        if skb.seq < sock.snd_una:
            trim_head(sock, skb, mss)
        room = sock.wnd_end - skb.seq
        if room <= 0:
            if skb.seq != sock.snd_una:
                return False
            room = mss
        most = segs * mss
        if most > room:
            most = room // mss * mss or room
        if skb.length > most:
            fragment(sock, skb, most, mss)
        sock.total_retrans += skb.pcount
        sent = self._output.transmit(skb)
        skb.ever_retrans = True
        return sent

    def progress(self, packets_out: int, *, probing: bool) -> None:
        """Set the timer for new data, packets_out being what was there before."""
        if not packets_out or self._timer.pending is Pending.LOSS_PROBE:
            self.rearm_rto()
        if not probing:
            self.schedule_loss_probe(advancing_rto=False)

    def set_timer(self) -> None:
        """Set the timer after progress: tcp_set_xmit_timer()."""
        if not self.schedule_loss_probe(advancing_rto=True):
            self.rearm_rto()

    def schedule_loss_probe(self, *, advancing_rto: bool) -> bool:
        """Set the timer to two round trips, where a loss probe may help."""
        sock = self._sock
        if not sock.packets_out or sock.ca_state not in (CaState.OPEN, CaState.CWR):
            return False
        least_us = RTO_MIN_US if sock.packets_out == 1 else _TIMEOUT_MIN_US
        after = jiffies_of((sock.srtt_us >> 2) + least_us)
        if not sock.srtt_us:
            after = _INITIAL_MS
        rto = sock.icsk_rto if advancing_rto else self._rto_left()
        if rto > 0:
            after = min(after, rto)
        self._reset(Pending.LOSS_PROBE, after)
        return True

    def rearm_rto(self) -> None:
        """Set the timer to the RTO, from when the oldest packet was sent."""
        sock = self._sock
        if not sock.packets_out:
            self._timer.clear()
            return
        rto = sock.icsk_rto
        if self._timer.pending in (Pending.REO_TIMEOUT, Pending.LOSS_PROBE):
            rto = max(self._rto_left(), 1)
        self._reset(Pending.RETRANS, rto)

    def _rto_left(self) -> int:
        """Return the jiffies until the oldest packet's RTO: tcp_rto_delta_us()."""
        sock = self._sock
        sent_us = sock.rtx_queue[0].tstamp_ns // NS_PER_US
        return jiffies_of(sent_us + sock.icsk_rto * 1000 - sock.tcp_mstamp)

    def _reset(self, pending: Pending, after: int) -> None:
        # tcp_reset_xmit_timer() adds what pacing keeps the last packet waiting for.
        sock = self._sock
        wait_ns = max(sock.tcp_wstamp_ns - sock.tcp_clock_cache, 0)
        self._timer.reset(pending, min(after + wait_ns // NS_PER_MS, RTO_MAX_MS))

    def expired(self, pending: Pending) -> None:
        """Take what the timer was set for, once no process owns the socket."""
        lock = self._sock.sk_lock
        if lock.owned:
            lock.put_off(self._put_off)
        else:
            self._act(pending)

    def _put_off(self) -> None:
        # An ACK that waited for the socket too may have set the timer anew.
        if (pending := self._timer.due()) is not None:
            self._act(pending)

    def _act(self, pending: Pending) -> None:
        self._sock.tcp_clock_cache = self._cpu.clock
        if pending is Pending.REO_TIMEOUT:
            self._reordering_is_over()
        elif pending is Pending.LOSS_PROBE:
            self._probe()
        else:
            self._timer.clear()
            if self._sock.packets_out:
                self._time_out()

    def _reordering_is_over(self) -> None:
        sock, lost = self._sock, self._sock.lost
        before = sock.in_flight()
        rack.detect_loss(sock)
        if sock.in_flight() != before:
            if sock.ca_state is not CaState.RECOVERY:
                self._recovery.enter_recovery()
                self._recovery.cwnd_reduction(1, sock.lost - lost, una_advanced=False)
            self.queue()
        if self._timer.pending is not Pending.RETRANS:
            self.rearm_rto()

    def _probe(self) -> None:
        # As tcp_send_loss_probe() does.
        sock = self._sock
        if not sock.tlp_high_seq and self._send_probe():
            sock.tlp_high_seq = sock.snd_nxt
            self._timer.clear()
        self.rearm_rto()

    def _send_probe(self) -> bool:
        sock, mss = self._sock, self._mss
        sock.tlp_retrans = False
        if sock.write_queue:
            head = sock.write_queue[0]
            if first_end(head, mss) <= sock.wnd_end:
                before = sock.packets_out
                self._output.push_probe()
                return sock.packets_out > before
        if not sock.rtx_queue:
            return False
        skb = sock.rtx_queue[-1]
        if skb.clones:
            sock.tsq_throttled = True
            return False
        most = (skb.pcount - 1) * mss
        if skb.pcount > 1 and skb.length > most:
            skb = fragment(sock, skb, most, mss)
        sock.tlp_retrans = self._transmit(skb, 1)
        return sock.tlp_retrans

    def _time_out(self) -> None:
        # As tcp_retransmit_timer() does.
        sock = self._sock
        self._recovery.enter_loss()
        sock.icsk_retransmits += 1
        if not self._send_again(sock.rtx_queue[0], 1):
            self._timer.reset(Pending.RETRANS, _BUSY_MS)
            return
        sock.icsk_backoff += 1
        sock.icsk_rto = min(sock.icsk_rto << 1, RTO_MAX_MS)
        self._timer.reset(Pending.RETRANS, sock.icsk_rto)
