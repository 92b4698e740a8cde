"""The path between the hosts: what the router does to packets, each way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from testbed.errors import SpecError
from testbed.spec.qdisc import Number, Qdisc
from testbed.spec.settings import check_link_sizes, parse_link_sizes
from testbed.units import NS_PER_S, parse_rate, parse_ratio, parse_size, parse_time

SHAPERS = ("netem", "tbf", "htb")
QUEUES = ("pfifo", "fq_codel")
#: What can be built, in base units. Without a rate a virtual second takes a minute of
#: wall time; an IPv6 link has an MTU of at least 1280 (RFC 8200, section 5).
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "rtt": (0, 10 * NS_PER_S),
    "rate": (10_000, 10**13),
    "queue": (1, (1 << 32) - 1),
    "loss": (0, 0.9),
    "mtu": (1280, 65535),
    "burst": (1500, 1 << 30),
    "ce_threshold": (1_000, 10 * NS_PER_S),
}

_LEGACY_MAX_SIZE = 65536  # GSO_LEGACY_MAX_SIZE: beyond it lies BIG TCP
_HOP_BY_HOP = 8  # struct hop_jumbo_hdr, net/ipv6.h


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A path of one bottleneck, built on the two ports of a router.

    rtt: ns, half of it each way.  rate: bit/s, both ways.  queue: packets (a GSO packet
    counts as one) at the port towards the receiver.  loss: share of packets lost at
    random towards the receiver.  mtu: bytes, of every link.  shaper: what holds the
    rate; tbf and htb keep their queue, of kind `discipline`, behind a netem that only
    delays (none if there is nothing for it to do).  burst: bytes, for tbf and htb.
    ce_threshold: ns; what waited longer in fq_codel is marked CE if it is ECN-capable;
    None marks nothing.  link_sizes: of every interface, the router's too (which cuts up
    what is larger than its own); a host's own count more.
    """

    rtt: int
    rate: int
    queue: int
    loss: float = 0.0
    mtu: int = 1500
    shaper: str = "netem"
    discipline: str = "pfifo"
    burst: int = 256 * 1024
    ce_threshold: int | None = None
    link_sizes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_link_sizes(self.link_sizes)
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise SpecError(f"{name} is from {least} to {most} here")
        if self.shaper not in SHAPERS:
            raise SpecError(f"{self.shaper!r} shapes nothing: {', '.join(SHAPERS)}")
        if self.discipline not in QUEUES:
            raise SpecError(f"{self.discipline!r} is no queue: {', '.join(QUEUES)}")
        if self.shaper == "netem" and self.discipline != "pfifo":
            raise SpecError(f"{self.discipline} needs the shaper htb")
        if self.shaper == "tbf" and self.discipline != "pfifo":
            raise SpecError("tbf has a queue of its own; use htb with fq_codel")
        if self.ce_threshold is not None and self.discipline != "fq_codel":
            raise SpecError("ce_threshold needs the shaper htb with fq_codel")


def parse_path(values: Mapping[str, object]) -> Path:
    """Return the path that YAML or `mn --topo` arguments describe; null is absent."""
    values = {name: value for name, value in values.items() if value is not None}
    parsers: dict[str, Callable[[object], Any]] = {
        "rtt": parse_time,
        "rate": parse_rate,
        "queue": _count,
        "loss": parse_ratio,
        "mtu": _count,
        "shaper": str,
        "discipline": str,
        "burst": parse_size,
        "ce_threshold": parse_time,
        "link_sizes": _link_sizes,
    }
    unknown = sorted(set(values) - set(parsers))
    if unknown:
        raise SpecError(f"a path has no {unknown[0]!r}; it has: {', '.join(parsers)}")
    missing = sorted({"rtt", "rate", "queue"} - set(values))
    if missing:
        raise SpecError(f"a path needs {', '.join(missing)}")
    return Path(**{name: parsers[name](value) for name, value in values.items()})


def _link_sizes(value: object) -> dict[str, int]:
    if isinstance(value, Mapping):
        return parse_link_sizes(value)
    raise SpecError(f"{value!r} is no mapping of link sizes")


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise SpecError(f"{value!r} is not a count; write a whole number above 0")


def router_mtu(path: Path) -> int:
    """Return the MTU of the router's ports, in bytes: the path's, as far as seen.

    A packet of BIG TCP bears a hop-by-hop header that never reaches a wire, but that
    ip6_pkt_too_big() counts with each segment (skb_gso_network_seglen(), Linux 6.12): a
    router with the hosts' MTU answers it with Packet Too Big.
    """
    big = any(size > _LEGACY_MAX_SIZE for size in path.link_sizes.values())
    return path.mtu + (_HOP_BY_HOP if big else 0)


def needs_netem(path: Path) -> bool:
    """Tell whether anything is there for netem to do: a host's kernel may have none."""
    return path.shaper == "netem" or path.rtt > 0 or path.loss > 0


def towards_receiver(path: Path) -> Qdisc:
    """Return the qdisc of the router's port to the receiver: the bottleneck."""
    if not needs_netem(path):
        return _shaper(path)
    delay: dict[str, Number] = {"delay": path.rtt // 2}
    if path.loss:
        delay["loss"] = path.loss
    if path.shaper == "netem":
        delay |= {"rate": path.rate, "limit": path.queue}
        return Qdisc(kind="netem", options=delay)
    return Qdisc(kind="netem", options=delay | {"limit": _FLIGHT}, child=_shaper(path))


def towards_sender(path: Path) -> Qdisc:
    """Return the qdisc of the router's port to the sender: delay, rate, no loss."""
    if not needs_netem(path):
        acks = replace(path, discipline="pfifo", ce_threshold=None, queue=_BACKLOG)
        return _shaper(acks)
    back: dict[str, Number] = {"delay": path.rtt - path.rtt // 2, "rate": path.rate}
    return Qdisc(kind="netem", options=back | {"limit": _FLIGHT})


#: Packets a delay line may hold: more than any window here, so it never drops.
_FLIGHT = 1_000_000
#: The same for a shaper, whose limit in bytes has to fit 32 bits with an MTU of 64 KB.
_BACKLOG = 50_000


def _shaper(path: Path) -> Qdisc:
    if path.shaper == "tbf":
        limit = path.queue * path.mtu
        return Qdisc(
            kind="tbf",
            options={"rate": path.rate, "burst": path.burst, "limit": limit},
        )
    queue: dict[str, Number] = {"limit": path.queue}
    if path.ce_threshold is not None:
        queue["ce_threshold"] = path.ce_threshold
    return Qdisc(
        kind="htb",
        options={"rate": path.rate, "burst": path.burst, "cburst": path.burst},
        child=Qdisc(kind=path.discipline, options=queue),
    )
