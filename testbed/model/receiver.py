"""The receiving host: what a packet does to its socket. Start with Receiver.receive.

Source: net/ipv4/tcp_input.c, tcp_rcv_established(), tcp_data_queue() and what they
call, Linux 6.12, with the kernel's names.
"""

from collections.abc import Callable

from testbed.model.acks import Acks
from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu
from testbed.model.ecn import WITHOUT_ECN, Echo, Ecn
from testbed.model.packet import SYN_OPTIONS, Packet
from testbed.model.rcv_sock import ATO_MIN_MS, MAX_SCALED, RcvSock
from testbed.model.reader import Reader
from testbed.model.receive_queue import Buffer
from testbed.model.rtt import RTO_MIN_US, jiffies_of

_MAX_QUICKACKS = 16
_DELACK_MAX_MS = 200
_GROWS_FROM = 128  # bytes of payload
_US_PER_MS = 1000


class Receiver:
    """A socket, its ACKs, and the process that reads from it.

    transmit: takes each ACK.  header: bytes of IP and TCP header of one.  ecn: what
    the two hosts think of it.
    """

    __slots__ = (
        "_acks",
        "_cpu",
        "_echo",
        "_ecn",
        "_header",
        "_reader",
        "_replied_us",
        "_transmit",
        "sock",
    )

    def __init__(
        self,
        sock: RcvSock,
        *,
        cpu: Cpu,
        header: int,
        transmit: Callable[[Packet], None],
        ecn: Ecn = WITHOUT_ECN,
    ) -> None:
        self.sock = sock
        self._ecn = ecn
        self._cpu = cpu
        self._header = header
        self._transmit = transmit
        self._acks = Acks(sock, cpu=cpu, header=header, transmit=transmit)
        self._reader = Reader(sock, cpu=cpu, acks=self._acks)
        self._echo = Echo(sock, self._acks, needed=ecn.needed)
        self._replied_us = 0

    def receive(self, packet: Packet) -> None:
        """Take a packet of the sender's, once no process owns the socket."""
        self.sock.sk_lock.bring(lambda: self._take(packet))

    def _take(self, packet: Packet) -> None:
        if packet.syn:
            self._reply_to_syn(packet)
            return
        if not self.sock.rcvq_time:
            self._establish()
        if packet.length or packet.fin:
            self._take_data(packet)

    def _reply_to_syn(self, packet: Packet) -> None:
        sock = self.sock
        sock.ts_recent = packet.tsval
        self._replied_us = self._cpu.clock // NS_PER_US
        reply = Packet(0, 0, 1, self._header + SYN_OPTIONS)
        reply.syn = True
        reply.ece = sock.ecn_ok = self._ecn.is_granted(packet)
        reply.window = min(sock.rcv_wnd, MAX_SCALED)
        reply.tsval = self._cpu.clock // NS_PER_MS
        reply.tsecr = sock.ts_recent
        self._transmit(reply)

    def _establish(self) -> None:
        sock = self.sock
        sock.rcvq_time = now_us = self._cpu.clock // NS_PER_US
        rtt_us = now_us - self._replied_us
        sock.srtt_us = rtt_us << 3
        sock.ato_max = max(jiffies_of(rtt_us), ATO_MIN_MS)
        # A first sample, and the only one: tcp_rtt_estimator(), RFC 6298.
        sock.icsk_rto = jiffies_of(rtt_us + max(2 * rtt_us, RTO_MIN_US))

    def _take_data(self, packet: Packet) -> None:
        """Take what is not only an ACK: tcp_data_queue()."""
        sock, now = self.sock, self._cpu.paid_clock()
        if packet.seq <= sock.rcv_wup:
            sock.ts_recent = packet.tsval
        if packet.cwr:
            self._echo.accept_cwr(packet)
        self._measure_rtt_by_timestamp(packet, now)
        sock.ofo.forget_twice()
        end = packet.seq + packet.length + packet.fin
        if end <= sock.rcv_nxt:
            self._take_again(packet.seq, end)
        elif packet.seq > sock.rcv_nxt:
            self._take_early(packet, end)
        else:
            self._take_next(packet, now)
        if sock.scheduled:
            self._acks.check()

    def _take_next(self, packet: Packet, now: int) -> None:
        sock = self.sock
        if packet.seq < sock.rcv_nxt:
            sock.ofo.came_twice(packet.seq, sock.rcv_nxt)
        self._queue(Buffer(packet))
        sock.scheduled = True
        if packet.length:
            self._learn_from(packet, now)
        if sock.ofo:
            for buffer in sock.ofo.take(sock.rcv_nxt):
                self._queue(buffer)
            sock.now = sock.now or not sock.ofo  # RFC 5681, 4.2: the gap is filled
        self._reader.wake()

    def _queue(self, buffer: Buffer) -> None:
        sock = self.sock
        sock.queue.append(buffer)
        sock.rcv_nxt = buffer.end
        sock.fin = sock.fin or buffer.fin

    def _take_again(self, start: int, end: int) -> None:
        """Take what is there already: acknowledge it at once."""
        sock = self.sock
        sock.ofo.came_twice(start, end)
        sock.enter_quickack_mode(_MAX_QUICKACKS)
        sock.scheduled = True

    def _take_early(self, packet: Packet, end: int) -> None:
        """Take what lies beyond a gap: tcp_data_queue_ofo()."""
        sock = self.sock
        if sock.ecn_ok:
            self._echo.check_ce(packet)
        self._measure_rcv_mss(packet)
        sock.scheduled = True
        if sock.ofo and sock.ofo.crowds_block(packet.seq, end):
            self._acks.send_compressed()
        is_own = sock.ofo.add(packet)
        # A buffer of its own is charged only after this.
        self._grow_window(packet, packet.truesize if is_own else 0)

    def _learn_from(self, packet: Packet, now: int) -> None:
        # As tcp_event_data_recv() does.
        self._measure_rcv_mss(packet)
        self._measure_rtt(now)
        self._adapt_delay(now // NS_PER_MS)
        if self.sock.ecn_ok:
            self._echo.check_ce(packet)
        if packet.length >= _GROWS_FROM:
            self._grow_window(packet)

    def _measure_rcv_mss(self, packet: Packet) -> None:
        sock = self.sock
        segment = packet.length if packet.pcount == 1 else sock.advmss
        if segment < sock.rcv_mss:
            sock.pushed = True
            return
        if segment != sock.rcv_mss:
            sock.learn_ratio(packet.length, packet.truesize)
        sock.rcv_mss = min(segment, sock.advmss)
        sock.pushed = sock.pushed or packet.psh

    def _measure_rtt_by_timestamp(self, packet: Packet, now: int) -> None:
        sock = self.sock
        if packet.tsecr == sock.tsecr_seen:
            return
        sock.tsecr_seen = packet.tsecr
        delta_ms = now // NS_PER_MS - packet.tsecr
        if packet.length >= sock.rcv_mss and delta_ms > 0:
            self._learn_rtt(delta_ms * _US_PER_MS)

    def _measure_rtt(self, now: int) -> None:
        sock = self.sock
        now_us = now // NS_PER_US
        if sock.rcv_rtt_time:
            if sock.rcv_nxt < sock.rcv_rtt_seq:
                return
            sample = (now_us - sock.rcv_rtt_time) or 1
            if not sock.rtt_us or sample << 3 < sock.rtt_us:
                self._learn_rtt(sample)
        sock.rcv_rtt_seq = sock.rcv_nxt + sock.rcv_wnd
        sock.rcv_rtt_time = now_us

    def _learn_rtt(self, sample_us: int) -> None:
        sock = self.sock
        old = sock.rtt_us
        if not old or sample_us << 3 < old:
            sock.rtt_us = sample_us << 3
        else:
            sock.rtt_us = old - (old >> 3) + sample_us

    def _adapt_delay(self, jiffies: int) -> None:
        sock = self.sock
        if not sock.ato:
            sock.grant_quickacks(_MAX_QUICKACKS)
            sock.ato = ATO_MIN_MS
        else:
            gap = jiffies - sock.lrcvtime_ms
            if gap <= ATO_MIN_MS // 2:
                sock.ato = (sock.ato >> 1) + ATO_MIN_MS // 2
            elif gap < sock.ato:
                sock.ato = min((sock.ato >> 1) + gap, _DELACK_MAX_MS)
            elif gap > sock.icsk_rto:
                sock.grant_quickacks(
                    _MAX_QUICKACKS
                )  # the sender may have missed its own restart
        sock.lrcvtime_ms = jiffies

    def _grow_window(self, packet: Packet, uncharged: int = 0) -> None:
        """Offer more, if what came is worth its memory: tcp_grow_window().

        uncharged: its memory, if it is a buffer of its own beyond a gap.
        """
        sock = self.sock
        room = min(sock.window_clamp, sock.space(uncharged)) - sock.rcv_ssthresh
        if room <= 0:
            return
        # What joins a buffer leaves its overhead behind, and is worth it always.
        growth = 2 * sock.advmss
        if sock.window_of(uncharged) > packet.length:
            growth = self._growth(packet, uncharged)
        if growth:
            sock.rcv_ssthresh += min(room, max(growth, 2 * packet.length))
            sock.quick |= 1

    def _growth(self, packet: Packet, memory: int) -> int:
        # As __tcp_grow_window() does.
        sock = self.sock
        worth, window = sock.window_of(memory), sock.window_of(sock.rcvbuf_max)
        while sock.rcv_ssthresh <= (window := window >> 1):
            worth >>= 1
            if worth <= packet.length:
                return 2 * sock.rcv_mss
        return 0
