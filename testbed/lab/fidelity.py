"""Whether a path is the one that was asked for: what to send over it, and how far what
is seen may be off.

A delay is that of a small UDP packet, less what its own bytes take at the rate. A rate
is the spread of a train of large ones. In exact virtual time nothing but the path takes
time; elsewhere the processor does too, and the bounds are wide: see Bounds.

Read first: Asked, wrongs.
"""

from dataclasses import dataclass
from typing import Any

from testbed.spec.path import Path, towards_receiver, towards_sender
from testbed.spec.qdisc import Qdisc
from testbed.units import NS_PER_S, format_rate

#: Ethernet, IPv4 and UDP: what every packet of the probe has besides its payload.
HEADERS = 14 + 20 + 8
#: Payload of a packet whose delay is measured: the shortest Ethernet frame.
SMALL = 18
_BITS = 8
_LARGEST = 65535 - 20 - 8  # payload of an IPv4 packet of UDP
_MOST_SEGMENTS = 64  # UDP_MAX_SEGMENTS, linux/udp.h
_PACKET_NS = 1_000_000  # what a packet of a train may take at the rate
_TRAIN_NS = NS_PER_S
_REFILL_NS = 10 * NS_PER_S  # of a bucket, after a train
_FEWEST = 2
_ROUNDING_NS = 2  # of each packet's time, in the qdisc


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a time may be off: so many ns, and a share of it.

    fixed_ns, share: of a delay.  spread_share: of a train's spread, and fixed_ns too.
    tight: of a spread, the smaller of the two counts, not their sum.
    packets: of a train.  trains: of which the best counts: what else a host does makes
    some late, and a wrong rate makes all wrong.  probes: packets whose least delay
    counts.  patience_ns: for which one is waited for longer than asked.
    """

    fixed_ns: int
    share: float
    spread_share: float
    tight: bool
    packets: int
    trains: int
    probes: int
    patience_ns: int

    def of_delay(self, asked_ns: int) -> int:
        """Return by how much a delay may be off, in ns."""
        return round(self.fixed_ns + self.share * asked_ns)

    def of_spread(self, asked_ns: int, packets: int) -> int:
        """Return by how much a train's spread may be off, in ns."""
        both = (self.fixed_ns, self.spread_share * asked_ns)
        return round(min(both) if self.tight else sum(both)) + _ROUNDING_NS * packets


