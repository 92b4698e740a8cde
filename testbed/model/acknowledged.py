"""What is acknowledged leaves the retransmit queue, and tells its round-trip times.

Source: net/ipv4/tcp_input.c, tcp_clean_rtx_queue() and tcp_ack_update_rtt(), Linux
6.12.
"""

from testbed.model import rack
from testbed.model.cpu import NS_PER_MS, NS_PER_US
from testbed.model.news import News
from testbed.model.packet import Skb
from testbed.model.rtt import learn_rtt
from testbed.model.rtx_queue import trim_head
from testbed.model.scoreboard import check_reordering
from testbed.model.sock import TcpSock


def clean_rtx_queue(sock: TcpSock, news: News, prior_fack: int, mss: int) -> None:
    """Drop what is acknowledged. prior_fack: the highest sacked before this ACK."""
    queue, una = sock.rtx_queue, sock.snd_una
    whole = 0
    for skb in queue:
        if skb.end_seq > una:
            break
        whole += 1
        sock.sk_wmem_queued -= skb.truesize
        _count(sock, skb, skb.seq, skb.pcount, news)
    del queue[:whole]
    if queue and queue[0].seq < una and queue[0].pcount > 1:
        head, start = queue[0], queue[0].seq
        if acked := trim_head(sock, head, mss):
            _count(sock, head, start, acked, news)
    news.reneging = bool(queue) and queue[0].sacked
    if news.data_acked:
        news.set_xmit_timer = True
        if news.lowest is not None and news.lowest < prior_fack:
            check_reordering(sock, news.lowest, mss)


def _count(sock: TcpSock, skb: Skb, start: int, acked: int, news: News) -> None:
    """Count acked segments of a packet that began at start."""
    news.data_acked = True
    news.pkts_acked += acked
    sock.packets_out -= acked
    sock.lost_out -= acked * skb.lost
    sock.retrans_out -= acked * skb.retrans
    if skb.ever_retrans:
        news.retrans_data_acked = True
    elif not skb.sacked:
        _time(sock, skb, start, news)
    if skb.sacked:
        sock.sacked_out -= acked
        return
    sock.delivered += acked
    if not (skb.ever_retrans and sock.rcv_tsecr < skb.tstamp_ns // NS_PER_MS):
        rack.advance(sock, skb)


def _time(sock: TcpSock, skb: Skb, start: int, news: News) -> None:
    """Note a packet that was sent once, whose round trip is therefore known."""
    news.last_ackt = skb.tstamp_ns
    news.first_ackt = news.first_ackt or skb.tstamp_ns
    if news.lowest is None:  # the queue is in sequence
        news.lowest = start
    if skb.end_seq <= sock.high_seq:
        news.orig_sack_acked = True


def learn_rtts(sock: TcpSock, news: News) -> int:
    """Learn round trips, but none of what was sent twice: Karn's algorithm.

    Returns that of the last segment delivered, in us, for the congestion control; -1 if
    there is none.
    """
    now_us = sock.tcp_mstamp
    seq_rtt_us = ca_rtt_us = -1
    if news.first_ackt and not news.retrans_data_acked:
        seq_rtt_us = now_us - news.first_ackt // NS_PER_US
        ca_rtt_us = now_us - news.last_ackt // NS_PER_US
    if news.first_sackt:
        sack_rtt_us = now_us - news.first_sackt // NS_PER_US
        ca_rtt_us = now_us - news.last_sackt // NS_PER_US
        if seq_rtt_us < 0:
            seq_rtt_us = sack_rtt_us
        if not news.data_acked and sock.rtx_queue:
            sent_us = sock.rtx_queue[0].tstamp_ns // NS_PER_US
            news.set_xmit_timer = sack_rtt_us > now_us - sent_us
    if seq_rtt_us < 0 and sock.rcv_tsecr and news.data_acked:
        elapsed_ms = sock.tcp_clock_cache // NS_PER_MS - sock.rcv_tsecr
        seq_rtt_us = ca_rtt_us = max(elapsed_ms, 1) * NS_PER_US
    if seq_rtt_us >= 0:
        learn_rtt(sock, seq_rtt_us, ca_rtt_us)
    return ca_rtt_us
