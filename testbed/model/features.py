"""Which rules a kernel sends by: interchangeable; docs/model.md says whence.

A kernel is a set of features, never a version that code asks about: features_of looks a
kernel up once, and a test or a user may put any other set together. Read first:
Features, features_of.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from testbed.errors import SpecError
from testbed.model.packet import KMALLOC_OVERHEAD, SKB_OVERHEAD
from testbed.model.settings import LATE_TX_SWITCHES
from testbed.spec.experiment import Variant


class Sizing(enum.Enum):
    """What sets the size of a TSO packet, and where."""

    SENDMSG = "sized at sendmsg() time, half a millisecond of the pacing rate"
    XMIT_V1 = "sized when sent; what is deferred waits for the goal of sendmsg()"
    XMIT = "sized when sent: a millisecond of the pacing rate"
    XMIT_MIN_RTT = "the same, and more the shorter the min_rtt"


class Defer(enum.Enum):
    """How far away the next ACK may be for a packet to wait for it."""

    HALF_RTT = "half an srtt since the oldest unacknowledged packet was sent"
    ONE_MS = "min(1 ms, srtt / 2) from now"


class Tsq(enum.Enum):
    """How limit_output_bytes and a millisecond of the pacing rate make TSQ's limit."""

    SENDMSG = "the larger of limit_output_bytes and 1 ms, as before 3.19"
    MIN = "2 packets or 1 ms, at most limit_output_bytes"
    MAX = "the larger of 2 packets, 1 ms and limit_output_bytes"
    UNPACED_ONLY = "2 packets or 1 ms; limit_output_bytes for unpaced flows only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The rules of one kernel.

    grow: a short packet is filled up from the next skb.  stretch_acks: beyond slow
    start, an ACK counts for all the segments it acknowledges, not for one.
    short_queue_passes: TSQ keeps nothing while one packet or none is unacknowledged.
    skb_overhead: bytes that an skb is charged beside its payload.
    """

    sizing: Sizing = Sizing.XMIT_MIN_RTT
    grow: bool = True
    defer: Defer = Defer.ONE_MS
    tsq: Tsq = Tsq.UNPACED_ONLY
    short_queue_passes: bool = True
    stretch_acks: bool = True
    skb_overhead: int = SKB_OVERHEAD


#: Features by the kernel's name in kernels.yaml.
KERNELS: Mapping[str, Features] = MappingProxyType(
    # The receiver is 6.12's for every kernel; it shows only where its window is short.
    {
        "6.12": Features(),
        "6.1": Features(grow=False, skb_overhead=KMALLOC_OVERHEAD),
    }
)
_SENDMSG_AUTOSIZE = "tcp.sendmsg_autosize"
_ON = ("1", "Y", "y")
_TSQ_RULE = "tcp_output.tsq_rule"
#: Of tcp-tsq-rule.patch: as in v3.19, and as the patch of 2019 wanted it.
_TSQ_RULES = {"1": Tsq.MIN, "2": Tsq.MAX}


def features_of(variant: Variant) -> Features:
    """Return the rules of a variant's kernel with its switches thrown.

    Raises SpecError for a kernel or a switch the model does not know.
    """
    if variant.kernel not in KERNELS:
        known = ", ".join(KERNELS)
        raise SpecError(f"no model of kernel {variant.kernel!r}; modelled: {known}")
    known_switches = {_SENDMSG_AUTOSIZE, _TSQ_RULE, *LATE_TX_SWITCHES}
    unknown = sorted(set(variant.switches) - known_switches)
    if unknown:
        raise SpecError(f"the model has no switch {unknown[0]!r}")
    features = KERNELS[variant.kernel]
    if tsq := _TSQ_RULES.get(variant.switches.get(_TSQ_RULE, "0")):
        features = replace(features, tsq=tsq, short_queue_passes=False)
    if variant.switches.get(_SENDMSG_AUTOSIZE, "0") in _ON:
        return replace(features, sizing=Sizing.SENDMSG, grow=False, tsq=Tsq.SENDMSG)
    return features
