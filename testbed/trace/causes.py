"""Which rule gave a data packet its size: one enum, one function.

The sender model asks it of its own packets, testbed.trace.decisions of the kernel's.
Start with cause.
"""

import enum
from typing import NamedTuple


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


class Decision(NamedTuple):
    """What the size of a packet follows from, as tcp_write_xmit() cuts it.

    queued: bytes of the first skb of the write queue.  limit: bytes of it that may
    leave.  cwnd_quota, max_segs: segments that cwnd and the autosize allow.  window:
    bytes from its first to the end of the receiver's window.  tail: whether the write
    queue ends with it.  held: the rule that last kept it from being sent.
    """

    queued: int
    limit: int
    cwnd_quota: int
    max_segs: int
    mss_now: int
    window: int
    tail: bool
    held: Cause | None


def cause(decision: Decision, built_by: Cause) -> Cause:
    """Return the rule that gave a packet its size.

    built_by: the rule that sized its skb, for a packet that is sent as it was built.
    """
    queued, limit, cwnd_quota, max_segs, mss_now, window, tail, held = decision
    length = min(queued, limit)
    if length >= max_segs * mss_now:
        return Cause.AUTOSIZE
    if held is Cause.DEFER_RELEASE:
        return Cause.DEFER_RELEASE
    if length == cwnd_quota * mss_now:
        return Cause.CWND_QUOTA
    if queued > limit and queued > window:
        return Cause.RECEIVE_WINDOW
    if queued > limit or tail:
        return Cause.END_OF_DATA
    return held or built_by
