"""A sender that is given the ACKs of a trace, and held to the packets seen in it.

What it would have sent is noted for each packet; then it sends what was seen, so that
one packet that differs leaves those after it to be judged by themselves. Start with
Replay.run.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.model import rules
from testbed.model.congestion import LossBased
from testbed.model.cpu import Cpu, Machine, Timer
from testbed.model.features import Sizing
from testbed.model.feeder import Feeder, Message
from testbed.model.packet import Packet, Skb
from testbed.model.rtx_queue import segments
from testbed.model.rules import Nagle
from testbed.model.sender import Sender, Setup
from testbed.model.settings import MAX_TCP_HEADER
from testbed.model.sock import TcpSock, sndbuf_wanted
from testbed.trace.causes import Cause

#: A machine whose clock is as fine as a capture's, and that is never in the way.
_MACHINE = Machine(tick=1, min_delta=0)
_PAST_THE_FIRST_TEN = 100
_ACK_HEADER = 52
#: Sent so long before it was seen to leave, a packet has waited for nothing: fq's timer
#: has as much slack, and computing takes time too.
_SOON_NS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a trace shows of a stretch without losses, as plain numbers.

    times, seqs, lengths: of its data packets, each of which begins where the one before
    ends.  ack_times, acks, windows: of its ACKs.  flights: the segments under way about
    each ACK.  messages: what the process may have had to write, and when: one way to
    read the trace, or more, see Unseen.  closes: whether that was all.  syn_ns: when
    the SYN passed; the first ACK then is its answer.  first: the first packet to
    predict; those before it are under way when the first ACK comes, and there are none
    with a SYN.  cwnd: to begin with, in segments.  min_rtt_us: for a stretch without
    the SYN.
    """

    times: Sequence[int]
    seqs: Sequence[int]
    lengths: Sequence[int]
    ack_times: Sequence[int]
    acks: Sequence[int]
    windows: Sequence[int]
    flights: Sequence[int]
    messages: Sequence[Sequence[Message]]
    closes: bool
    syn_ns: int | None
    first: int
    cwnd: int
    min_rtt_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What a replay needs to know, and no trace shows.

    more_cwnd: segments beyond Seen.cwnd.  slow_start: whether cwnd is below ssthresh
    then; always, with a SYN.  drained: whether TCP Small Queues let go only when no
    packet is left in the host, as under ksoftirqd, and not at each that leaves.
    writes: which of Seen.messages.
    """

    more_cwnd: int = 0
    slow_start: bool = True
    drained: bool = False
    writes: int = 0


class Flight(LossBased):
    """No congestion control: cwnd is what was seen under way, whatever made it so."""

    __slots__ = ("_seen",)

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def cong_avoid(self, sock: TcpSock, now_ns: int, acked: int) -> None:
        """Set cwnd."""
        del acked
        place = bisect_right(self._seen.ack_times, now_ns) - 1
        slow_start = sock.in_slow_start()
        sock.snd_cwnd = max(self._seen.flights[max(place, 0)], 2)
        if not slow_start:
            sock.snd_ssthresh = sock.snd_cwnd

    def ssthresh(self, sock: TcpSock) -> int:
        """Return what cwnd is: nothing is lost here."""
        return sock.snd_cwnd


class Replay:
    """One sender, and the events of a trace that drive it.

    lengths: what it would have sent, one a packet seen from the first on; 0 where it
    would have sent nothing by then.  causes: of each of these, None with 0.
    """

    __slots__ = (
        "_checking",
        "_cpu",
        "_departed",
        "_device",
        "_events",
        "_feeder",
        "_forced",
        "_misses_left",
        "_mss",
        "_place",
        "_row",
        "_seen",
        "_sender",
        "_setup",
        "_timer",
        "_unseen",
        "causes",
        "lengths",
    )

    def __init__(self, seen: Seen, setup: Setup, unseen: Unseen) -> None:
        self._seen, self._setup, self._unseen = seen, setup, unseen
        self._mss = setup.tuning.mss
        begin = seen.ack_times[0] if seen.syn_ns is None else seen.syn_ns
        self._cpu = cpu = Cpu(_MACHINE, begin)
        self._sender = sender = Sender(
            setup, cpu=cpu, transmit=self._transmit, sent=_ignore
        )
        sender.output.shape = self._shape
        sender.sock.snd_cwnd = seen.cwnd + unseen.more_cwnd
        self._feeder = feeder = Feeder(
            sender.sock,
            setup,
            seen.messages[unseen.writes],
            cpu=cpu,
            output=sender.output,
            closes=seen.closes,
        )
        sender.writer = feeder
        self._row = self._departed = seen.first
        self._device: deque[tuple[int, Packet]] = deque()
        self._forced = self._checking = False
        self._misses_left = 0
        self.lengths: list[int] = []
        self.causes: list[Cause | None] = []
        self._events = _events(seen)
        self._place = 0
        self._timer = Timer(self._happen)

    def run(self, most_misses: int) -> None:
        """Replay all of it, or until more packets differ than that."""
        self._misses_left = most_misses
        if self._seen.syn_ns is not None:
            self._sender.output.send_syn(again=False)
        else:
            self._begin_midway()
            self._cpu.wake(self._feeder.begin)
        self._cpu.start(self._timer, self._events[0][0])
        self._cpu.run()

    def _begin_midway(self) -> None:
        """Have a socket in the state that the trace shows, as far as it does."""
        seen, sock = self._seen, self._sender.sock
        now, first = seen.ack_times[0], seen.first
        sock.tcp_clock_cache = sock.tcp_wstamp_ns = now
        sock.snd_una = seen.seqs[0]
        sock.snd_nxt = sock.snd_sml = sock.write_seq = sock.pushed_seq = (
            seen.seqs[first - 1] + seen.lengths[first - 1]
        )
        sock.cwnd_usage_seq = sock.rtt_seq = sock.snd_nxt
        sock.snd_wnd = sock.max_window = max(
            seen.windows[0], sock.snd_nxt - sock.snd_una
        )
        sock.delivered, sock.data_segs_out = 1, _PAST_THE_FIRST_TEN
        sock.min_rtt_us = seen.min_rtt_us
        for row in range(first):
            skb = Skb(seen.seqs[row], seen.lengths[row])
            skb.pcount = segments(skb.length, self._mss)
            skb.tstamp_ns = seen.times[row]
            sock.rtx_queue.append(skb)
            sock.packets_out += skb.pcount
            sock.sk_wmem_queued += skb.truesize
        sock.is_cwnd_limited, sock.max_packets_out = True, sock.packets_out
        self._setup.congestion.begin(sock)
        if not self._unseen.slow_start:
            sock.snd_ssthresh = sock.snd_cwnd
        wanted = sndbuf_wanted(sock.snd_cwnd, self._setup.mss_clamp, MAX_TCP_HEADER)
        sock.sk_sndbuf = max(sock.sk_sndbuf, min(wanted, self._setup.tuning.wmem[2]))

    def _happen(self) -> None:
        """Let the events of this time come, and wait for the next."""
        events, now = self._events, self._cpu.clock
        while self._place < len(events) and events[self._place][0] <= now:
            _, is_packet, row = events[self._place]
            self._place += 1
            if is_packet:
                self._depart(row)
            else:
                self._cpu.receive(self._acknowledge, self._ack(row))
        if self._place < len(events) and self._misses_left >= 0:
            self._cpu.start(self._timer, events[self._place][0])
        else:
            self._cpu.wake(self._finish)

    def _finish(self) -> None:
        """Let what is awake go on, and the last packet be looked for."""
        self._cpu.wake(self._cpu.stop)

    def _ack(self, row: int) -> Packet:
        packet = Packet(0, 0, 1, _ACK_HEADER)
        packet.ack, packet.window = self._seen.acks[row], self._seen.windows[row]
        packet.syn = row == 0 and self._seen.syn_ns is not None
        return packet

    def _acknowledge(self, packet: Packet) -> None:
        sock = self._sender.sock
        packet.ack = min(packet.ack, sock.snd_nxt, self._left())
        if packet.syn:
            self._cpu.wake(self._feeder.begin)
        elif packet.ack < sock.snd_una:
            return
        self._sender.take(packet)

    def _left(self) -> int:
        """Return the end of what was seen to leave: no more can be acknowledged."""
        row = self._departed - 1
        return self._seen.seqs[row] + self._seen.lengths[row] if row >= 0 else 0

    def _depart(self, row: int) -> None:
        """Have a packet leave the host; if it is not sent by now, it has to be."""
        self._departed = row + 1
        while self._device and self._device[0][0] <= row:
            self._cpu.receive(self._done, self._device.popleft()[1])
        if not self._checking:
            self._checking = True
            self._cpu.wake(self._look)

    def _done(self, packet: Packet) -> None:
        self._sender.output.done(packet, drained=self._unseen.drained)

    def _look(self) -> None:
        """Let the processes go first that were woken at the same time."""
        self._cpu.wake(self._catch_up)

    def _catch_up(self) -> None:
        self._checking = False
        output = self._sender.output
        while self._row < self._departed:
            self._force()
            if self._row < self._departed and self._sender.sock.write_queue:
                output.write_xmit(Nagle.ON)

    def _force(self) -> None:
        sock = self._sender.sock
        if not sock.write_queue:
            self._provide(self._seen.lengths[self._row])
        self._forced = True
        self._sender.output.push_anyway(Cause.END_OF_DATA)
        self._forced = False
        # So much was under way: cwnd cannot have been less.
        sock.snd_cwnd = max(sock.snd_cwnd, sock.in_flight())

    def _provide(self, size: int) -> None:
        """Queue data that the process had earlier than it seemed."""
        sock = self._sender.sock
        skb = Skb(sock.write_seq, size, self._setup.features.skb_overhead)
        sock.write_queue.append(skb)
        sock.write_seq += size
        sock.sk_wmem_queued += skb.truesize
        self._feeder.take_back(size)

    def _shape(self, skb: Skb, why: Cause) -> None:
        """Note what is about to be sent, and send what was seen."""
        if self._row == len(self._seen.lengths):
            return
        sock, row = self._sender.sock, self._row
        # It left then, so its time had come.
        sock.tcp_wstamp_ns = min(sock.tcp_wstamp_ns, self._seen.times[row])
        wanted = self._seen.lengths[row]
        self._row += 1
        self.lengths.append(0 if self._forced else skb.length)
        self.causes.append(None if self._forced else why)
        if self._forced or skb.length != wanted:
            self._misses_left -= 1
        if skb.length != wanted:
            self._resize(skb, wanted)
        skb.pcount = segments(skb.length, self._mss)

    def _resize(self, skb: Skb, wanted: int) -> None:
        sock = self._sender.sock
        queued = sock.write_seq - skb.seq
        if queued < wanted:
            self._provide(wanted - queued)
        if self._setup.features.sizing is Sizing.SENDMSG:
            self._move_up(skb, wanted)
        while skb.length < wanted:
            rules.grow(sock, skb, wanted - skb.length)
        if skb.length > wanted:
            rules.fragment(sock, skb, wanted)

    def _move_up(self, skb: Skb, wanted: int) -> None:
        """Keep the sizes of the skbs that follow, but for the last one's.

        Where skbs are built to their size, the error is in this one alone.
        """
        queue = self._sender.sock.write_queue
        last = queue[-1]
        missing = wanted - skb.length
        if last is skb or last.length <= missing:
            return
        skb.length = wanted
        for place in range(1, len(queue)):
            queue[place].seq += missing
        last.length -= missing

    def _transmit(self, packet: Packet) -> bool:
        row = self._row - 1
        is_seen = packet.length > 0 and not packet.again
        if is_seen and self._is_ahead(packet, row):
            self._device.append((row, packet))
        else:
            self._cpu.receive(self._sender.output.done, packet)
        return True

    def _is_ahead(self, packet: Packet, row: int) -> bool:
        """Tell whether a packet was seen only later, or never."""
        seen = self._seen
        if row < 0 or packet.seq != seen.seqs[row]:
            return True
        return seen.times[row] > self._cpu.clock + _SOON_NS


def _events(seen: Seen) -> list[tuple[int, bool, int]]:
    """Return ACKs and packets in the order of time, ACKs first."""
    acks = [(time_ns, False, row) for row, time_ns in enumerate(seen.ack_times)]
    packets = [(time_ns, True, row) for row, time_ns in enumerate(seen.times)]
    return sorted(acks + packets[seen.first :])


def _ignore(cause: Cause) -> None:
    """Be told of the cause of a packet, which _shape has noted."""
