"""Explicit Congestion Notification: what marks mean to the two ends.

Source: net/ipv4/tcp_input.c (tcp_ecn_create_request, __tcp_ecn_check_ce,
tcp_ecn_accept_cwr) and tcp_output.c (tcp_ecn_send_syn, tcp_ecn_send), Linux 6.12;
RFC 3168.
"""

from dataclasses import dataclass

from testbed.model.acks import Acks
from testbed.model.dctcp import CeState
from testbed.model.packet import Packet
from testbed.model.rcv_sock import RcvSock
from testbed.model.sock import TcpSock

_QUICKACKS = 2
_ASKS = 1  # net.ipv4.tcp_ecn: 0 never, 1 also ask for it, 2 when the peer asks


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecn:
    """What the hosts think of ECN. sender, receiver: their net.ipv4.tcp_ecn.

    needed: by the congestion control of both ends, whatever tcp_ecn says.
    """

    sender: int
    receiver: int
    needed: bool

    def is_asked_for(self) -> bool:
        """Tell whether the SYN asks for it: tcp_ecn_send_syn()."""
        return self.sender == _ASKS or self.needed

    def is_granted(self, syn: Packet) -> bool:
        """Tell whether the SYN-ACK agrees to what a SYN asks for."""
        asked = syn.ece and syn.cwr
        return asked and (self.needed or (bool(self.receiver) and not syn.ect))


WITHOUT_ECN = Ecn(sender=0, receiver=0, needed=False)


def mark_data(sock: TcpSock, packet: Packet, *, needed: bool) -> None:
    """Mark a packet of a connection that has ECN as tcp_ecn_send() does.

    What is sent again is not ECN-capable, unless the congestion control needs it to be.
    """
    if packet.length and packet.seq >= sock.snd_nxt:
        packet.ect = True
        packet.cwr, sock.queue_cwr = sock.queue_cwr, False
    else:
        packet.ect = needed


class Echo:
    """Tells the sender of marks. ce_state: DCTCP's, None for all others."""

    __slots__ = ("_ce_state", "_seen", "_sock")

    def __init__(self, sock: RcvSock, acks: Acks, *, needed: bool) -> None:
        self._sock = sock
        self._ce_state = CeState(sock, acks) if needed else None
        self._seen = False  # a packet that was ECN-capable

    def accept_cwr(self, packet: Packet) -> None:
        """Learn that the sender has reacted; its cwnd may be 1, so do not delay."""
        if packet.cwr:
            self._sock.demand_cwr = False
            self._sock.now = self._sock.now or packet.length > 0 or packet.fin

    def check_ce(self, packet: Packet) -> None:
        """Take the mark of a packet of data, with ECN agreed: __tcp_ecn_check_ce()."""
        sock = self._sock
        if not packet.ect:
            # "It is probably a retransmit."
            if self._seen:
                sock.enter_quickack_mode(_QUICKACKS)
            return
        if self._ce_state is not None:
            self._ce_state.update(is_ce=packet.ce)
        if packet.ce and not sock.demand_cwr:
            sock.enter_quickack_mode(_QUICKACKS)
            sock.demand_cwr = True
        self._seen = True
