"""The receiving host: when it acknowledges, and the window it offers.

Its process reads all there is as soon as it runs. Source: net/ipv4/tcp_input.c,
tcp_output.c (__tcp_select_window) and tcp.c (__tcp_cleanup_rbuf), Linux 6.12, with the
kernel's names. Start with Receiver.receive.
"""

from collections.abc import Callable

from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu, Timer
from testbed.model.out_of_order import OutOfOrder
from testbed.model.packet import SACK_BLOCK, SACK_OPTION, SYN_OPTIONS, Packet
from testbed.model.sock import INIT_CWND

_RATIO_SHIFT = 8  # TCP_RMEM_TO_WIN_SCALE
_DEFAULT_RATIO = 128
_MAX_SCALED = 65535
_MSS_DEFAULT = 536
_MAX_QUICKACKS = 16
_ATO_MIN_MS = 40  # TCP_ATO_MIN and TCP_DELACK_MIN
_DELACK_MAX_MS = 200
_GROWS_FROM = 128  # bytes of payload
_US_PER_MS = 1000
_FASTRETRANS_THRESH = 3
_COMP_SACK_NR = 44  # tcp_comp_sack_nr, _delay_ns and _slack_ns
_COMP_SACK_DELAY_NS = NS_PER_MS
_COMP_SACK_SLACK_NS = 100 * NS_PER_US


