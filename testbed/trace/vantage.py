"""Where a capture was taken, seen from one flow: at its sender, its receiver, between.

Evidence, the best first:

- TTL. A host sends with a TTL of 64, 128 or 255, and each router takes one. If data
  comes with such a TTL and ACKs do not, this is the sender; the other way round, the
  receiver; if neither does, it is between them.
- The handshake. At the host that opens a connection its SYN waits a round trip for the
  SYN-ACK, which is answered at once; at the other host it is the other way round.
- Direction, where the capture tells it. Data that goes out is taken to be seen at its
  sender: a router that sends it on would have shown by its TTL.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.trace.pcapng import Direction
from testbed.trace.state import (
    ACCEPTS,
    ANSWER_NS,
    HAS_ANSWER,
    HAS_SYN,
    KNOWS,
    S_FIRST,
    SYN_AGAIN_NS,
    SYN_NS,
    TOLD_DIRECTION,
    TOLD_TTL,
)

#: The columns of a side, see state.py.
Side = Sequence[int]

_INITIAL_TTLS = (64, 128, 255)
_FAR = 4  # times as long as the near part of a round trip


class Vantage(enum.Enum):
    """Where a capture was taken, seen from one flow."""

    SENDER = "sender"
    RECEIVER = "receiver"
    MIDDLE = "middle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """A vantage, and the kind of evidence for it, empty if there is none."""

    vantage: Vantage
    source: str = ""


def vantage_of(own: Side, peer: Side) -> Inferred:
    """Infer the vantage from the two sides of a flow; own is the one that sends."""
    for source, infer in (
        ("ttl", _by_ttl),
        ("handshake", _by_handshake),
        ("direction", _by_direction),
    ):
        found = infer(own, peer)
        if found is not Vantage.UNKNOWN:
            return Inferred(vantage=found, source=source)
    return Inferred(vantage=Vantage.UNKNOWN)


def _by_ttl(own: Side, peer: Side) -> Vantage:
    if not peer[S_FIRST]:
        return Vantage.UNKNOWN
    data, acks = own[TOLD_TTL] in _INITIAL_TTLS, peer[TOLD_TTL] in _INITIAL_TTLS
    if data and acks:  # no router between the two hosts
        return Vantage.UNKNOWN
    if not data and not acks:
        return Vantage.MIDDLE
    return Vantage.SENDER if data else Vantage.RECEIVER


def _by_handshake(own: Side, peer: Side) -> Vantage:
    opens, accepts = (peer, own) if own[KNOWS] & ACCEPTS else (own, peer)
    once = (
        opens[SYN_NS] == opens[SYN_AGAIN_NS]
        and accepts[SYN_NS] == accepts[SYN_AGAIN_NS]
    )
    if not (opens[KNOWS] & HAS_SYN and opens[KNOWS] & HAS_ANSWER) or not once:
        return Vantage.UNKNOWN
    forth = accepts[SYN_NS] - opens[SYN_NS]
    back = opens[ANSWER_NS] - accepts[SYN_NS]
    if min(forth, back) < 0 or not max(forth, back):
        return Vantage.UNKNOWN
    if max(forth, back) < _FAR * min(forth, back):
        return Vantage.MIDDLE
    at_opener = forth > back
    return Vantage.SENDER if at_opener == (opens is own) else Vantage.RECEIVER


def _by_direction(own: Side, peer: Side) -> Vantage:
    del peer
    if own[TOLD_DIRECTION] == Direction.OUTGOING:
        return Vantage.SENDER
    if own[TOLD_DIRECTION] == Direction.INCOMING:
        return Vantage.RECEIVER
    return Vantage.UNKNOWN
