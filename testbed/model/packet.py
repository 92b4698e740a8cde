"""Buffers and packets: what is queued in a socket, and what crosses the path."""

from testbed.trace.causes import Cause

#: The truesize of an empty transmit skb: struct sk_buff 256, and its head, 512 bytes
#: with the skb_shared_info in it. Since Linux commit bf9f1baa279f ("net: add dedicated
#: kmem_cache for typical/small skb->head") (in v6.3) the head is 576.
#: measured: wmem_alloc, less what was sent last, in decisions.csv of 6.1 and of 6.12.
KMALLOC_OVERHEAD = 768
SKB_OVERHEAD = 832
#: SKB_TRUESIZE(1).
SKB_TRUESIZE_1 = 1 + 256 + 320
ETHERNET_HEADER = 14
TCP_HEADER = 32  # with timestamps
SYN_OPTIONS = 8  # more than timestamps: MSS, window scale
IP_HEADERS = {4: 20, 6: 40}
#: A SACK option: two NOPs, its kind and length, and then the blocks.
SACK_OPTION = 4
SACK_BLOCK = 8

Block = tuple[int, int]


class Skb:
    """A buffer of the write queue, then of the retransmit queue.

    A FIN takes a place in the sequence, behind the payload.  held: the rule that last
    kept it from being sent.  overhead: its truesize without payload.  clones: how many
    of its packets are still in the host.  delivered: how many segments had been when it
    was sent.  sacked, lost, retrans, ever_retrans: TCPCB_SACKED_ACKED, TCPCB_LOST,
    TCPCB_SACKED_RETRANS and TCPCB_EVER_RETRANS, include/net/tcp.h.  psh: what was
    written ends in it.
    """

    __slots__ = (
        "clones",
        "delivered",
        "ever_retrans",
        "fin",
        "held",
        "length",
        "lost",
        "overhead",
        "pcount",
        "psh",
        "retrans",
        "sacked",
        "seq",
        "tstamp_ns",
    )

    def __init__(self, seq: int, length: int, overhead: int = SKB_OVERHEAD) -> None:
        self.seq = seq
        self.length = length
        self.overhead = overhead
        self.pcount = 0
        self.tstamp_ns = 0  # earliest departure time
        self.clones = self.delivered = 0
        self.fin = self.psh = False
        self.held: Cause | None = None
        self.sacked = self.lost = self.retrans = self.ever_retrans = False

    @property
    def end_seq(self) -> int:
        """Return the sequence number behind it."""
        return self.seq + self.length + self.fin

    @property
    def truesize(self) -> int:
        """Return what it is charged to the socket for."""
        return self.length + self.overhead


class Packet:
    """A packet on its way; may be a GSO packet of pcount segments.

    Sequence numbers as in a Trace: 0 is the first byte of payload; a FIN takes a place
    behind it.  header: bytes of IP and TCP header.  tsval, tsecr: ms.  edt_ns: when it
    may leave.  sacks: the blocks of a SACK option, as (start, end), the newest first.
    ect, ce: its IP header says that it is ECN-capable, that it met congestion.  ece,
    cwr: its TCP header says that such a packet came, that cwnd was reduced for one.
    psh: its TCP header says that more may take a while.
    skb: of what it is a clone, None for a packet without payload or FIN.  overhead: of
    its skb.  again: it was sent before.
    """

    __slots__ = (
        "ack",
        "again",
        "ce",
        "cwr",
        "ece",
        "ect",
        "edt_ns",
        "fin",
        "header",
        "length",
        "overhead",
        "pcount",
        "psh",
        "sacks",
        "seq",
        "skb",
        "syn",
        "tsecr",
        "tsval",
        "window",
    )

    def __init__(self, seq: int, length: int, pcount: int, header: int) -> None:
        self.seq = seq
        self.length = length
        self.pcount = pcount
        self.header = header
        self.ack = 0
        self.window = 0
        self.tsval = 0
        self.tsecr = 0
        self.edt_ns = 0
        self.sacks: tuple[Block, ...] = ()
        self.skb: Skb | None = None
        self.overhead = SKB_OVERHEAD
        self.syn = self.fin = self.psh = False
        self.ect = self.ce = self.ece = self.cwr = self.again = False

    def wire_bytes(self) -> int:
        """Return qdisc_pkt_len: payload, and every segment's headers."""
        return self.length + self.pcount * (self.header + ETHERNET_HEADER)

    @property
    def truesize(self) -> int:
        """Return what it is charged to whoever holds it."""
        return self.length + self.overhead
