"""What the sender knows of each packet under way: sacked, lost, sent again.

Source: net/ipv4/tcp_input.c (tcp_sacktag_write_queue and what it calls), Linux 6.12;
RFC 2018 and RFC 2883. The kernel also merges neighbouring sacked buffers, which nothing
that is sent shows; the model does not. Start with tag.
"""

from collections.abc import Sequence

from testbed.model import rack
from testbed.model.news import News
from testbed.model.packet import Block, Skb
from testbed.model.rtx_queue import fragment
from testbed.model.sock import CaState, TcpSock

_MAX_REORDERING = 300  # tcp_max_reordering


def tag(
    sock: TcpSock, sacks: Sequence[Block], ack: int, prior_una: int, mss: int
) -> News:
    """Mark what a SACK option says has arrived: tcp_sacktag_write_queue()."""
    news = News(reord=sock.snd_nxt)
    found_dup = _check_dsack(sock, sacks, ack, prior_una, mss, news)
    if not sock.packets_out:
        return news
    blocks = [
        (start, end, found_dup and not number)
        for number, (start, end) in enumerate(sacks)
        if _is_valid(sock, start, end, dsack=found_dup and not number)
        and end > prior_una
    ]
    for start, end, is_dup in sorted(blocks):
        _walk(sock, start, end, mss, news, is_dup=is_dup)
    if sock.ca_state is not CaState.LOSS or sock.undo_marker is not None:
        check_reordering(sock, news.reord, mss)
    return news


def _is_valid(sock: TcpSock, start: int, end: int, *, dsack: bool) -> bool:
    if end > sock.snd_nxt or start >= end:
        return False
    if start > sock.snd_una:
        return True
    if not dsack or sock.undo_marker is None or end > sock.snd_una:
        return False
    return end > sock.undo_marker and (
        start >= sock.undo_marker or start >= end - sock.max_window
    )


def _check_dsack(
    sock: TcpSock,
    sacks: Sequence[Block],
    ack: int,
    prior_una: int,
    mss: int,
    news: News,
) -> bool:
    """Tell whether the first block says that something came twice."""
    (start, end), *others = sacks
    within = bool(others) and others[0][0] <= start and end <= others[0][1]
    if start >= ack and not within:
        return False
    twice = _count_dsack(sock, start, end, mss, news)
    if not twice:
        return False
    marker = sock.undo_marker
    if marker is not None and sock.undo_retrans > 0 and marker < end <= prior_una:
        sock.undo_retrans = max(0, sock.undo_retrans - twice)
    return True


def _count_dsack(sock: TcpSock, start: int, end: int, mss: int, news: News) -> int:
    """Return how many segments came twice, 0 if that cannot be: tcp_dsack_seen()."""
    length = end - start
    if not 0 < length <= sock.max_window:
        return 0
    twice = -(-length // mss)
    if length <= mss and sock.tlp_high_seq and sock.tlp_high_seq == end:
        news.dsack_tlp = True
    sock.dsack_dups += twice
    if sock.dsack_dups > sock.total_retrans:
        return 0
    if sock.reord_seen and not news.dsack_tlp:
        sock.rack.dsack_seen = True
    news.dsacking = True
    news.sack_delivered += twice
    return twice


def _walk(
    sock: TcpSock, start: int, end: int, mss: int, news: News, *, is_dup: bool
) -> None:
    queue, place = sock.rtx_queue, 0
    while place < len(queue) and queue[place].seq < end:
        skb = queue[place]
        place += 1
        if skb.end_seq <= start or (skb.sacked and not is_dup):
            continue
        if _cut_to_block(sock, skb, start, end, mss):
            _tag_one(sock, skb, news, is_dup=is_dup)


def _cut_to_block(sock: TcpSock, skb: Skb, start: int, end: int, mss: int) -> bool:
    """Tell whether a packet is in a block, once cut at a whole segment.

    What is behind the cut is a packet of its own: tcp_match_skb_to_sack().
    """
    begins = start <= skb.seq
    if begins and skb.end_seq <= end:
        return True
    if skb.pcount == 1:
        return False
    if begins:
        length = (end - skb.seq) // mss * mss
        if not length:
            return False
    else:
        length = max(-(-(start - skb.seq) // mss), 1) * mss
        if length >= skb.length:
            return False
    fragment(sock, skb, length, mss)
    return begins


def _tag_one(sock: TcpSock, skb: Skb, news: News, *, is_dup: bool) -> None:
    # As tcp_sacktag_one() does.
    marker = sock.undo_marker
    if is_dup and skb.ever_retrans:
        if marker is not None and sock.undo_retrans > 0 and skb.end_seq > marker:
            sock.undo_retrans = max(0, sock.undo_retrans - skb.pcount)
        if skb.sacked:
            news.reord = min(news.reord, skb.seq)
    if skb.end_seq <= sock.snd_una:
        return
    if not skb.sacked:
        _sack(sock, skb, news)
    if is_dup and skb.retrans:
        skb.retrans = False
        sock.retrans_out -= skb.pcount


def _sack(sock: TcpSock, skb: Skb, news: News) -> None:
    rack.advance(sock, skb)
    count = skb.pcount
    if skb.retrans:
        if skb.lost:
            skb.lost = skb.retrans = False
            sock.lost_out -= count
            sock.retrans_out -= count
    else:
        if not skb.ever_retrans:
            if skb.seq < sock.highest_sack_seq():
                news.reord = min(news.reord, skb.seq)
            if skb.end_seq <= sock.high_seq:
                news.orig_sack_acked = True
            news.first_sackt = news.first_sackt or skb.tstamp_ns
            news.last_sackt = skb.tstamp_ns
        if skb.lost:
            skb.lost = False
            sock.lost_out -= count
    skb.sacked = True
    news.data_sacked = True
    sock.sack_high = max(sock.highest_sack_seq(), skb.end_seq)
    sock.sacked_out += count
    news.sack_delivered += count


def check_reordering(sock: TcpSock, low_seq: int, mss: int) -> None:
    """Learn that a segment came after later ones: tcp_check_sack_reordering()."""
    highest = sock.highest_sack_seq()
    if low_seq >= highest:
        return
    if highest - low_seq > sock.reordering * mss:
        sock.reordering = min(-(-(highest - low_seq) // mss), _MAX_REORDERING)
    sock.reord_seen = True
