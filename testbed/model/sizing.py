"""How much to send: the formulas of tcp_output.c and tcp_input.c, as pure functions.

Sizes in bytes, rates in bytes/s, windows and counts in segments. Source, where no other
is named: net/ipv4/tcp_output.c, Linux 6.12.
"""

from testbed.model.features import Sizing, Tsq
from testbed.model.settings import Tuning

_USEC_PER_SEC = 1_000_000
_PERCENT = 100
_SRTT_SCALE = 3  # srtt_us is kept times 8
#: sk_pacing_shift: a packet is about a millisecond of the rate.
PACING_SHIFT = 10
_SENDMSG_PARTS = 2000  # of a second: half a millisecond
_TCP_MSS_DEFAULT = 536
_MIN_PACKET = 68
_BITS_OF_SIZE = 32


def pacing_rate(cwnd: int, packets_out: int, srtt_us: int, ratio: int, mss: int) -> int:
    """Return what tcp_update_pacing_rate() sets, before SO_MAX_PACING_RATE.

    srtt_us: times 8.  ratio: percent.  Source: net/ipv4/tcp_input.c.
    """
    rate = mss * ((_USEC_PER_SEC // _PERCENT) << _SRTT_SCALE)
    return rate * ratio * max(cwnd, packets_out) // max(srtt_us, 1)


def pacing_ratio(cwnd: int, ssthresh: int, tuning: Tuning) -> int:
    """Return the percentage of cwnd per srtt that is paced at."""
    if cwnd < ssthresh // 2:
        return tuning.pacing_ss_ratio
    return tuning.pacing_ca_ratio


def tso_autosize(rate: int, min_rtt_us: int, sizing: Sizing, tuning: Tuning) -> int:
    """Return how many segments a packet may have, by the pacing rate."""
    size = rate >> PACING_SHIFT
    # Since Linux commit 65466904b015 ("tcp: adjust TSO packet sizes based on min_rtt")
    # (in v5.18). tcp_tso_rtt_log 0 makes the shift huge, and restores the old rule.
    shift = min_rtt_us >> tuning.tso_rtt_log
    if sizing is Sizing.XMIT_MIN_RTT and shift < _BITS_OF_SIZE:
        size += tuning.gso_max_size >> shift
    size = min(size, tuning.gso_max_size)
    segs = max(size // tuning.mss, tuning.min_tso_segs)
    return min(segs, tuning.gso_max_segs)


def sendmsg_goal(rate: int, tuning: Tuning) -> int:
    """Return the bytes that sendmsg() put in an skb in 3.12 to 3.18."""
    # Linux commit 95bd09eb2750 ("tcp: TSO packets automatic sizing") (in v3.12), undone
    # by 605ad7f184b6 (in v3.19); tcp_sendmsg_goal() in tcp-sendmsg-autosize.patch.
    size = max(rate // _SENDMSG_PARTS, tuning.min_tso_segs * tuning.mss)
    return min(size, tuning.gso_max_size)


def bound_to_half_window(size: int, max_window: int) -> int:
    """Return size, or half the largest window seen if that is less.

    Source: include/net/tcp.h, tcp_bound_to_half_wnd().
    """
    cutoff = max_window >> 1 if max_window > _TCP_MSS_DEFAULT else max_window
    if cutoff and size > cutoff:
        return max(cutoff, _MIN_PACKET - 32)
    return size


def goal_segs(new_goal: int, gso_segs: int, tuning: Tuning) -> int:
    """Return the segments of an skb's goal: as before unless it moved by one.

    Source: net/ipv4/tcp.c, tcp_xmit_size_goal().
    """
    goal = gso_segs * tuning.mss
    if new_goal < goal or new_goal >= goal + tuning.mss:
        return min(new_goal // tuning.mss, tuning.gso_max_segs)
    return gso_segs


def cwnd_quota(cwnd: int, in_flight: int) -> int:
    """Return how many segments the congestion window allows: half of it at most."""
    if in_flight >= cwnd:
        return 0
    return min(max(cwnd >> 1, 1), cwnd - in_flight)


def tsq_limit(
    rate: int, truesize: int, *, tsq: Tsq, paced: bool, tuning: Tuning
) -> int:
    """Return the bytes below the socket above which it stops sending."""
    millisecond = rate >> PACING_SHIFT
    if tsq is Tsq.SENDMSG:
        return max(millisecond, tuning.limit_output_bytes)
    limit = max(2 * truesize, millisecond)
    if tsq is Tsq.MAX:
        return max(limit, tuning.limit_output_bytes)
    # Since Linux commit c73e5807e4f6 (in v5.0), paced flows have no other limit.
    if tsq is Tsq.MIN or not paced:
        return min(limit, tuning.limit_output_bytes)
    return limit
