"""What an ACK does at the sender: tcp_ack() without losses. Start with Input.ack.

Source: net/ipv4/tcp_input.c, Linux 6.12.
"""

from collections.abc import Callable

from testbed.model import sizing
from testbed.model.congestion import CongestionControl
from testbed.model.cpu import NS_PER_MS, NS_PER_US, Cpu
from testbed.model.output import Output
from testbed.model.packet import Packet
from testbed.model.rules import Nagle
from testbed.model.settings import MAX_TCP_HEADER, Tuning
from testbed.model.sock import TcpSock, sndbuf_wanted

_SRTT_SCALE = 3
_JIFFY_US = 1000


def smooth(srtt_us: int, sample_us: int) -> int:
    """Return the next srtt (us, times 8): 7/8 of the old and 1/8 of the sample."""
    if not srtt_us:
        return max(sample_us << _SRTT_SCALE, 1)
    return max(srtt_us + sample_us - (srtt_us >> _SRTT_SCALE), 1)


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
        tuning: Tuning,
        mss_clamp: int,
        locked: bool,
        writeable: Callable[[], None],
    ) -> None:
        self._sock = sock
        self._cpu = cpu
        self._output = output
        self._congestion = congestion
        self._tuning = tuning
        self._mss_clamp = mss_clamp
        self._locked = locked
        self._writeable = writeable

    def established(self, packet: Packet) -> None:
        """Take the SYN-ACK: the first round-trip time, window and pacing rate."""
        sock = self._sock
        sock.snd_wnd = sock.max_window = packet.window
        sock.snd_cwnd_stamp = self._cpu.clock // NS_PER_MS
        self._output.ts_recent = packet.tsval
        rtt_us = self._cpu.clock // NS_PER_US - sock.tcp_wstamp_ns // NS_PER_US
        self._learn_rtt(rtt_us, rtt_us)
        self._set_pacing_rate()
        if not self._locked:
            self._expand_sndbuf()

    def ack(self, packet: Packet) -> None:
        """Take an ACK, and send what it allows."""
        sock = self._sock
        now = self._cpu.clock
        self._output.ts_recent = packet.tsval
        self._update_window(packet)
        if sock.rtx_queue:
            acked = self._clean_rtx_queue(now)
            if acked:
                self._congestion.cong_avoid(sock, now, acked)
            self._set_pacing_rate()
        if sock.write_queue:
            self._output.write_xmit(Nagle.ON)
        self._check_space()

    def _update_window(self, packet: Packet) -> None:
        sock = self._sock
        if packet.ack > sock.snd_una or packet.window > sock.snd_wnd:
            sock.snd_wnd = packet.window
            sock.max_window = max(sock.max_window, packet.window)
        sock.snd_una = max(sock.snd_una, packet.ack)

    def _clean_rtx_queue(self, now: int) -> int:
        """Drop what is acknowledged, learn its round-trip times; return segments."""
        sock = self._sock
        queue = sock.rtx_queue
        acked, first, last = 0, 0, 0
        while queue and queue[0].seq < sock.snd_una:
            skb = queue[0]
            gone = skb.pcount
            whole = skb.seq + skb.length <= sock.snd_una
            if not whole:
                gone = self._trim_head()
            if gone:
                last = skb.tstamp_ns
                first = first or last
            acked += gone
            if not whole:
                break
            queue.popleft()
            sock.sk_wmem_queued -= skb.truesize
        sock.packets_out -= acked
        if acked:
            now_us = now // NS_PER_US
            rtt_us = now_us - last // NS_PER_US
            self._learn_rtt(now_us - first // NS_PER_US, rtt_us)
            self._congestion.pkts_acked(sock, now, rtt_us)
        return acked

    def _trim_head(self) -> int:
        sock = self._sock
        skb = sock.rtx_queue[0]
        if skb.pcount == 1:
            return 0
        cut = sock.snd_una - skb.seq
        before = skb.pcount
        skb.seq += cut
        skb.length -= cut
        skb.pcount = -(-skb.length // self._tuning.mss)
        sock.sk_wmem_queued -= cut
        return before - skb.pcount

    def _learn_rtt(self, first_us: int, last_us: int) -> None:
        """Learn from the round trips of the first and last packet acknowledged.

        The minimum is kept for good, not for tcp_min_rtt_wlen's 300 s.
        """
        sock = self._sock
        sock.min_rtt_us = min(sock.min_rtt_us, last_us or _JIFFY_US)
        sock.srtt_us = smooth(sock.srtt_us, first_us)

    def _set_pacing_rate(self) -> None:
        sock, tuning = self._sock, self._tuning
        ratio = sizing.pacing_ratio(sock.snd_cwnd, sock.snd_ssthresh, tuning)
        rate = sizing.pacing_rate(
            sock.snd_cwnd, sock.packets_out, sock.srtt_us, ratio, tuning.mss
        )
        most = tuning.max_pacing_rate
        sock.sk_pacing_rate = rate if most is None else min(rate, most)

    def _check_space(self) -> None:
        sock = self._sock
        if not sock.nospace:
            return
        if not self._locked and sock.packets_out < sock.snd_cwnd:
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