#: In virtual time that no work takes: 1 us, and 1 % of the rate.
EXACT = Bounds(
    fixed_ns=1_000,
    share=0,
    spread_share=0.01,
    tight=True,
    packets=16,
    trains=1,
    probes=3,
    patience_ns=100_000_000,
)
#: Where packets take a processor's time: a delay within 5 ms and 10 %, a train's spread
#: within 5 ms, 20 %, and what it takes without a path.
REAL = Bounds(
    fixed_ns=5_000_000,
    share=0.1,
    spread_share=0.2,
    tight=False,
    packets=64,
    trains=5,
    probes=8,
    patience_ns=5_000_000_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    """Packets sent at once to see at which rate they come out.

    lead: how many of them a bucket's burst lets through first.  packets: after them.
    segments: in each packet, of so much payload each, bytes.  gap_ns: what each packet
    takes at the rate.  refill_ns: after which the bucket is as it was.
    """

    lead: int
    packets: int
    segments: int
    payload: int
    gap_ns: int
    refill_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of a path as asked for. delay_ns: of a small packet, its bytes included.

    rate: bit/s.  loss: a share.  train: None where it would take too long.
    """

    name: str
    delay_ns: int
    serial_ns: int
    rate: int
    loss: float
    train: Train | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A path as asked for. queue: packets.  overflows: whether sending more shows it.

    there: towards the receiver.  back: towards the sender.
    """

    there: Way
    back: Way
    queue: int
    overflows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WaySeen:
    """One way of a path as measured.

    delay_ns: the least of all probes; None if none arrived.  spread_ns: from the first
    to the last of so many packets of the train that came after its lead; None if not
    measured, or fewer than two came.  own_ns: what the same train takes the processor,
    without a path; 0 where work takes no time.
    """

    delay_ns: int | None
    spread_ns: int | None
    packets: int
    own_ns: int = 0

    def off_by(self, gap_ns: int) -> int | None:
        """Return how far its spread is from what packets of that gap have, in ns."""
        if self.spread_ns is None:
            return None
        return abs(self.spread_ns - gap_ns * (self.packets - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A path as measured. held: how many packets the queue held; None: not tried."""

    there: WaySeen
    back: WaySeen
    held: int | None


def asked_of(path: Path, bounds: Bounds) -> Asked:
    """Return what a path has to show."""
    there, back = towards_receiver(path), towards_sender(path)
    return Asked(
        there=_way("the receiver", there, path, path.loss, bounds),
        back=_way("the sender", back, path, 0.0, bounds),
        queue=path.queue,
        overflows=(
            bounds.tight
            and path.shaper == "netem"
            and not path.loss
            and path.queue <= _MOST_OVERFLOWED
        ),
    )


#: Packets: a larger queue is read back alone.
_MOST_OVERFLOWED = 2000


def _way(name: str, qdisc: Qdisc, path: Path, loss: float, bounds: Bounds) -> Way:
    delays = [int(each.options.get("delay", 0)) for each in qdisc.chain()]
    serial = sum(
        (SMALL + HEADERS) * _BITS * NS_PER_S // int(each.options["rate"])
        for each in qdisc.chain()
        if each.kind == "netem" and "rate" in each.options
    )
    return Way(
        name=name,
        delay_ns=sum(delays) + serial,
        serial_ns=serial,
        rate=path.rate,
        loss=loss,
        train=train_of(qdisc, path, bounds),
    )


def train_of(qdisc: Qdisc, path: Path, bounds: Bounds) -> Train | None:
    """Return the train that shows a qdisc's rate; None where it would take too long."""
    payload = path.mtu - (HEADERS - 14)
    wire = payload + HEADERS
    fits = path.rate * _PACKET_NS // (_BITS * NS_PER_S) // wire
    segments = max(1, min(fits, _LARGEST // payload, _MOST_SEGMENTS))
    burst = _burst(qdisc)
    if burst:  # tbf cuts up what is larger
        segments = max(1, min(segments, burst // wire))
    gap_ns = segments * wire * _BITS * NS_PER_S // path.rate
    refill_ns = burst * _BITS * NS_PER_S // path.rate
    # tbf's queue is counted in bytes, as so many packets of the MTU.
    room = path.queue // segments if path.shaper == "tbf" else path.queue
    packets = min(bounds.packets, room, _TRAIN_NS // gap_ns)
    if packets < _FEWEST or refill_ns > _REFILL_NS:
        return None
    return Train(
        lead=-(-burst // (segments * wire)) + 2 if burst else 0,
        packets=packets,
        segments=segments,
        payload=payload,
        gap_ns=gap_ns,
        refill_ns=refill_ns,
    )


def _burst(qdisc: Qdisc) -> int:
    return max(int(each.options.get("burst", 0)) for each in qdisc.chain())


def rate_seen(way: Way, seen: WaySeen) -> int | None:
    """Return the rate that a train came out at, bit/s; None if that is not known."""
    if way.train is None or not seen.spread_ns:
        return None
    asked_ns = way.train.gap_ns * (seen.packets - 1)
    return way.rate * asked_ns // seen.spread_ns


def wrongs(asked: Asked, seen: Seen, shown: int, bounds: Bounds) -> tuple[str, ...]:
    """Return in words whatever a path has not as asked for; nothing if all is well.

    shown: the queue's limit by tc, in packets.
    """
    told = [
        *_way_wrongs(asked.there, seen.there, bounds),
        *_way_wrongs(asked.back, seen.back, bounds),
    ]
    if shown != asked.queue:
        told.append(f"the queue's limit is {shown} packets, not {asked.queue}")
    elif seen.held not in (None, asked.queue):
        told.append(f"the queue holds {seen.held} packets, not {asked.queue}")
    return tuple(told)


def _way_wrongs(way: Way, seen: WaySeen, bounds: Bounds) -> list[str]:
    if seen.delay_ns is None:
        return [f"nothing arrives at {way.name}"]
    told = []
    slack = bounds.of_delay(way.delay_ns)
    if abs(seen.delay_ns - way.delay_ns) > slack:
        got, wanted = (each - way.serial_ns for each in (seen.delay_ns, way.delay_ns))
        told.append(
            f"the delay to {way.name} is {_ms(got)}, not {_ms(wanted)} "
            f"(within {_ms(slack)})"
        )
    if way.train is not None and seen.spread_ns is not None:
        asked_ns = way.train.gap_ns * (seen.packets - 1)
        slack = bounds.of_spread(asked_ns, seen.packets) + seen.own_ns
        if (seen.off_by(way.train.gap_ns) or 0) > slack:
            told.append(
                f"the rate to {way.name} is {_rate(rate_seen(way, seen))}, not "
                f"{format_rate(way.rate)}: {seen.packets} packets came within "
                f"{_ms(seen.spread_ns)}, not {_ms(asked_ns)} (within {_ms(slack)})"
            )
    return told


def _rate(bits: int | None) -> str:
    return "beyond measure" if bits is None else f"{bits / 1e6:.6g} Mbit/s"


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.6g} ms"


def describe_path(asked: Asked, seen: Seen, shown: int) -> dict[str, Any]:
    """Return what was asked and measured, for environment.json: ns, bit/s, packets.

    shown: the queue's limit by tc.
    """
    ways = ((asked.there, seen.there), (asked.back, seen.back))
    return {
        **{
            f"to {way.name}": {
                "delay_ns": {"asked": way.delay_ns, "measured": got.delay_ns},
                "of which its own bytes take": way.serial_ns,
                "rate": {"asked": way.rate, "measured": rate_seen(way, got)},
                "the train took the processor": got.own_ns,
            }
            for way, got in ways
        },
        "queue": {"asked": asked.queue, "shown": shown, "held": seen.held},
    }
