"""A device that completes transmission late, as our veth-late-tx.patch makes one do."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from testbed.spec.experiment import Variant
from testbed.units import NS_PER_S

#: Of veth-late-tx.patch, with what they are by default.
LATE_TX_SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        "veth.late_tx_device": "",
        "veth.late_tx_ms": "100",
        "veth.late_tx_ring": "16",
    }
)
_SENDERS_DEVICE = "h1-eth0"  # Mininet's name for it


@dataclass(frozen=True, slots=True, kw_only=True)
class LateTx:
    """How a device completes late: a full ring at once, another after delay ns."""

    delay: int
    ring: int


def late_tx_of(variant: Variant) -> LateTx | None:
    """Return how late the sender's device completes, None for promptly."""
    switches = {**LATE_TX_SWITCHES, **variant.switches}
    if switches["veth.late_tx_device"] != _SENDERS_DEVICE:
        return None
    return LateTx(
        delay=int(switches["veth.late_tx_ms"]) * NS_PER_S // 1000,
        ring=int(switches["veth.late_tx_ring"]),
    )
