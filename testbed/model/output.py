"""What leaves the sender: tcp_write_xmit() and what it asks. Start with write_xmit.

Source: net/ipv4/tcp_output.c, Linux 6.12, function by function. The order of the tests
is the kernel's, because each may end the loop.
"""

import enum
from collections.abc import Callable
from typing import Protocol

from testbed.model import rules, sizing
from testbed.model.cpu import NS_PER_MS, Cpu, Timer
from testbed.model.ecn import WITHOUT_ECN, Ecn, mark_data
from testbed.model.features import Features, Sizing
from testbed.model.packet import (
    IP_HEADERS,
    SKB_TRUESIZE_1,
    SYN_OPTIONS,
    TCP_HEADER,
    Packet,
    Skb,
)
from testbed.model.rtx_queue import segments
from testbed.model.rules import Held, Nagle
from testbed.model.settings import Tuning
from testbed.model.sock import TcpSock
from testbed.model.validation import cwnd_validate
from testbed.trace.causes import Cause, cause
from testbed.units import NS_PER_S

#: Segments before pacing begins: "Original sch_fq does not pace first 10 MSS".
_UNPACED_SEGS = 10
#: A packet too long for IPv6's length field says its length in a hop-by-hop option.
#: Since Linux commit 34b92e8d19da and its series, BIG TCP (in v5.19).
_IPV6 = 6
_IPV6_MAXPLEN = 65535
_JUMBO_OPTION = 8


class Pacing(enum.Enum):
    """Who keeps packets until their departure time: sk_pacing_status."""

    NONE = "nobody"
    NEEDED = "TCP itself"
    FQ = "the qdisc"


class Progress(Protocol):
    """What is told of new data sent, see Output."""

    def __call__(self, packets_out: int, *, probing: bool) -> None:
        """Take it."""


