"""News: what one ACK tells the sender, as the parts that take it find out."""

from dataclasses import dataclass


@dataclass(slots=True)
class News:
    """What one ACK brings: the FLAG_s of tcp_ack() and struct tcp_sacktag_state.

    first_ackt, last_ackt: when the first and the last segment newly acknowledged, and
    never sent again, were sent, ns; 0 if none.  first_sackt, last_sackt: of those newly
    sacked.  reord: the lowest of the latter that was in a hole.  lowest: of the former.
    pkts_acked: segments that have left the retransmit queue.
    """

    una_advanced: bool = False
    win_update: bool = False
    data_acked: bool = False
    data_sacked: bool = False
    retrans_data_acked: bool = False
    orig_sack_acked: bool = False
    dsacking: bool = False
    dsack_tlp: bool = False
    reneging: bool = False
    ece: bool = False
    set_xmit_timer: bool = False
    lost_retrans: bool = False
    dupack: bool = False
    first_ackt: int = 0
    last_ackt: int = 0
    first_sackt: int = 0
    last_sackt: int = 0
    sack_delivered: int = 0
    pkts_acked: int = 0
    reord: int = 0
    lowest: int | None = None
