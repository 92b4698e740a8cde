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

import numpy as np
from numpy.typing import NDArray

from testbed.trace.jit import Table
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

_INITIAL_TTLS = (64, 128, 255)
_FAR = 4  # times as long as the near part of a round trip

Flags = NDArray[np.bool_]


class Vantage(enum.Enum):
    """Where a capture was taken, seen from one flow."""

    SENDER = "sender"
    RECEIVER = "receiver"
    MIDDLE = "middle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The vantage of each flow, and the kind of evidence, empty if there is none."""

    vantages: Sequence[Vantage]
    sources: Sequence[str]


_VANTAGES = tuple(Vantage)
_SENDER, _RECEIVER, _MIDDLE, _UNKNOWN = range(len(_VANTAGES))


def infer_vantages(own: Table, peer: Table) -> Inferred:
    """Infer the vantage of each flow from its two sides; own are those that send.

    A row a side, see state.py.
    """
    found = np.full(len(own), _UNKNOWN)
    source = np.zeros(len(own), np.int64)
    for number, infer in enumerate((_by_ttl, _by_handshake, _by_direction), start=1):
        told = np.where(found == _UNKNOWN, infer(own, peer), _UNKNOWN)
        source[told != _UNKNOWN] = number
        found = np.where(told == _UNKNOWN, found, told)
    sources = ("", "ttl", "handshake", "direction")
    return Inferred(
        vantages=[_VANTAGES[each] for each in found.tolist()],
        sources=[sources[each] for each in source.tolist()],
    )


def _by_ttl(own: Table, peer: Table) -> Table:
    data, acks = (np.isin(side[:, TOLD_TTL], _INITIAL_TTLS) for side in (own, peer))
    # With no router between the two hosts it does not tell, nor without the peer.
    tells = (peer[:, S_FIRST] != 0) & ~(data & acks)
    return _chosen(tells, data | acks, sender=data)


def _by_handshake(own: Table, peer: Table) -> Table:
    accepted = own[:, KNOWS] & ACCEPTS != 0
    opens = np.where(accepted[:, None], peer, own)
    accepts = np.where(accepted[:, None], own, peer)
    begins = opens[:, KNOWS]
    known = (begins & HAS_SYN != 0) & (begins & HAS_ANSWER != 0)
    once = _sent_once(opens) & _sent_once(accepts)
    forth = accepts[:, SYN_NS] - opens[:, SYN_NS]
    back = opens[:, ANSWER_NS] - accepts[:, SYN_NS]
    near, far = np.minimum(forth, back), np.maximum(forth, back)
    tells = known & once & (near >= 0) & (far > 0)
    return _chosen(tells, far >= _FAR * near, sender=(forth > back) != accepted)


def _sent_once(side: Table) -> Flags:
    """Say of which sides there was no second SYN."""
    once: Flags = side[:, SYN_NS] == side[:, SYN_AGAIN_NS]
    return once


def _by_direction(own: Table, peer: Table) -> Table:
    del peer
    told = own[:, TOLD_DIRECTION]
    out = told == Direction.OUTGOING
    return _chosen(out | (told == Direction.INCOMING), out | True, sender=out)


def _chosen(tells: Flags, at_a_host: Flags, *, sender: Flags) -> Table:
    """Return the vantages: unknown where nothing tells, between where at no host."""
    at = np.where(sender, _SENDER, _RECEIVER)
    return np.where(tells, np.where(at_a_host, at, _MIDDLE), _UNKNOWN)
