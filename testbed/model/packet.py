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


class Skb:
    """A buffer of the write queue, then of the retransmit queue.

    overhead: its truesize without payload.  held: the rule that last kept it from
    being sent.
    """

    __slots__ = ("fin", "held", "length", "overhead", "pcount", "seq", "tstamp_ns")

    def __init__(self, seq: int, length: int, overhead: int = SKB_OVERHEAD) -> None:
        self.seq = seq
        self.length = length
        self.overhead = overhead
        self.pcount = 0
        self.tstamp_ns = 0  # earliest departure time
        self.fin = False
        self.held: Cause | None = None

    @property
    def truesize(self) -> int:
        """Return what it is charged to the socket for."""
        return self.length + self.overhead


class Packet:
    """A packet on its way; may be a GSO packet of pcount segments.

    Sequence numbers as in a Trace: 0 is the first byte of payload; ack counts payload
    only.  header: bytes of IP and TCP header.  tsval, tsecr: ms.  edt_ns: when it may
    leave.  overhead: of its skb.
    """

    __slots__ = (
        "ack",
        "edt_ns",
        "fin",
        "header",
        "length",
        "overhead",
        "pcount",
        "seq",
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
        self.overhead = SKB_OVERHEAD
        self.syn = False
        self.fin = False

    def wire_bytes(self) -> int:
        """Return qdisc_pkt_len: payload, and every segment's headers."""
        return self.length + self.pcount * (self.header + ETHERNET_HEADER)

    @property
    def truesize(self) -> int:
        """Return what it is charged to whoever holds it."""
        return self.length + self.overhead
