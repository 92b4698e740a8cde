"""When the receiver acknowledges: at once, later, or for several at a time.

Source: net/ipv4/tcp_input.c (__tcp_ack_snd_check), tcp_output.c (tcp_send_ack,
tcp_send_delayed_ack) and tcp_timer.c, Linux 6.12. Start with Acks.check.
"""

from collections.abc import Callable

from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu, Timer
from testbed.model.packet import SACK_BLOCK, SACK_OPTION, Packet
from testbed.model.rcv_sock import ATO_MIN_MS, MAX_SCALED, RcvSock
from testbed.model.xmit_timer import wheel_expiry

_DELACK_MAX_MS = 200
_FASTRETRANS_THRESH = 3
_COMP_SACK_NR = 44  # tcp_comp_sack_nr, _delay_ns and _slack_ns
_COMP_SACK_DELAY_NS = NS_PER_MS
_COMP_SACK_SLACK_NS = 100 * NS_PER_US


class Acks:
    """Sends the ACKs of one receiver. header: bytes of IP and TCP header of one."""

    __slots__ = (
        "_compressed",
        "_compressed_rcv_nxt",
        "_compressing",
        "_cpu",
        "_delack",
        "_dup_acks",
        "_header",
        "_sock",
        "_transmit",
    )

    def __init__(
        self,
        sock: RcvSock,
        *,
        cpu: Cpu,
        header: int,
        transmit: Callable[[Packet], None],
    ) -> None:
        self._sock = sock
        self._cpu = cpu
        self._header = header
        self._transmit = transmit
        self._delack = Timer(self._delack_expired)
        self._compressing = Timer(self._compression_expired)
        self._compressed = self._dup_acks = 0
        self._compressed_rcv_nxt = -1

    def check(self) -> None:
        """Acknowledge a packet now or later."""
        sock = self._sock
        unread = sock.rcv_nxt - sock.copied_seq
        if (
            (
                sock.rcv_nxt - sock.rcv_wup > sock.rcv_mss
                and (unread < 1 or sock.select_window() >= sock.rcv_wnd)
            )
            or sock.in_quickack_mode()
            or sock.now
        ):
            # Since Linux commit 133c4c0d3717 ("tcp: defer regular ACK while processing
            # socket backlog") (in v6.7)
            if sock.sk_lock.owned:
                sock.sk_lock.put_off(self._send_deferred)
            else:
                self.send()
        elif sock.ofo:
            self._compress()
        else:
            self._send_later()

    def _send_deferred(self) -> None:
        if self._sock.scheduled:
            self.send()

    def send(self, *, fin: bool = False) -> None:
        """Send an ACK: tcp_send_ack(), tcp_select_window()."""
        sock = self._sock
        packet = self._begin(sock.rcv_nxt)
        packet.fin = fin
        self._leave_quickack()
        sock.scheduled = sock.pushed = sock.now = False
        self._cpu.cancel(self._delack)
        self._transmit(packet)

    def send_prior(self, ack: int) -> None:
        """Send an ACK of less than has come, which leaves another to be sent."""
        self._transmit(self._begin(ack))

    def is_delayed(self) -> bool:
        """Tell whether an ACK waits for its timer: ICSK_ACK_TIMER."""
        return bool(self._delack.serial)

    def _begin(self, ack: int) -> Packet:
        """Return an ACK, with the window that it offers, and all that is sacked."""
        sock = self._sock
        current = sock.receive_window()
        window = sock.select_window()
        unit = 1 << sock.rcv_wscale
        if window < current:
            window = -(-current // unit) * unit
        sock.rcv_wnd = window
        sock.rcv_wup = sock.rcv_nxt
        if self._compressed:
            self._compressed = 0
            self._cpu.cancel(self._compressing)
        packet = Packet(0, 0, 1, self._header)
        packet.sacks = sacks = sock.ofo.sacks()
        if sacks:
            packet.header += SACK_OPTION + SACK_BLOCK * len(sacks)
        packet.ack = ack
        packet.ece = sock.demand_cwr
        packet.window = min(window, MAX_SCALED << sock.rcv_wscale) // unit * unit
        packet.tsval = self._cpu.clock // NS_PER_MS
        packet.tsecr = sock.ts_recent
        return packet

    def _leave_quickack(self) -> None:
        # As tcp_dec_quickack_mode() does.
        sock = self._sock
        if not sock.quick:
            return
        spent = int(sock.scheduled)
        if spent >= sock.quick:
            sock.quick = 0
            sock.ato = ATO_MIN_MS
        else:
            sock.quick -= spent

    def _compress(self) -> None:
        # Linux commit 5d9f4262b7ea ("tcp: add SACK compression") (in v4.18)
        sock = self._sock
        if self._compressed >= _COMP_SACK_NR:
            self.send()
            return
        if self._compressed_rcv_nxt != sock.rcv_nxt:
            self._compressed_rcv_nxt = sock.rcv_nxt
            self._dup_acks = 0
        if self._dup_acks < _FASTRETRANS_THRESH:
            self._dup_acks += 1
            self.send()
            return
        self._compressed += 1
        if not self._compressing.serial:
            rtt = min(sock.rtt_us, sock.srtt_us or sock.rtt_us)
            delay = min(_COMP_SACK_DELAY_NS, rtt * (NS_PER_US >> 3) // 20)
            hard_ns = self._cpu.clock + delay + _COMP_SACK_SLACK_NS
            self._cpu.start(self._compressing, hard_ns)

    def _compression_expired(self) -> None:
        self._cpu.tasklet(lambda: self._act(self.send_compressed))

    def send_compressed(self) -> None:
        """Send the ACK that several have waited for, if they have."""
        if self._compressed:
            self.send()

    def _send_later(self) -> None:
        # As tcp_send_delayed_ack() does.
        sock = self._sock
        jiffies = self._cpu.clock // NS_PER_MS
        ato = min(sock.ato, sock.ato_max)
        due = jiffies + ato
        if self._delack.serial:
            if sock.delack_ms <= jiffies + (ato >> 2):
                self.send()
                return
            due = min(due, sock.delack_ms)
        sock.delack_ms = due
        self._cpu.start(self._delack, wheel_expiry(due, jiffies) * NS_PER_MS)

    def _act(self, expired: Callable[[], None]) -> None:
        """Do what a timer asks for, once no process owns the socket."""
        lock = self._sock.sk_lock
        if lock.owned:
            lock.put_off(expired)
        else:
            expired()

    def _delack_expired(self) -> None:
        self._cpu.transmit_later(lambda: self._act(self._send_delayed))

    def _send_delayed(self) -> None:
        # As tcp_delack_timer_handler() does; the timer may have been set anew since.
        sock = self._sock
        if sock.scheduled and not self._delack.serial:
            sock.ato = min(sock.ato << 1, _DELACK_MAX_MS)
            self.send()