class Receiver:
    """struct tcp_sock of the receiver.

    mss: advmss, which the timestamp option has shortened.  rmem: tcp_rmem.  rcvbuf:
    SO_RCVBUF, None for autotuning.
    transmit: takes each ACK.  header: bytes of IP and TCP header of one.
    """

    __slots__ = (
        "_ack_sched",
        "_advmss",
        "_ato",
        "_ato_max",
        "_compressed",
        "_compressed_rcv_nxt",
        "_compressing",
        "_copied_seq",
        "_cpu",
        "_delack",
        "_delack_ms",
        "_dup_acks",
        "_fin",
        "_header",
        "_locked",
        "_lrcvtime",
        "_now",
        "_ooo",
        "_pushed",
        "_quick",
        "_ratio",
        "_rcv_mss",
        "_rcv_nxt",
        "_rcv_rtt_us",
        "_rcv_ssthresh",
        "_rcv_wnd",
        "_rcv_wup",
        "_rcvbuf",
        "_reading",
        "_replied_us",
        "_rmem_alloc",
        "_rmem_max",
        "_rtt_seq",
        "_rtt_time_us",
        "_space",
        "_space_seq",
        "_space_time_us",
        "_srtt_us",
        "_transmit",
        "_tsecr_seen",
        "_tsval_seen",
        "_window_clamp",
        "_wscale",
    )

    def __init__(
        self,
        *,
        cpu: Cpu,
        mss: int,
        rmem: tuple[int, ...],
        rcvbuf: int | None,
        header: int,
        transmit: Callable[[Packet], None],
    ) -> None:
        self._cpu = cpu
        self._advmss = mss
        self._locked = rcvbuf is not None
        self._rcvbuf = rmem[1] if rcvbuf is None else 2 * rcvbuf
        self._rmem_max = rmem[2]
        self._header = header
        self._transmit = transmit
        self._delack = Timer(self._delack_expired)
        self._delack_ms = 0
        self._ack_sched = self._pushed = self._fin = self._reading = False
        self._now = False  # an ACK is due at once: ICSK_ACK_NOW
        self._quick = self._ato = self._lrcvtime = self._replied_us = 0
        self._ato_max = _ATO_MIN_MS
        self._rcv_nxt = self._rcv_wup = self._copied_seq = self._rmem_alloc = 0
        self._rcv_rtt_us = self._srtt_us = self._rtt_seq = self._rtt_time_us = 0
        self._ooo = OutOfOrder()
        self._compressing = Timer(self._compression_expired)
        self._compressed = self._dup_acks = 0
        self._compressed_rcv_nxt = -1
        self._space_seq = self._space_time_us = 0
        self._tsval_seen = self._tsecr_seen = 0
        self._ratio = _DEFAULT_RATIO
        self._begin()

    def _begin(self) -> None:
        # As tcp_select_initial_window() and tcp_init_buffer_space() do.
        full = self._window_of(self._rcvbuf)
        mss = self._advmss
        self._rcv_wnd = full // mss * mss if full > mss else full
        widest = full if self._locked else max(full, self._rmem_max)
        self._wscale = min(max(widest.bit_length() - 1 - 15, 0), 14)
        self._window_clamp = full
        if full > 2 * self._advmss:
            self._window_clamp = max(2 * self._advmss, full - self._advmss)
        self._rcv_ssthresh = min(self._rcv_wnd, self._window_clamp)
        self._rcv_mss = max(min(mss, self._rcv_wnd // 2, _MSS_DEFAULT), 88)
        self._space = min(self._rcv_ssthresh, INIT_CWND * self._advmss)

    def receive(self, packet: Packet) -> None:
        """Take a packet of the sender's."""
        if packet.syn:
            self._reply_to_syn(packet)
            return
        if not self._space_time_us:
            self._establish()
        if packet.length or packet.fin:
            self._take_data(packet)

    def _establish(self) -> None:
        self._space_time_us = now_us = self._cpu.clock // NS_PER_US
        rtt_us = now_us - self._replied_us
        self._srtt_us = rtt_us << 3
        self._ato_max = max(-(-rtt_us // _US_PER_MS), _ATO_MIN_MS)

    def _reply_to_syn(self, packet: Packet) -> None:
        self._tsval_seen = packet.tsval
        self._replied_us = self._cpu.clock // NS_PER_US
        reply = Packet(0, 0, 1, self._header + SYN_OPTIONS)
        reply.syn = True
        reply.window = min(self._rcv_wnd, _MAX_SCALED)
        self._stamp(reply)
        self._transmit(reply)

    def _take_data(self, packet: Packet) -> None:
        """Take what is not only an ACK: tcp_rcv_established(), tcp_data_queue()."""
        now = self._cpu.clock
        if packet.seq <= self._rcv_wup:
            self._tsval_seen = packet.tsval
        self._measure_rtt_by_timestamp(packet, now)
        self._ooo.forget_twice()
        end = packet.seq + packet.length + packet.fin
        if end <= self._rcv_nxt:
            self._take_again(packet.seq, end)
        elif packet.seq > self._rcv_nxt:
            self._take_early(packet)
        else:
            self._take_next(packet, now)
        if self._ack_sched:
            self._ack_snd_check()

    def _take_next(self, packet: Packet, now: int) -> None:
        if packet.seq < self._rcv_nxt:
            self._ooo.came_twice(packet.seq, self._rcv_nxt)
        self._rcv_nxt = packet.seq + packet.length + packet.fin
        # What joins a buffer that waits to be read leaves its own overhead behind.
        self._rmem_alloc += packet.length if self._rmem_alloc else packet.truesize
        if packet.length:
            self._learn_from(packet, now)
        if packet.fin:
            self._take_fin()
        if self._ooo:
            self._close_gap()
        self._wake_reader()

    def _learn_from(self, packet: Packet, now: int) -> None:
        # As tcp_event_data_recv() does.
        self._ack_sched = True
        self._measure_rcv_mss(packet)
        self._measure_rtt(now)
        self._adapt_delay(now // NS_PER_MS)
        if packet.length >= _GROWS_FROM:
            self._grow_window(packet)

    def _close_gap(self) -> None:
        before = self._ooo.memory
        self._rcv_nxt, fin = self._ooo.take(self._rcv_nxt)
        self._rmem_alloc += before - self._ooo.memory
        if fin:
            self._take_fin()
        if not self._ooo:
            self._now = True  # RFC 5681, section 4.2: the gap is filled

    def _take_again(self, start: int, end: int) -> None:
        """Take what is there already: acknowledge it at once."""
        self._ooo.came_twice(start, end)
        most = self._rcv_wnd // (2 * self._rcv_mss) or 2
        self._quick = max(self._quick, min(most, _MAX_QUICKACKS))
        self._ato = _ATO_MIN_MS
        self._ack_sched = True

    def _take_early(self, packet: Packet) -> None:
        """Take what lies beyond a gap: tcp_data_queue_ofo()."""
        self._measure_rcv_mss(packet)
        self._ack_sched = True
        end = packet.seq + packet.length + packet.fin
        if self._ooo and self._compressed and self._ooo.crowds_block(packet.seq, end):
            self._send_compressed()
        self._ooo.add(packet)
        self._grow_window(packet)

    def _take_fin(self) -> None:
        self._fin = True
        self._ack_sched = True

    def _window_of(self, space: int) -> int:
        return space * self._ratio >> _RATIO_SHIFT

    def _space_left(self) -> int:
        used = self._rmem_alloc + self._ooo.memory
        return self._window_of(self._rcvbuf - used)

    def _measure_rcv_mss(self, packet: Packet) -> None:
        one = min(packet.length, -(-packet.length // packet.pcount))
        segment = one if packet.pcount == 1 else self._advmss
        if segment < self._rcv_mss:
            self._pushed = True
            return
        if segment != self._rcv_mss:
            ratio = (packet.length << _RATIO_SHIFT) // packet.truesize or 1
            if ratio != self._ratio:
                self._ratio = ratio
                self._window_clamp = self._window_of(self._rcvbuf)
                self._space = min(self._space, self._window_clamp)
        self._rcv_mss = min(segment, self._advmss)
        self._pushed = self._pushed or packet.pcount > 1

    def _measure_rtt_by_timestamp(self, packet: Packet, now: int) -> None:
        if packet.tsecr == self._tsecr_seen:
            return
        self._tsecr_seen = packet.tsecr
        delta_ms = now // NS_PER_MS - packet.tsecr
        if packet.length >= self._rcv_mss and delta_ms > 0:
            self._learn_rtt(delta_ms * _US_PER_MS)

    def _measure_rtt(self, now: int) -> None:
        now_us = now // NS_PER_US
        if self._rtt_time_us:
            if self._rcv_nxt < self._rtt_seq:
                return
            sample = (now_us - self._rtt_time_us) or 1
            if not self._rcv_rtt_us or sample << 3 < self._rcv_rtt_us:
                self._learn_rtt(sample)
        self._rtt_seq = self._rcv_nxt + self._rcv_wnd
        self._rtt_time_us = now_us

    def _learn_rtt(self, sample_us: int) -> None:
        old = self._rcv_rtt_us
        if not old or sample_us << 3 < old:
            self._rcv_rtt_us = sample_us << 3
        else:
            self._rcv_rtt_us = old - (old >> 3) + sample_us

    def _adapt_delay(self, jiffies: int) -> None:
        # The middle of tcp_event_data_recv().
        if not self._ato:
            most = self._rcv_wnd // (2 * self._rcv_mss) or 2
            self._quick = max(self._quick, min(most, _MAX_QUICKACKS))
            self._ato = _ATO_MIN_MS
        else:
            gap = jiffies - self._lrcvtime
            if gap <= _ATO_MIN_MS // 2:
                self._ato = (self._ato >> 1) + _ATO_MIN_MS // 2
            elif gap < self._ato:
                self._ato = min((self._ato >> 1) + gap, _DELACK_MAX_MS)
        self._lrcvtime = jiffies

    def _grow_window(self, packet: Packet) -> None:
        room = min(self._window_clamp, self._space_left()) - self._rcv_ssthresh
        if room <= 0:
            return
        # An skb without a linear part counts what it holds, so Check #2 holds.
        self._rcv_ssthresh += min(room, max(2 * self._advmss, 2 * packet.length))
        self._quick |= 1

    def _ack_snd_check(self) -> None:
        unread = self._rcv_nxt - self._copied_seq
        if (
            (
                self._rcv_nxt - self._rcv_wup > self._rcv_mss
                and (unread < 1 or self._select_window() >= self._rcv_wnd)
            )
            or self._quick
            or self._now
        ):
            self._send_ack()
        elif self._ooo:
            self._compress_ack()
        else:
            self._send_delayed_ack()

    def _compress_ack(self) -> None:
        # Linux commit 5d9f4262b7ea ("tcp: add SACK compression") (in v4.18)
        if self._compressed_rcv_nxt != self._rcv_nxt:
            self._compressed_rcv_nxt = self._rcv_nxt
            self._dup_acks = 0
        if self._compressed >= _COMP_SACK_NR or self._dup_acks < _FASTRETRANS_THRESH:
            self._dup_acks += self._compressed < _COMP_SACK_NR
            self._send_ack()
            return
        self._compressed += 1
        if not self._compressing.serial:
            rtt = min(self._rcv_rtt_us, self._srtt_us or self._rcv_rtt_us)
            delay = min(_COMP_SACK_DELAY_NS, rtt * (NS_PER_US >> 3) // 20)
            hard_ns = self._cpu.clock + delay + _COMP_SACK_SLACK_NS
            self._cpu.start(self._compressing, hard_ns)

    def _compression_expired(self) -> None:
        self._cpu.tasklet(self._send_compressed)

    def _send_compressed(self) -> None:
        if self._compressed:
            self._cpu.cancel(self._compressing)
            self._send_ack()

    def _select_window(self) -> int:
        # As __tcp_select_window() does.
        free = self._space_left()
        allowed = self._window_of(self._rcvbuf)
        full = min(self._window_clamp, allowed)
        mss = min(self._rcv_mss, full)
        unit = 1 << self._wscale
        if free < full >> 1:
            self._quick = 0
            free -= free % unit
            if free < allowed >> 4 or free < mss:
                return 0
        free = min(free, self._rcv_ssthresh)
        return -(-free // unit) * unit

    def _send_ack(self, *, fin: bool = False) -> None:
        current = max(self._rcv_wup + self._rcv_wnd - self._rcv_nxt, 0)
        window = self._select_window()
        unit = 1 << self._wscale
        if window < current:
            window = -(-current // unit) * unit
        self._rcv_wnd = window
        self._rcv_wup = self._rcv_nxt
        self._leave_quickack()
        self._ack_sched = self._pushed = self._now = False
        self._cpu.cancel(self._delack)
        if self._compressed:
            self._compressed = 0
            self._cpu.cancel(self._compressing)
        packet = Packet(0, 0, 1, self._header)
        packet.sacks = sacks = self._ooo.sacks()
        if sacks:
            packet.header += SACK_OPTION + SACK_BLOCK * len(sacks)
        packet.ack = self._rcv_nxt
        packet.fin = fin
        packet.window = min(window, _MAX_SCALED << self._wscale) // unit * unit
        self._stamp(packet)
        self._transmit(packet)

    def _leave_quickack(self) -> None:
        # As tcp_dec_quickack_mode() does.
        if not self._quick:
            return
        spent = int(self._ack_sched)
        if spent >= self._quick:
            self._quick = 0
            self._ato = _ATO_MIN_MS
        else:
            self._quick -= spent

    def _stamp(self, packet: Packet) -> None:
        packet.tsval = self._cpu.clock // NS_PER_MS
        packet.tsecr = self._tsval_seen

    def _send_delayed_ack(self) -> None:
        jiffies = self._cpu.clock // NS_PER_MS
        ato = min(self._ato, self._ato_max)
        due = jiffies + ato
        if self._delack.serial:
            if self._delack_ms <= jiffies + (ato >> 2):
                self._send_ack()
                return
            due = min(due, self._delack_ms)
        self._delack_ms = due
        self._cpu.start(self._delack, due * NS_PER_MS)

    def _delack_expired(self) -> None:
        if self._ack_sched:
            self._ato = min(self._ato << 1, _DELACK_MAX_MS)
            self._cpu.transmit_later(self._send_ack)

    def _wake_reader(self) -> None:
        if not self._reading:
            self._reading = True
            self._cpu.wake(self._read)

    def _read(self) -> None:
        """Be the process: read everything, acknowledge what softirqs did not."""
        self._reading = False
        copied = self._rcv_nxt - self._copied_seq
        if copied:
            self._copied_seq = self._rcv_nxt
            self._space_adjust(self._cpu.paid_clock() // NS_PER_US)
            self._rmem_alloc = 0
            self._cleanup_rbuf()
        if self._fin:
            self._cpu.paid_clock()
            self._send_ack(fin=True)

    def _space_adjust(self, now_us: int) -> None:
        # As tcp_rcv_space_adjust() does.
        elapsed = now_us - self._space_time_us
        if not self._rcv_rtt_us or elapsed < self._rcv_rtt_us >> 3:
            return
        copied = self._copied_seq - self._space_seq
        if copied > self._space:
            if not self._locked:
                self._expand_rcvbuf(copied)
            self._space = copied
        self._space_seq = self._copied_seq
        self._space_time_us = now_us

    def _expand_rcvbuf(self, copied: int) -> None:
        window = (copied << 1) + 16 * self._advmss
        window += (window * (copied - self._space) // self._space) << 1
        rcvbuf = min((window << _RATIO_SHIFT) // self._ratio, self._rmem_max)
        if rcvbuf > self._rcvbuf:
            self._rcvbuf = rcvbuf
            self._window_clamp = self._window_of(rcvbuf)

    def _cleanup_rbuf(self) -> None:
        if self._ack_sched and (
            self._rcv_nxt - self._rcv_wup > self._rcv_mss or self._pushed
        ):
            self._send_ack()
            return
        current = max(self._rcv_wup + self._rcv_wnd - self._rcv_nxt, 0)
        if 2 * current <= self._window_clamp:
            window = self._select_window()
            if window and window >= 2 * current:
                self._send_ack()
