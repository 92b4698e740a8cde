"""What the model needs to know of a variant, checked: anything else is a SpecError."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from testbed.errors import SpecError
from testbed.model.ecn import Ecn
from testbed.model.late_tx import late_tx_of
from testbed.model.packet import ETHERNET_HEADER, IP_HEADERS, TCP_HEADER
from testbed.spec.experiment import Variant
from testbed.spec.path import needs_netem
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings
from testbed.units import NS_PER_S

#: MAX_TCP_HEADER where no tunnel and no wireless is configured: 64 * ceil(160 / 64).
MAX_TCP_HEADER = 192
_TCP_HEADER_ALONE = 20
_INT_MAX = (1 << 31) - 1
#: The sysctls the model honours: the defaults of 6.12, and the least and the most that
#: its kernel takes: net/ipv4/sysctl_net_ipv4.c.
_SYSCTLS: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "net.ipv4.tcp_limit_output_bytes": ("1048576", 0, _INT_MAX),
        "net.ipv4.tcp_min_tso_segs": ("2", 1, 255),
        "net.ipv4.tcp_tso_win_divisor": ("3", 0, 255),
        "net.ipv4.tcp_tso_rtt_log": ("9", 0, 31),
        "net.ipv4.tcp_pacing_ss_ratio": ("200", 0, 1000),
        "net.ipv4.tcp_pacing_ca_ratio": ("120", 0, 1000),
        "net.ipv4.tcp_autocorking": ("1", 0, 1),
        "net.ipv4.tcp_ecn": ("2", 0, 2),
        "net.ipv4.tcp_wmem": ("4096 16384 4194304", 1, _INT_MAX),
        "net.ipv4.tcp_rmem": ("4096 131072 6291456", 2304, _INT_MAX),
    }
)
_GSO_MAX_SIZE = 65536
_GSO_MAX_SEGS = 65535
CONGESTION_CONTROLS = ("cubic", "reno", "dctcp")
_FQ_OPTIONS = {"flow_limit"}
_RTO_MIN = NS_PER_S // 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The sender's limits: sysctls by their names, and its device's.

    mss: bytes.  gso_max_size: sk_gso_max_size, bytes.  max_pacing_rate: bytes/s.
    """

    mss: int
    gso_max_size: int
    gso_max_segs: int
    limit_output_bytes: int
    min_tso_segs: int
    tso_win_divisor: int
    tso_rtt_log: int
    pacing_ss_ratio: int
    pacing_ca_ratio: int
    autocorking: bool
    wmem: tuple[int, ...]
    max_pacing_rate: int | None


def tuning_of(variant: Variant) -> Tuning:
    """Return the limits a variant sets at its sender."""
    sysctls = sysctls_of(variant.sender)
    family = variant.workload.family
    sizes = {**variant.path.link_sizes, **variant.sender.link_sizes}
    pacing_rate = variant.workload.pacing_rate
    return Tuning(
        mss=mss_of(variant),
        gso_max_size=_gso_max_size(sizes, family) - (MAX_TCP_HEADER + 1),
        gso_max_segs=sizes.get("gso_max_segs", _GSO_MAX_SEGS),
        limit_output_bytes=sysctls["tcp_limit_output_bytes"][0],
        min_tso_segs=sysctls["tcp_min_tso_segs"][0],
        tso_win_divisor=sysctls["tcp_tso_win_divisor"][0],
        tso_rtt_log=sysctls["tcp_tso_rtt_log"][0],
        pacing_ss_ratio=sysctls["tcp_pacing_ss_ratio"][0],
        pacing_ca_ratio=sysctls["tcp_pacing_ca_ratio"][0],
        autocorking=bool(sysctls["tcp_autocorking"][0]),
        wmem=sysctls["tcp_wmem"],
        max_pacing_rate=None if pacing_rate is None else pacing_rate // 8,
    )


def ecn_of(variant: Variant) -> Ecn:
    """Return what the two hosts of a variant think of ECN."""
    return Ecn(
        sender=sysctls_of(variant.sender)["tcp_ecn"][0],
        receiver=sysctls_of(variant.receiver)["tcp_ecn"][0],
        needed=variant.workload.congestion == "dctcp",
    )


def mss_of(variant: Variant) -> int:
    """Return the payload bytes of a full segment."""
    return variant.path.mtu - IP_HEADERS[variant.workload.family] - TCP_HEADER


