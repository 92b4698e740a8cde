"""RACK: a packet is lost if one sent later was delivered, and enough time has passed.

Source: net/ipv4/tcp_recovery.c, Linux 6.12; RFC 8985.
"""

from testbed.model.packet import Skb
from testbed.model.rtx_queue import mark_lost
from testbed.model.sock import CaState, TcpSock

_NS_PER_US = 1000
_SRTT_SCALE = 3
_MAX_STEPS = 0xFF
#: TCP_RACK_RECOVERY_THRESH: how many recoveries a wider reo_wnd is kept for.
RECOVERY_THRESH = 16


def advance(sock: TcpSock, skb: Skb) -> None:
    """Note a packet that has been delivered: tcp_rack_advance()."""
    rack = sock.rack
    sent_us = skb.tstamp_ns // _NS_PER_US
    rtt_us = sock.tcp_mstamp - sent_us
    if skb.ever_retrans and rtt_us < sock.min_rtt_us:
        return  # it may have been the original that was delivered
    rack.advanced = True
    rack.rtt_us = rtt_us
    end_seq = skb.end_seq
    if (sent_us, end_seq) > (rack.mstamp, rack.end_seq):
        rack.mstamp, rack.end_seq = sent_us, end_seq
        rack.prior_delivered = skb.delivered


def timeout_of(sock: TcpSock, skb: Skb, reo_wnd_us: int) -> int:
    """Return the us until a packet counts as lost: tcp_rack_skb_timeout()."""
    sent_us = skb.tstamp_ns // _NS_PER_US
    return sock.rack.rtt_us + reo_wnd_us - (sock.tcp_mstamp - sent_us)


def detect_loss(sock: TcpSock) -> int:
    """Mark what is lost; return the us to wait for the rest, 0 if there is none."""
    rack, wait_us = sock.rack, 0
    last = (rack.mstamp, rack.end_seq)
    reo_wnd_us = _reo_wnd_us(sock)
    for skb in sock.rtx_queue:
        if skb.sacked or (skb.lost and not skb.retrans):
            continue
        if (skb.tstamp_ns // _NS_PER_US, skb.end_seq) >= last:
            continue
        remaining = timeout_of(sock, skb, reo_wnd_us)
        if remaining <= 0:
            mark_lost(sock, skb)
        else:
            wait_us = max(wait_us, remaining)
    return wait_us


def _reo_wnd_us(sock: TcpSock) -> int:
    if not sock.reord_seen and (
        sock.ca_state >= CaState.RECOVERY or sock.sacked_out >= sock.reordering
    ):
        return 0
    steps = sock.rack.reo_wnd_steps
    return min((sock.min_rtt_us >> 2) * steps, sock.srtt_us >> _SRTT_SCALE)


def update_reo_wnd(sock: TcpSock) -> None:
    """Widen the window once a round trip with D-SACKs: tcp_rack_update_reo_wnd()."""
    rack = sock.rack
    if rack.prior_delivered < rack.last_delivered:
        rack.dsack_seen = False
    if rack.dsack_seen:
        rack.reo_wnd_steps = min(_MAX_STEPS, rack.reo_wnd_steps + 1)
        rack.dsack_seen = False
        rack.last_delivered = sock.delivered
        rack.reo_wnd_persist = RECOVERY_THRESH
    elif not rack.reo_wnd_persist:
        rack.reo_wnd_steps = 1
