"""What the hosts do: one bulk stream, with the meaning netperf's options have."""

from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.units import NS_PER_S

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
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One TCP stream from the sender; the clock stops when the peer has it all.

    bytes or duration (ns): when to stop sending; exactly one is set (netperf -l -BYTES,
    -l SECONDS).  send_size: bytes a send() call (-m).  sndbuf, rcvbuf: SO_SNDBUF and
    SO_RCVBUF in bytes; None leaves autotuning on (-s, -S).  congestion: the congestion
    control of both ends (-K).  pacing_rate: SO_MAX_PACING_RATE in bit/s (-q takes
    bytes/s).  family: 4 or 6.  sample_every: ns between two TCP_INFO samples of the
    sender.
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

    def __post_init__(self) -> None:
        if (self.bytes is None) == (self.duration is None):
            raise SpecError("a stream has either bytes or a duration")
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise SpecError(f"{name} is from {least} to {most} here")
        if not 0 < len(self.congestion) < _TCP_CA_NAME_MAX:
            raise SpecError(f"{self.congestion!r} is no congestion control")
        if self.family not in (4, 6):
            raise SpecError(f"family is 4 or 6 (IPv4, IPv6), not {self.family}")