def mss_option_of(variant: Variant) -> int:
    """Return the MSS that the SYNs announce."""
    return variant.path.mtu - IP_HEADERS[variant.workload.family] - _TCP_HEADER_ALONE


def sysctls_of(host: HostSettings) -> dict[str, tuple[int, ...]]:
    """Return the sysctls the model honours, by their last name, as numbers."""
    unknown = sorted(set(host.sysctls) - set(_SYSCTLS))
    if unknown:
        raise SpecError(f"the model does not know {unknown[0]}")
    return {
        name.rsplit(".", 1)[1]: _numbers(name, host.sysctls.get(name, default))
        for name, (default, _least, _most) in _SYSCTLS.items()
    }


def _numbers(name: str, text: str) -> tuple[int, ...]:
    default, least, most = _SYSCTLS[name]
    words, count = text.split(), len(default.split())
    numbers = tuple(int(word) for word in words if word.isdecimal())
    if len(numbers) != len(words) or len(words) != count:
        raise SpecError(f"{name} is {count} whole numbers, not {text!r}")
    if not all(least <= number <= most for number in numbers):
        raise SpecError(f"{name} is from {least} to {most}, not {text!r}")
    return numbers


def check(variant: Variant) -> None:
    """Raise SpecError for a scenario that the model does not reach."""
    path = variant.path
    wanted = (
        (needs_netem(path), "a path without delay"),
        (
            variant.workload.is_one_stream,
            "many flows, or transactions: one stream only",
        ),
        (
            variant.workload.driver != "iperf3",
            "what iperf3 writes before its data",
        ),
        (
            path.shaper != "tbf" or _largest_packet(variant) <= path.burst,
            "a tbf that segments packets larger than its burst",
        ),
        (_knows(variant.sender.qdisc), "the sender's qdisc, or an option of it"),
        (variant.receiver.qdisc is None, "a qdisc at the receiver"),
        (
            variant.workload.congestion in CONGESTION_CONTROLS,
            f"the congestion control {variant.workload.congestion}",
        ),
        (
            all(host.offloads.get(name, True) for host, name in _offloads(variant)),
            "an offload that is switched off",
        ),
        (
            not variant.switches.get("veth.late_tx_device") or late_tx_of(variant),
            "late completion elsewhere than at the sender",
        ),
        (
            _is_in_time(variant),
            "completion so late that the persist timer sends past TSQ",
        ),
    )
    for reached, what in wanted:
        if not reached:
            raise SpecError(f"the model does not reach {what}")


def _largest_packet(variant: Variant) -> int:
    """Return the bytes a qdisc may count for one packet: those of every segment."""
    tuning = tuning_of(variant)
    segments = -(-tuning.gso_max_size // tuning.mss)
    headers = variant.path.mtu - tuning.mss + ETHERNET_HEADER
    return tuning.gso_max_size + segments * headers


def _is_in_time(variant: Variant) -> bool:
    """Tell whether late completion comes before the persist timer sends past TSQ."""
    # With all acknowledged, after a round trip, and more to send, tcp_write_xmit() has
    # it started: RTO, that is at least a round trip and 200 ms, later.
    late = late_tx_of(variant)
    return late is None or late.delay <= 2 * variant.path.rtt + _RTO_MIN


def _knows(qdisc: Qdisc | None) -> bool:
    return qdisc is None or (qdisc.kind == "fq" and set(qdisc.options) <= _FQ_OPTIONS)


def _offloads(variant: Variant) -> tuple[tuple[HostSettings, str], ...]:
    return (
        (variant.sender, "tcp-segmentation-offload"),
        (variant.sender, "generic-segmentation-offload"),
        (variant.receiver, "generic-receive-offload"),
    )


def _gso_max_size(sizes: Mapping[str, int], family: int) -> int:
    """Return what the device takes in one packet, less the headers it may need.

    netif_set_gso_max_size() also sets that of IPv4, up to 64 KB: net/core/dev.c.
    """
    size = sizes.get("gso_max_size", _GSO_MAX_SIZE)
    if family == 4:  # noqa: PLR2004
        size = sizes.get("gso_ipv4_max_size", min(size, _GSO_MAX_SIZE))
    if size <= MAX_TCP_HEADER:
        raise SpecError(f"a gso_max_size of {size} has no room for TCP's headers")
    return size
