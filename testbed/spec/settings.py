"""What is set on a host before traffic: sysctls, offloads, sizes, and its qdisc."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.errors import SpecError
from testbed.spec.qdisc import Qdisc
from testbed.units import parse_size

#: Sizes `ip link set` takes, and the same names in `ip -d -j link show`.
LINK_SIZES = (
    "gso_max_size",
    "gso_max_segs",
    "gro_max_size",
    "gso_ipv4_max_size",
    "gro_ipv4_max_size",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """The settings of one host and of its one interface.

    sysctls: below net., as `sysctl net.ipv4.tcp_...` names them; text values.
    offloads: names as `ethtool -k` shows them.  link_sizes: bytes or segments, names of
    LINK_SIZES.  qdisc: None leaves the device's default (noqueue on veth).
    """

    sysctls: Mapping[str, str] = field(default_factory=dict)
    offloads: Mapping[str, bool] = field(default_factory=dict)
    link_sizes: Mapping[str, int] = field(default_factory=dict)
    qdisc: Qdisc | None = None


def parse_link_sizes(values: Mapping[str, object]) -> dict[str, int]:
    """Return link sizes, in bytes or segments; their names are of LINK_SIZES."""
    for name in values:
        if name not in LINK_SIZES:
            raise SpecError(f"{name!r} is no link size; known: {', '.join(LINK_SIZES)}")
    return {name: parse_size(value) for name, value in values.items()}
