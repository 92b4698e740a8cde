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
from testbed.model.late_tx import LATE_TX_SWITCHES
from testbed.model.packet import KMALLOC_OVERHEAD, SKB_OVERHEAD
from testbed.spec.experiment import Variant


class Sizing(enum.Enum):
    """What sets the size of a TSO packet, and where."""

    SENDMSG = "sized at sendmsg() time, half a millisecond of the pacing rate"
    XMIT = "sized when sent: a millisecond of the pacing rate"
    XMIT_MIN_RTT = "the same, and more the shorter the min_rtt"


class Defer(enum.Enum):
    """How far away the next ACK may be for a packet to wait for it."""

    ANY = "however far"
    HALF_RTT = "half an srtt since the oldest unacknowledged packet was sent"
    ONE_MS = "min(1 ms, srtt / 2) from now"


class Tsq(enum.Enum):
    """How limit_output_bytes and a millisecond of the pacing rate make TSQ's limit."""

    SENDMSG = "the larger of limit_output_bytes and 1 ms, as before 3.19"
    MIN = "2 packets or 1 ms, at most limit_output_bytes"
    MAX = "the larger of 2 packets, 1 ms and limit_output_bytes"
    UNPACED_ONLY = "2 packets or 1 ms; limit_output_bytes for unpaced flows only"


class Counting(enum.Enum):
    """What an ACK counts for, beyond slow start."""

    SEGMENTS = "all the segments it acknowledges"
    ACKS = "one segment, however many it acknowledges"
    ACK_RATIO = "one of as few as it takes, by what ACKs seem to acknowledge; CUBIC's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The rules of one kernel.

    grow: a short packet is filled up from the next skb.  defer_unsized: a packet waits
    for room for all that an skb may hold, not for its own size.  short_queue_passes:
    TSQ keeps nothing while one packet or none is unacknowledged.  skb_overhead: bytes
    that an skb is charged beside its payload.
    """

    sizing: Sizing = Sizing.XMIT_MIN_RTT
    grow: bool = True
    defer: Defer = Defer.ONE_MS
    defer_unsized: bool = False
    tsq: Tsq = Tsq.UNPACED_ONLY
    short_queue_passes: bool = True
    counting: Counting = Counting.SEGMENTS
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
_DEFER_UNSIZED = "tcp_output.defer_unsized"
_DEFER_FAR = "tcp_output.defer_far"
_COUNT_ACKS = "tcp_cubic.count_acks"
_SWITCHES = (_SENDMSG_AUTOSIZE, _DEFER_UNSIZED, _DEFER_FAR, _COUNT_ACKS)
_ON = ("1", "Y", "y")
_TSQ_RULE = "tcp_output.tsq_rule"
#: Of tcp-tsq-rule.patch: as in v3.19, and as the patch of 2019 wanted it.
_TSQ_RULES = {"1": Tsq.MIN, "2": Tsq.MAX}
_COUNTING = MappingProxyType(
    {"0": Counting.SEGMENTS, "1": Counting.ACKS, "2": Counting.ACK_RATIO}
)


def features_of(variant: Variant) -> Features:
    """Return the rules of a variant's kernel with its switches thrown.

    Raises SpecError for a kernel or a switch the model does not know.
    """
    if variant.kernel not in KERNELS:
        known = ", ".join(KERNELS)
        raise SpecError(f"no model of kernel {variant.kernel!r}; modelled: {known}")
    known_switches = {*_SWITCHES, _TSQ_RULE, *LATE_TX_SWITCHES}
    unknown = sorted(set(variant.switches) - known_switches)
    if unknown:
        raise SpecError(f"the model has no switch {unknown[0]!r}")
    features = replace(
        KERNELS[variant.kernel],
        defer_unsized=_is_on(variant, _DEFER_UNSIZED),
        counting=_counting(variant),
    )
    if tsq := _TSQ_RULES.get(variant.switches.get(_TSQ_RULE, "0")):
        features = replace(features, tsq=tsq, short_queue_passes=False)
    if _is_on(variant, _DEFER_FAR):
        features = replace(features, defer=Defer.ANY)
    if _is_on(variant, _SENDMSG_AUTOSIZE):
        return replace(features, sizing=Sizing.SENDMSG, grow=False, tsq=Tsq.SENDMSG)
    return features


def _is_on(variant: Variant, switch: str) -> bool:
    return variant.switches.get(switch, "0") in _ON


def _counting(variant: Variant) -> Counting:
    value = variant.switches.get(_COUNT_ACKS, "0")
    if value not in _COUNTING:
        known = ", ".join(_COUNTING)
        raise SpecError(f"the model has no {_COUNT_ACKS} {value!r}; it has: {known}")
    if variant.workload.congestion != "cubic":  # it is CUBIC's switch alone
        return Counting.SEGMENTS
    return _COUNTING[value]
