"""Buffers and packets: what is queued in a socket, and what crosses the path."""

from testbed.trace.causes import Cause

#: SKB_TRUESIZE of an empty transmit skb: struct sk_buff 256, its head 256, its
#: skb_shared_info 320; measured: 537 skbs of 2896 bytes fill a sndbuf of 2,000,000.
SKB_OVERHEAD = 832
#: SKB_TRUESIZE(1).
SKB_TRUESIZE_1 = 1 + 256 + 320
ETHERNET_HEADER = 14
TCP_HEADER = 32  # with timestamps
SYN_OPTIONS = 8  # more than timestamps: MSS, window scale
IP_HEADERS = {4: 20, 6: 40}


class Skb:
    """A buffer of the write queue, then of the retransmit queue.

    held: the rule that last kept it from being sent.
    """

    __slots__ = ("fin", "held", "length", "pcount", "seq", "tstamp_ns")

    def __init__(self, seq: int, length: int) -> None:
        self.seq = seq
        self.length = length
        self.pcount = 0
        self.tstamp_ns = 0  # earliest departure time
        self.fin = False
        self.held: Cause | None = None

    @property
    def truesize(self) -> int:
        """Return what it is charged to the socket for."""
        return self.length + SKB_OVERHEAD


class Packet:
    """A packet on its way; may be a GSO packet of pcount segments.

    Sequence numbers as in a Trace: 0 is the first byte of payload; ack counts payload
    only.  header: bytes of IP and TCP header.  tsval, tsecr: ms.  edt_ns: when it may
    leave.
    """

    __slots__ = (
        "ack",
        "edt_ns",
        "fin",
        "header",
        "length",
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
        self.syn = False
        self.fin = False

    def wire_bytes(self) -> int:
        """Return qdisc_pkt_len: payload, and every segment's headers."""
        return self.length + self.pcount * (self.header + ETHERNET_HEADER)

    @property
    def truesize(self) -> int:
        """Return what it is charged to whoever holds it."""
        return self.length + SKB_OVERHEAD
