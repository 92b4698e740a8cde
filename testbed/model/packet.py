"""Buffers and packets: what is queued in a socket, and what crosses the path."""

import enum

#: SKB_TRUESIZE of an empty transmit skb: struct sk_buff 256, its head 256, its
#: skb_shared_info 320; measured: 537 skbs of 2896 bytes fill a sndbuf of 2,000,000.
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


class Cause(enum.Enum):
    """Which rule gave a data packet its size: the first, in this order, that holds.

    AUTOSIZE: it is as large as the autosize (or as sendmsg() built it to be, where that
    is where sizes come from).  DEFER_RELEASE: it was deferred to become larger, and did
    not.  CWND_QUOTA: it fills its share of the congestion window.  RECEIVE_WINDOW: it
    ends where the window ends.  END_OF_DATA: the write queue ends, or Nagle cut a
    partial segment off.  TSQ, PACING: it was cut, and then kept waiting by that rule.
    HALF_WINDOW: its skb was built so, to at most half the receiver's window.
    """

    AUTOSIZE = "autosize"
    DEFER_RELEASE = "defer_release"
    CWND_QUOTA = "cwnd_quota"
    RECEIVE_WINDOW = "receive_window"
    END_OF_DATA = "end_of_data"
    TSQ = "tsq"
    PACING = "pacing"
    HALF_WINDOW = "half_window"


class Skb:
    """A buffer of the write queue, then of the retransmit queue.

    A FIN takes a place in the sequence, behind the payload.  held: the rule that last
    kept it from being sent.  clones: how many of its packets are still in the host.
    delivered: how many segments had been delivered when it was sent.
    sacked, lost, retrans, ever_retrans: TCPCB_SACKED_ACKED, TCPCB_LOST,
    TCPCB_SACKED_RETRANS and TCPCB_EVER_RETRANS, include/net/tcp.h.
    """

    __slots__ = (
        "clones",
        "delivered",
        "ever_retrans",
        "fin",
        "held",
        "length",
        "lost",
        "pcount",
        "retrans",
        "sacked",
        "seq",
        "tstamp_ns",
    )

    def __init__(self, seq: int, length: int) -> None:
        self.seq = seq
        self.length = length
        self.pcount = 0
        self.tstamp_ns = 0  # earliest departure time
        self.clones = self.delivered = 0
        self.fin = False
        self.held: Cause | None = None
        self.sacked = self.lost = self.retrans = self.ever_retrans = False

    @property
    def end_seq(self) -> int:
        """Return the sequence number behind it."""
        return self.seq + self.length + self.fin

    @property
    def truesize(self) -> int:
        """Return what it is charged to the socket for."""
        return self.length + SKB_OVERHEAD


class Packet:
    """A packet on its way; may be a GSO packet of pcount segments.

    Sequence numbers as in a Trace: 0 is the first byte of payload; a FIN takes a place
    behind it.  header: bytes of IP and TCP header.  tsval, tsecr: ms.  edt_ns: when it
    may leave.  sacks: the blocks of a SACK option, as (start, end), the newest first.
    skb: of what it is a clone, None for a packet without payload or FIN.
    """

    __slots__ = (
        "ack",
        "edt_ns",
        "fin",
        "header",
        "length",
        "pcount",
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
        self.syn = False
        self.fin = False

    def wire_bytes(self) -> int:
        """Return qdisc_pkt_len: payload, and every segment's headers."""
        return self.length + self.pcount * (self.header + ETHERNET_HEADER)

    @property
    def truesize(self) -> int:
        """Return what it is charged to whoever holds it."""
        return self.length + SKB_OVERHEAD
