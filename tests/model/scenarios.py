"""Scenarios for tests: a 40 ms path and a rack, whole and small; half a connection."""

from collections.abc import Iterable
from pathlib import Path as FilePath

from builders import a_variant, a_workload

from testbed.model.cpu import Cpu, Machine
from testbed.model.news import News
from testbed.model.packet import Block, Packet, Skb
from testbed.model.rcv_sock import RcvSock
from testbed.model.receiver import Receiver
from testbed.model.scoreboard import tag
from testbed.model.settings import Tuning
from testbed.model.sock import TcpSock
from testbed.spec.experiment import Variant
from testbed.spec.load import load_experiment
from testbed.spec.path import Path
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings

#: The sender's captures of both variants of refine-tso-autosizing, on the kernel that
#: captures/reference/README.md names.
CAPTURES = FilePath(__file__).parents[2] / "captures/reference/refine-tso-autosizing"
FQ = HostSettings(qdisc=Qdisc(kind="fq"))
LONG = Path(rtt=40_000_000, rate=10**9, queue=1000)
RACK = Path(rtt=50_000, rate=10**10, queue=1000)
TUNING = Tuning(
    mss=1448,
    gso_max_size=65215,
    gso_max_segs=65535,
    limit_output_bytes=1 << 20,
    min_tso_segs=2,
    tso_win_divisor=3,
    tso_rtt_log=9,
    pacing_ss_ratio=200,
    pacing_ca_ratio=120,
    autocorking=True,
    wmem=(4096, 16384, 4194304),
    max_pacing_rate=None,
)
MSS = TUNING.mss
MS = 1_000_000
RTT_US = 40_000
IDEAL = Machine(tick=1, min_delta=0)
RMEM = (4096, 131072, 6291456)


def the_variant(name: str) -> Variant:
    """Return a variant of refine-tso-autosizing."""
    variants = load_experiment("refine-tso-autosizing").variants
    return next(each for each in variants if each.name == name)


def a_stream(
    size: int, path: Path = LONG, sender: HostSettings = FQ, **given: object
) -> Variant:
    """Return a variant that sends size bytes in one send(), through fq."""
    message = {"bytes": size, "send_size": size, "sndbuf": 1_000_000}
    workload = a_workload(**(message | given))
    return a_variant(path=path, workload=workload, sender=sender)


def a_sender(*packets: int, now_ms: int = 50) -> TcpSock:
    """Return a socket with packets of so many segments under way, and an RTT of 40 ms.

    The first was sent at 1 ms, each other 1 ms later.
    """
    sock = TcpSock(1 << 20)
    sock.snd_wnd = sock.max_window = 1 << 20
    sock.srtt_us, sock.min_rtt_us, sock.icsk_rto = RTT_US << 3, RTT_US, 240
    sock.sk_pacing_rate = 20_000_000
    sock.tcp_clock_cache = now_ms * MS
    for number, segs in enumerate(packets, 1):
        skb = Skb(sock.snd_nxt, segs * MSS)
        skb.pcount, skb.tstamp_ns = segs, number * MS
        sock.rtx_queue.append(skb)
        sock.packets_out += segs
        sock.sk_wmem_queued += skb.truesize
        sock.snd_nxt = sock.write_seq = skb.end_seq
    return sock


def lose(sock: TcpSock, *places: int) -> None:
    """Have packets of the retransmit queue be marked lost."""
    for place in places:
        skb = sock.rtx_queue[place]
        skb.lost = True
        sock.lost_out += skb.pcount


def send_again(sock: TcpSock, *places: int) -> None:
    """Have packets of the retransmit queue be under way again, since now."""
    for place in places:
        skb = sock.rtx_queue[place]
        skb.retrans = skb.ever_retrans = True
        skb.tstamp_ns = sock.tcp_clock_cache
        sock.retrans_out += skb.pcount
        sock.total_retrans += skb.pcount


def sack(sock: TcpSock, *blocks: Block, ack: int = 0) -> News:
    """Tell a sender of SACK blocks; these and ack are in segments."""
    in_bytes = [(start * MSS, end * MSS) for start, end in blocks]
    return tag(sock, in_bytes, ack * MSS, sock.snd_una, MSS)


def marks(sock: TcpSock) -> list[str]:
    """Return S, L and R of each packet, as the comments of tcp_input.c have them."""
    return [
        "S" * skb.sacked + "L" * skb.lost + "R" * skb.retrans for skb in sock.rtx_queue
    ]


class ReceiverBench:
    """A connected receiver, and the packets it sends. Its clock starts at 5 ms."""

    def __init__(self, *, rcvbuf: int | None = None) -> None:
        self.cpu = Cpu(IDEAL, 5 * MS)
        self.sent: list[Packet] = []
        self.sock = RcvSock(mss=MSS, rmem=RMEM, rcvbuf=rcvbuf, skb_overhead=832)
        self.receiver = Receiver(
            self.sock, cpu=self.cpu, header=52, transmit=self.sent.append
        )
        syn = Packet(0, 0, 1, 60)
        syn.syn = True
        self.receiver.receive(syn)
        self.receiver.receive(Packet(0, 0, 1, 52))

    def send(self, seq: int, length: int, *, fin: bool = False) -> None:
        """Have a packet arrive."""
        packet = Packet(seq, length, -(-length // MSS), 52)
        packet.fin, packet.psh = fin, length > MSS
        self.receiver.receive(packet)

    def send_segments(self, *places: int) -> None:
        """Have segments arrive, by their places in the stream."""
        for place in places:
            self.send(place * MSS, MSS)

    def acks(self) -> list[int]:
        """Return what each ACK acknowledges."""
        return [packet.ack for packet in self.sent if not packet.syn]

    def last_sacks(self) -> list[tuple[float, float]]:
        """Return the blocks of the last ACK, in segments."""
        return in_segments(self.sent[-1].sacks)


def in_segments(blocks: Iterable[Block]) -> list[tuple[float, float]]:
    """Return blocks with their bounds in segments."""
    return [(start / MSS, end / MSS) for start, end in blocks]
