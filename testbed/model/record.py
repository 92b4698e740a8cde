"""What a simulated run leaves behind: a Trace, counters, causes, samples."""

from array import array

import numpy as np

from testbed.model.packet import Packet
from testbed.model.sock import TcpSock
from testbed.trace.causes import Cause
from testbed.trace.trace import Column, Flow, Trace

_SENDER, _RECEIVER = "10.0.1.2", "10.0.2.2"
_SPORT, _DPORT = 40000, 5001
_SRTT_SCALE = 3


HOSTS = ("sender", "receiver")
#: nstat's names of what is counted: sent segments, packets, bytes, then received.
_NAMES = {
    4: (
        *("TcpOutSegs", "IpOutRequests", "IpExtOutOctets"),
        *("TcpInSegs", "IpInReceives", "IpExtInOctets"),
    ),
    6: (
        *("TcpOutSegs", "Ip6OutRequests", "Ip6OutOctets"),
        *("TcpInSegs", "Ip6InReceives", "Ip6InOctets"),
    ),
}
#: What a sample holds: keys and units of testbed.lab.tcp_info.
SAMPLED = (
    "time_ns",
    "snd_cwnd",
    "snd_ssthresh",
    "rtt",
    "min_rtt",
    "pacing_rate",
    "unacked",
    "notsent_bytes",
)


class Record:
    """Notes what passes the sender's device, and what each host counts.

    keep: whether packets, causes and samples are kept, one by one; if not, they are
    only counted, and its size does not grow.
    """

    __slots__ = (
        "_acks",
        "_causes",
        "_data",
        "_end",
        "_keep",
        "_received",
        "_samples",
        "_sent",
        "cause_counts",
        "syn_time_ns",
    )

    def __init__(self, *, keep: bool = True) -> None:
        self._keep = keep
        self._causes: list[Cause] = []
        self.cause_counts = dict.fromkeys(Cause, 0)
        self._data = array("q")  # time, seq, length, one packet after the other
        self._acks = array("q")  # time, ack, window
        self._samples: list[tuple[int, ...]] = []
        self._end = 0  # of the payload sent so far
        self.syn_time_ns = 0
        self._sent = {host: [0, 0, 0] for host in HOSTS}  # segments, packets, bytes
        self._received = {host: [0, 0] for host in HOSTS}  # packets, bytes

    def decides(self, cause: Cause) -> None:
        """Note what gave a packet of new data its size."""
        self.cause_counts[cause] += 1
        if self._keep:
            self._causes.append(cause)

    def leaves(self, now: int, packet: Packet) -> None:
        """Note a packet that the sender hands to its device."""
        if packet.length:
            if self._keep:
                self._data.extend((now, packet.seq, packet.length))
            self._end = max(self._end, packet.seq + packet.length)
        elif packet.syn:
            self.syn_time_ns = now

    def returns(self, now: int, packet: Packet) -> None:
        """Note a packet that reaches the sender."""
        ack = min(packet.ack, self._end)  # which does not count the FIN
        if self._keep:
            self._acks.extend((now, ack, packet.window))

    def counts(self, host: str, packet: Packet) -> None:
        """Count a packet that a host sends."""
        counter = self._sent[host]
        if not packet.again:
            counter[0] += packet.pcount  # RFC 4022: not what is sent again
        counter[1] += 1
        counter[2] += packet.length + packet.header

    def arrives(self, host: str, packet: Packet) -> None:
        """Count a packet that a host receives."""
        counter = self._received[host]
        counter[0] += 1
        counter[1] += packet.length + packet.header

    def counters(self, family: int) -> dict[str, dict[str, int]]:
        """Return what nstat would show, by host. family: 4 or 6, for the names."""
        return {host: self._counters_of(host, _NAMES[family]) for host in HOSTS}

    def _counters_of(self, host: str, names: tuple[str, ...]) -> dict[str, int]:
        segments, packets, octets = self._sent[host]
        received, octets_in = self._received[host]
        numbers = (segments, packets, octets, received, received, octets_in)
        return dict(zip(names, numbers, strict=True))

    def sample(self, now: int, sock: TcpSock) -> None:
        """Note the sender's state, as getsockopt(TCP_INFO) would tell it."""
        if not self._keep:
            return
        self._samples.append(
            (
                now,
                sock.snd_cwnd,
                sock.snd_ssthresh,
                sock.srtt_us >> _SRTT_SCALE,
                sock.min_rtt_us,
                sock.sk_pacing_rate,
                sock.packets_out,
                sock.write_seq - sock.snd_nxt,
            )
        )

    def causes(self) -> tuple[Cause, ...]:
        """Return the causes of all packets of new data, in order."""
        return tuple(self._causes)

    def samples(self) -> tuple[dict[str, int], ...]:
        """Return the samples as tcp_info.json has them."""
        return tuple(dict(zip(SAMPLED, each, strict=True)) for each in self._samples)

    def trace(self, mss: int) -> Trace:
        """Return all of it as a trace."""
        time_ns, seq, length = _columns(self._data)
        ack_time_ns, ack, window = _columns(self._acks)
        return Trace(
            flow=Flow(_SENDER, _SPORT, _RECEIVER, _DPORT),
            mss=mss,
            time_ns=time_ns,
            seq=seq,
            length=length,
            ack_time_ns=ack_time_ns,
            ack=ack,
            ack_window=window,
            syn_time_ns=self.syn_time_ns,
        )


def _columns(rows: "array[int]") -> tuple[Column, Column, Column]:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()
