"""What keeps the first skb of the write queue, and where it is cut.

Each function asks one question about a socket and is named as in the kernel. Source:
net/ipv4/tcp_output.c, Linux 6.12. Read first: should_defer, split_point.
"""

import enum

from testbed.model.cpu import NS_PER_MS, NS_PER_US
from testbed.model.features import Defer
from testbed.model.packet import Skb
from testbed.model.settings import Tuning
from testbed.model.sock import CaState, TcpSock
from testbed.trace.causes import Decision

_SRTT_SCALE = 3
_MAX_DEFERRED_MSS = 3  # tcp_max_tso_deferred_mss()


class Nagle(enum.Enum):
    """What the caller says of a last short segment."""

    ON = "wait while an earlier short segment is unacknowledged"
    OFF = "send it"


class Held(enum.Enum):
    """What ends a round of sending."""

    PACING = "its time has not come"
    CWND = "the congestion window is full"
    WINDOW = "the receiver's window is full"
    NAGLE = "a short segment waits for an earlier one"
    DEFERRED = "it waits to become a larger packet"
    DEFERRED_BY_CWND = "the same, and the congestion window is what keeps it small"
    TSQ = "enough is queued below"
    DROPPED = "the device's qdisc has no room"


def first_end(skb: Skb, mss: int) -> int:
    """Return the end of an skb's first segment, FIN and all: tcp_snd_wnd_test()."""
    return skb.seq + mss if skb.length > mss else skb.end_seq


def grow(sock: TcpSock, skb: Skb, missing: int) -> None:
    """Fill the first skb up from the second: tcp_grow_skb()."""
    # Linux commit 8ee602c63520 ("tcp: try to send bigger TSO packets") (in v6.10)
    queue = sock.write_queue
    if len(queue) == 1:
        return
    following = queue[1]
    moved = min(missing, following.length)
    if not moved:
        return
    skb.length += moved
    following.seq += moved
    following.length -= moved
    if not following.length:
        skb.fin = following.fin
        skb.psh = skb.psh or following.psh
        del queue[1]
        sock.sk_wmem_queued -= following.overhead


def fragment(sock: TcpSock, skb: Skb, limit: int) -> None:
    """Cut the first skb in two: tso_fragment()."""
    rest = Skb(skb.seq + limit, skb.length - limit, skb.overhead)
    rest.fin, skb.fin = skb.fin, False
    rest.psh, skb.psh = skb.psh, False
    skb.length = limit
    sock.write_queue.insert(1, rest)
    sock.sk_wmem_queued += rest.overhead


def nagle_holds(sock: TcpSock, skb: Skb, nagle: Nagle, mss: int) -> bool:
    """Tell whether a single segment waits: not tcp_nagle_test()."""
    if nagle is Nagle.OFF or skb.fin or len(sock.write_queue) > 1:
        return False
    return skb.length < mss and _minshall(sock)


def _minshall(sock: TcpSock) -> bool:
    return bool(sock.packets_out) and sock.snd_una < sock.snd_sml <= sock.snd_nxt


def should_defer(
    sock: TcpSock, skb: Skb, max_segs: int, defer: Defer, tuning: Tuning
) -> Held | None:
    """Return how the skb is deferred, None to send it: tcp_tso_should_defer()."""
    mss = tuning.mss
    if sock.ca_state >= CaState.RECOVERY:
        return None
    if sock.tcp_clock_cache - sock.tcp_wstamp_ns > NS_PER_MS:
        return None
    send_win = sock.wnd_end - skb.seq
    cong_win = (sock.snd_cwnd - sock.in_flight()) * mss
    limit = min(send_win, cong_win)
    last = len(sock.write_queue) == 1
    if limit >= max_segs * mss or (not last and limit >= skb.length):
        return None
    if limit >= _enough(sock, tuning) or not sock.rtx_queue or _is_far(sock, defer):
        return None
    if limit <= skb.length:
        return Held.DEFERRED_BY_CWND if cong_win < send_win else Held.DEFERRED
    return None if skb.fin else Held.DEFERRED


def _enough(sock: TcpSock, tuning: Tuning) -> int:
    """Return how much window is worth sending at once."""
    if tuning.tso_win_divisor:
        window = min(sock.snd_wnd, sock.snd_cwnd * tuning.mss)
        return window // tuning.tso_win_divisor
    return _MAX_DEFERRED_MSS * tuning.mss + 1


def _is_far(sock: TcpSock, defer: Defer) -> bool:
    """Tell whether the next ACK is too far away to wait for."""
    if defer is Defer.ANY:
        return False
    srtt_ns = (NS_PER_US >> _SRTT_SCALE) * sock.srtt_us
    sent_ns = sock.rtx_queue[0].tstamp_ns
    if defer is Defer.HALF_RTT:
        return sock.tcp_clock_cache - sent_ns < srtt_ns >> 1
    # Since Linux commit 295ce1eb36ae (in v6.18, and in v6.12.y)
    away = sent_ns + srtt_ns - sock.tcp_clock_cache
    return away > min(srtt_ns >> 1, NS_PER_MS)


def split_point(sock: TcpSock, skb: Skb, quota: int, nagle: Nagle, mss: int) -> int:
    """Return the bytes of the first skb that may leave: tcp_mss_split_point()."""
    window = sock.wnd_end - skb.seq
    most = quota * mss
    if most <= window and len(sock.write_queue) > 1:
        return most
    needed = min(skb.length, window)
    if most <= needed:
        return most
    partial = needed % mss
    if partial and nagle is Nagle.ON and _minshall(sock):
        return needed - partial
    return needed


def decision(
    sock: TcpSock, skb: Skb, sizes: tuple[int, int, int], mss: int
) -> Decision:
    """Return what the size of the first skb follows from, as it is sent.

    sizes: the bytes that may leave, the quota and the autosize in segments.
    """
    window, tail = sock.wnd_end - skb.seq, len(sock.write_queue) == 1
    return Decision(skb.length, *sizes, mss, window, tail, skb.held)
