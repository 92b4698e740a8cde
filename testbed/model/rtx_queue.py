"""The retransmit queue: what is sent and not acknowledged, cut and counted.

Source: net/ipv4/tcp_output.c (tcp_fragment, tcp_adjust_pcount, tcp_trim_head) and
tcp_input.c (tcp_mark_skb_lost), Linux 6.12.
"""

from testbed.model.packet import Skb
from testbed.model.sock import TcpSock


def mark_lost(sock: TcpSock, skb: Skb) -> None:
    """Count a packet as lost, or its retransmission: tcp_mark_skb_lost()."""
    if skb.sacked:
        return
    if not skb.lost:
        skb.lost = True
        sock.lost_out += skb.pcount
        sock.lost += skb.pcount
    elif skb.retrans:
        skb.retrans = False
        sock.retrans_out -= skb.pcount
        sock.lost += skb.pcount


def fragment(sock: TcpSock, skb: Skb, length: int, mss: int) -> Skb:
    """Cut a packet under way in two; return the second half: tcp_fragment()."""
    rest = Skb(skb.seq + length, skb.length - length, skb.overhead)
    rest.fin, skb.fin = skb.fin, False
    rest.psh, skb.psh = skb.psh, False
    rest.tstamp_ns = skb.tstamp_ns
    rest.sacked, rest.lost = skb.sacked, skb.lost
    rest.retrans, rest.ever_retrans = skb.retrans, skb.ever_retrans
    skb.length = length
    before = skb.pcount
    skb.pcount = segments(skb.length, mss)
    rest.pcount = segments(rest.length, mss)
    adjust_pcount(sock, skb, before - skb.pcount - rest.pcount)
    sock.rtx_queue.insert(sock.rtx_queue.index(skb) + 1, rest)
    sock.sk_wmem_queued += rest.overhead
    return rest


def segments(length: int, mss: int) -> int:
    """Return the segments of so many bytes; a bare FIN is one."""
    return max(-(-length // mss), 1)


def adjust_pcount(sock: TcpSock, skb: Skb, decrement: int) -> None:
    """Count fewer segments where a packet is: tcp_adjust_pcount()."""
    sock.packets_out -= decrement
    sock.sacked_out -= decrement * skb.sacked
    sock.lost_out -= decrement * skb.lost
    sock.retrans_out -= decrement * skb.retrans


def trim_head(sock: TcpSock, skb: Skb, mss: int) -> int:
    """Drop what is acknowledged of a packet; return how many segments that was."""
    cut = sock.snd_una - skb.seq
    before = skb.pcount
    skb.seq += cut
    skb.length -= cut
    if before > 1:
        skb.pcount = segments(skb.length, mss)
    sock.sk_wmem_queued -= cut
    return before - skb.pcount
