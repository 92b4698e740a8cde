"""What the hosts do: streams or transactions, with netperf's meaning of each option."""

from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.spec.drivers import check_driver
from testbed.units import NS_PER_S

#: The port that the first flow is known by. No other flow has it, so that the kernel
#: can be asked about one flow alone.
PORT = 5001
_TCP_CA_NAME_MAX = 16  # include/net/tcp.h
#: In base units. The kernel doubles a socket buffer in an int: net/core/sock.c.
_BOUNDS = {
    "bytes": (1, 1 << 50),
    "duration": (1, 3600 * NS_PER_S),
    "send_size": (1, 1 << 30),
    "sndbuf": (4096, (1 << 30) - 1),
    "rcvbuf": (4096, (1 << 30) - 1),
    "pacing_rate": (8, 10**13),
    "sample_every": (10_000, 3600 * NS_PER_S),
    "flows": (1, 4096),
    "stagger": (0, 60 * NS_PER_S),
    "request_size": (1, 1 << 30),
    "response_size": (1, 1 << 30),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowGroup:
    """Flows that are alike. congestion, pacing_rate: see Workload."""

    flows: int
    congestion: str
    pacing_rate: int | None

    def __post_init__(self) -> None:
        _check_bounds(self, ("flows", "pacing_rate"))
        if not 0 < len(self.congestion) < _TCP_CA_NAME_MAX:
            raise SpecError(f"{self.congestion!r} is no congestion control")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """TCP flows from the sender; a flow's clock stops when the peer has all of it.

    bytes or duration (ns): when a flow stops sending; exactly one is set (netperf
    -l -BYTES, -l SECONDS).  send_size: bytes a send() call (-m).  sndbuf, rcvbuf:
    SO_SNDBUF and SO_RCVBUF in bytes; None leaves autotuning on (-s, -S).  congestion:
    the congestion control of both ends (-K).  pacing_rate: SO_MAX_PACING_RATE of a flow
    in bit/s (-q takes bytes/s).  family: 4 or 6.  sample_every: ns between two TCP_INFO
    samples of the sender.

    flows: how many, each with a connection of its own (super_netperf).  stagger: ns
    between the starts of one flow and the next.  groups: flows that differ in
    congestion and pacing_rate, in the order they start; empty where all are alike.
    request_size, response_size: bytes of a transaction (TCP_RR -r), of which each flow
    has one outstanding; None for a stream.  driver: who opens the sockets and sends:
    "testbed", or the program iperf3 or netperf, which takes part in what it is able to
    (see drivers.py), and whose control connection the counters then include.
    """

    bytes: int | None
    duration: int | None
    send_size: int
    sndbuf: int | None
    rcvbuf: int | None
    congestion: str
    pacing_rate: int | None
    family: int
    sample_every: int
    flows: int = 1
    stagger: int = 0
    groups: tuple[FlowGroup, ...] = ()
    request_size: int | None = None
    response_size: int | None = None
    driver: str = "testbed"

    def __post_init__(self) -> None:
        if (self.bytes is None) == (self.duration is None):
            raise SpecError("a flow has either bytes or a duration")
        if (self.request_size is None) != (self.response_size is None):
            raise SpecError("a transaction has a request_size and a response_size")
        if self.request_size is not None and self.duration is None:
            raise SpecError("transactions go on for a duration, not for bytes")
        if self.groups and self.flows != sum(each.flows for each in self.groups):
            raise SpecError("groups say how many flows there are; leave flows out")
        _check_bounds(self, tuple(_BOUNDS))
        if not 0 < len(self.congestion) < _TCP_CA_NAME_MAX:
            raise SpecError(f"{self.congestion!r} is no congestion control")
        if self.family not in (4, 6):
            raise SpecError(f"family is 4 or 6 (IPv4, IPv6), not {self.family}")
        check_driver(self)

    def each_group(self) -> tuple[FlowGroup, ...]:
        """Return the groups of flows, of which there is one where all are alike."""
        own = FlowGroup(
            flows=self.flows, congestion=self.congestion, pacing_rate=self.pacing_rate
        )
        return self.groups or (own,)

    def each_flow(self) -> tuple[tuple[FlowGroup, int], ...]:
        """Return each flow's group and the port it is known by, in starting order.

        Our own flows of the n-th group, from 1, share the port PORT + n.
        """
        flows = [
            (group, PORT + number)
            for number, group in enumerate(self.each_group(), start=1)
            for _flow in range(group.flows)
        ]
        if self.driver != "testbed":
            return tuple((group, PORT + at) for at, (group, _) in enumerate(flows))
        return ((flows[0][0], PORT), *flows[1:])

    @property
    def known_by(self) -> str:
        """Tell which of a flow's ports each_flow() gives: "dport", or "sport".

        iperf3's flows all go to one port, where its control connection goes too.
        """
        return "sport" if self.driver == "iperf3" else "dport"

    @property
    def is_one_stream(self) -> bool:
        """Tell whether all there is is a single stream."""
        return self.flows == 1 and self.request_size is None


def _check_bounds(record: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(record, name)
        least, most = _BOUNDS[name]
        if value is not None and not least <= value <= most:
            raise SpecError(f"{name} is from {least} to {most} here")