class Output:
    """Cuts the write queue into packets and hands them to the device.

    transmit: takes each packet; False if the device's qdisc has dropped it.  sent: told
    the cause of each packet of new data.  congested: called when the qdisc is full.
    progress: called when new data has been sent, with what packets_out was before, and
    whether it was a loss probe.  check_space: called when a packet has been sent while
    a writer waits for room.  send_again: called to send what is lost.  deciding: called
    when all is decided about a packet, new or sent again, and nothing of it counted
    yet.  shape: called with each skb of new data before that, and may change its
    length, as a replay does.
    """

    __slots__ = (
        "_built_by",
        "_check_space",
        "_congested",
        "_cpu",
        "_ecn",
        "_family",
        "_features",
        "_header",
        "_pacing",
        "_pacing_timer",
        "_progress",
        "_send_again",
        "_sent",
        "_sock",
        "_transmit",
        "_tuning",
        "deciding",
        "shape",
        "ts_recent",
    )

    def __init__(  # noqa: PLR0913  # what a sender is made of
        self,
        sock: TcpSock,
        *,
        cpu: Cpu,
        tuning: Tuning,
        features: Features,
        pacing: Pacing,
        family: int,
        transmit: Callable[[Packet], bool],
        sent: Callable[[Cause], None],
        ecn: Ecn = WITHOUT_ECN,
    ) -> None:
        self._sock = sock
        self._cpu = cpu
        self._tuning = tuning
        self._features = features
        by_sendmsg = features.sizing is Sizing.SENDMSG
        self._built_by = Cause.AUTOSIZE if by_sendmsg else Cause.HALF_WINDOW
        self._ecn = ecn
        sock.ecn_ok = ecn.is_asked_for()
        self._pacing = pacing
        self._pacing_timer = Timer(self._tsq_handler)
        self._family = family
        self._header = IP_HEADERS[family] + TCP_HEADER
        self._transmit = transmit
        self._sent = sent
        self.deciding: Callable[[], None] = _nothing
        self.shape: Callable[[Skb, Cause], None] = _keep
        self._congested: Callable[[], None] = _nothing
        self._progress: Progress = _ignore
        self._check_space: Callable[[], None] = _nothing
        self._send_again: Callable[[], None] = _nothing
        self.ts_recent = 0  # ms, the last timestamp of the peer

    def tell(
        self,
        *,
        congested: Callable[[], None],
        progress: Progress,
        check_space: Callable[[], None],
        send_again: Callable[[], None],
    ) -> None:
        """Have these called, see the class."""
        self._congested, self._progress = congested, progress
        self._check_space = check_space
        self._send_again = send_again

    def push_one(self) -> None:
        """Send the first packet of the write queue, and do not defer it."""
        before = self._begin()
        self._send_head(self.max_segs(), Nagle.OFF, may_defer=False)
        self._end(before)

    def push_probe(self) -> None:
        """Send the first packet as a loss probe, whatever cwnd says."""
        before = self._begin()
        self._send_head(self.max_segs(), Nagle.OFF, may_defer=False, probing=True)
        self._end(before, probing=True)

    def push_anyway(self, why: Cause) -> None:
        """Send the first skb as it is, whatever the rules say."""
        before = self._begin()
        self._send(self._sock.write_queue[0], why)
        self._end(before)

    def write_xmit(self, nagle: Nagle) -> None:
        """Send packets until a rule says to stop: tcp_write_xmit()."""
        sock = self._sock
        before = self._begin()
        max_segs = self.max_segs()
        held: Held | None = None
        while sock.write_queue and held is None:
            held = self._send_head(max_segs, nagle, may_defer=True)
        self._end(before, limited=held is Held.DEFERRED_BY_CWND)

    def _begin(self) -> int:
        self._sock.tcp_clock_cache = self._cpu.paid_clock()
        return self._sock.packets_out

    def send_syn(self, *, again: bool) -> None:
        """Send a SYN, which asks for ECN only once: RFC 3168, section 6.1.1.1."""
        sock = self._sock
        packet = self._bare(self._header + SYN_OPTIONS)
        packet.syn = True
        packet.again = again
        packet.ece = packet.cwr = sock.ecn_ok and not again
        self._transmit(packet)

    def send_bare(self) -> None:
        """Send a packet with neither payload nor FIN."""
        self._transmit(self._bare(self._header))

    def _bare(self, header: int) -> Packet:
        sock = self._sock
        sock.tcp_clock_cache = self._cpu.paid_clock()
        sock.tcp_wstamp_ns = max(sock.tcp_wstamp_ns, sock.tcp_clock_cache)
        packet = Packet(sock.snd_nxt, 0, 1, header)
        packet.ect = self._ecn.needed and sock.ecn_ok
        self._stamp(packet)
        return packet

    def done(self, packet: Packet, *, drained: bool = False) -> None:
        """Take back a packet that has left the host: tcp_wfree().

        drained: whether ksoftirqd does it, which waits "until our queues (qdisc +
        devices) are drained", as of a busy host. In the lab it does where the qdisc
        drops what each drop has sent again.
        """
        if packet.skb is None:
            return
        sock = self._sock
        packet.skb.clones -= 1
        sock.sk_wmem_alloc -= packet.truesize
        drained = drained or self._cpu.ksoftirqd
        if drained and sock.sk_wmem_alloc >= SKB_TRUESIZE_1:
            return
        if sock.tsq_throttled:
            sock.tsq_throttled = False
            self._cpu.tasklet(self._tsq_handler)

    def _tsq_handler(self) -> None:
        if self._sock.sk_lock.owned:
            self._sock.sk_lock.put_off(self._write)
        else:
            self._write()

    def _write(self) -> None:
        # As tcp_tsq_write() does: what is lost goes first.
        sock = self._sock
        if sock.lost_out > sock.retrans_out and sock.snd_cwnd > sock.in_flight():
            sock.tcp_clock_cache = self._cpu.paid_clock()
            self._send_again()
        self.write_xmit(Nagle.ON)

    def max_segs(self) -> int:
        """Return how many segments a packet may have: tcp_tso_segs()."""
        if self._features.sizing is Sizing.SENDMSG:
            return max(self._sock.gso_segs, 1)  # the goal the skbs were built to
        sock = self._sock
        return sizing.tso_autosize(
            sock.sk_pacing_rate, sock.min_rtt_us, self._features.sizing, self._tuning
        )

    def _send_head(
        self, max_segs: int, nagle: Nagle, *, may_defer: bool, probing: bool = False
    ) -> Held | None:
        """Send the first skb, or return what keeps it."""
        sock, mss = self._sock, self._tuning.mss
        skb = sock.write_queue[0]
        if self.must_wait():
            skb.held = skb.held or Cause.PACING
            return Held.PACING
        quota = sizing.cwnd_quota(sock.snd_cwnd, sock.in_flight()) or int(probing)
        quota = min(quota, max_segs)
        if not quota:
            return Held.CWND
        if self._features.grow and quota * mss > skb.length:
            rules.grow(sock, skb, quota * mss - skb.length)
        if rules.first_end(skb, mss) > sock.wnd_end:
            return Held.WINDOW
        limit = mss
        if skb.length > mss:
            if may_defer and (held := self._defers(skb, max_segs)):
                skb.held = Cause.DEFER_RELEASE
                return held
            limit = rules.split_point(sock, skb, quota, nagle, mss)
        elif rules.nagle_holds(sock, skb, nagle, mss):
            return Held.NAGLE
        return self._send_up_to(skb, limit, quota, max_segs)

    def _defers(self, skb: Skb, max_segs: int) -> Held | None:
        sock, features = self._sock, self._features
        # v1 of "tcp: refine TSO autosizing" waited for what sendmsg() had aimed at, as
        # Neal Cardwell noticed in the thread.
        if features.defer_unsized:
            max_segs = sock.gso_segs
        return rules.should_defer(sock, skb, max_segs, features.defer, self._tuning)

    def _send_up_to(
        self, skb: Skb, limit: int, quota: int, max_segs: int
    ) -> Held | None:
        """Cut the first skb and send it, unless TSQ keeps it."""
        sizes = (limit, quota, max_segs)
        decision = rules.decision(self._sock, skb, sizes, self._tuning.mss)
        if skb.length > limit:
            rules.fragment(self._sock, skb, limit)
        skb.pcount = segments(skb.length, self._tuning.mss)
        if self.queue_is_full(skb):
            skb.held = skb.held or Cause.TSQ
            return Held.TSQ
        why = cause(decision, self._built_by)
        return None if self._send(skb, why) else Held.DROPPED

    def must_wait(self) -> bool:
        """Tell whether pacing says to wait: only where TCP paces itself."""
        sock = self._sock
        if self._pacing is not Pacing.NEEDED:
            return False
        if sock.tcp_wstamp_ns <= sock.tcp_clock_cache:
            return False
        if not self._pacing_timer.serial:
            self._cpu.start(self._pacing_timer, sock.tcp_wstamp_ns)
        return True

    def queue_is_full(self, skb: Skb, *, again: bool = False) -> bool:
        """Tell whether TSQ keeps a packet: tcp_small_queue_check().

        again: it was sent before, and may have twice the room.
        """
        # Linux commit 75eefc6c59fd (in v4.10), and again f921a4a5bffa (in v6.6): with
        # one packet in the retransmit queue, or none, the limit does not count.
        sock = self._sock
        limit = sizing.tsq_limit(
            sock.sk_pacing_rate,
            skb.truesize,
            tsq=self._features.tsq,
            paced=self._pacing is not Pacing.NONE,
            tuning=self._tuning,
        )
        if sock.sk_wmem_alloc <= limit << again:
            return False
        if self._features.short_queue_passes and len(sock.rtx_queue) <= 1:
            return False
        sock.tsq_throttled = True
        return True

    def _send(self, skb: Skb, why: Cause) -> bool:
        """Send the first skb of the write queue; it is in the retransmit queue then."""
        sock = self._sock
        self.shape(skb, why)
        if not self.transmit(skb):
            return False
        if skb.length:
            self._sent(why)
        sock.snd_nxt = skb.end_seq
        sock.rtx_queue.append(sock.write_queue.popleft())
        sock.packets_out += skb.pcount
        if sock.nospace:
            self._check_space()
        if skb.length < skb.pcount * self._tuning.mss:
            sock.snd_sml = sock.snd_nxt
        return True

    def transmit(self, skb: Skb) -> bool:
        """Hand a packet to the device; False if its qdisc has no room for it."""
        self.deciding()
        sock = self._sock
        prior = sock.tcp_wstamp_ns
        sock.tcp_wstamp_ns = max(prior, sock.tcp_clock_cache)
        skb.tstamp_ns = sock.tcp_wstamp_ns
        packet = self._packet_of(skb)
        sock.sk_wmem_alloc += skb.truesize
        skb.clones += 1
        if skb.length:
            sock.data_segs_out += skb.pcount
        if not self._transmit(packet):
            self.done(packet)
            self._congested()
            return False
        skb.delivered = sock.delivered
        self._pace(skb.length, prior)
        return True

    def _packet_of(self, skb: Skb) -> Packet:
        """Return a clone with headers."""
        header = self._header
        if skb.length + TCP_HEADER > _IPV6_MAXPLEN and self._family == _IPV6:
            header += _JUMBO_OPTION
        packet = Packet(skb.seq, skb.length, skb.pcount, header)
        packet.fin = skb.fin
        # Linux commit 051ba67447de ("tcp: force a PSH flag on TSO packets") (in v5.4)
        packet.psh = skb.psh or skb.pcount > 1
        packet.overhead = skb.overhead
        packet.skb = skb
        packet.again = skb.end_seq <= self._sock.snd_nxt
        if self._sock.ecn_ok:
            mark_data(self._sock, packet, needed=self._ecn.needed)
        self._stamp(packet)
        return packet

    def _stamp(self, packet: Packet) -> None:
        packet.edt_ns = self._sock.tcp_wstamp_ns
        packet.tsval = packet.edt_ns // NS_PER_MS
        packet.tsecr = self.ts_recent

    def _pace(self, length: int, prior_wstamp: int) -> None:
        # As in tcp_update_skb_after_send(): a late packet earns up to half its time.
        sock = self._sock
        rate = sock.sk_pacing_rate
        if self._pacing is Pacing.NONE or not rate:
            return
        if sock.data_segs_out < _UNPACED_SEGS:
            return
        length_ns = length * NS_PER_S // rate
        credit = sock.tcp_wstamp_ns - prior_wstamp
        sock.tcp_wstamp_ns += length_ns - min(length_ns // 2, credit)

    def _end(
        self, before: int, *, limited: bool = False, probing: bool = False
    ) -> None:
        # As the end of tcp_write_xmit() does.
        sock = self._sock
        sent = sock.packets_out - before
        limited = limited or sock.in_flight() >= sock.snd_cwnd
        if sent or limited:
            cwnd_validate(sock, limited=limited)
        if sent:
            if sock.in_cwnd_reduction():
                sock.prr_out += sent
            self._progress(before, probing=probing)


def _nothing() -> None:
    """Be told of a full qdisc, and do nothing."""


def _keep(skb: Skb, why: Cause) -> None:
    """Be told of an skb that is about to be sent, and leave it as it is."""


def _ignore(packets_out: int, *, probing: bool) -> None:
    """Be told of progress, and do nothing."""
