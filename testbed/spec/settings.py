"""What is set on a host before traffic: sysctls, offloads, sizes, and its qdisc."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.errors import SpecError
from testbed.spec.qdisc import Qdisc
from testbed.units import parse_size

_GSO_MAX_SEGS = 65535  # include/linux/netdevice.h, as the next
_GSO_MAX_SIZE = 8 * _GSO_MAX_SEGS
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

    def __post_init__(self) -> None:
        check_link_sizes(self.link_sizes)


def check_link_sizes(sizes: Mapping[str, int]) -> None:
    """Raise SpecError for a size that no interface takes."""
    for name, value in sizes.items():
        most = _GSO_MAX_SEGS if name == "gso_max_segs" else _GSO_MAX_SIZE
        if not 0 < value <= most:
            raise SpecError(f"{name} is from 1 to {most} here, not {value}")


def parse_link_sizes(values: Mapping[str, object]) -> dict[str, int]:
    """Return link sizes, in bytes or segments; their names are of LINK_SIZES."""
    for name in values:
        if name not in LINK_SIZES:
            raise SpecError(f"{name!r} is no link size; known: {', '.join(LINK_SIZES)}")
    return {name: parse_size(value) for name, value in values.items()}
