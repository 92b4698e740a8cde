"""What no trace shows and a replay has to assume, tried out. See World, choices, Trial.

A world is everything about a sender but its policy: the same for all policies, and each
policy is judged in the world that suits it best.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from testbed.errors import SpecError
from testbed.model.congestion import CongestionControl
from testbed.model.ecn import WITHOUT_ECN
from testbed.model.observed import Stretch
from testbed.model.output import Pacing
from testbed.model.policies import Policy
from testbed.model.replay import Flight, Replay, Unseen
from testbed.model.sender import Setup, congestion_of
from testbed.model.settings import MAX_TCP_HEADER, Tuning
from testbed.spec.workload import Workload
from testbed.trace.causes import Cause
from testbed.trace.trace import Column, Trace
from testbed.units import NS_PER_S

_FLIGHT = "flight"
_MSS_OPTION = 12  # bytes of timestamps, which the option counts as payload
_NEVER = 3600 * NS_PER_S
_GSO_SIZES = (65_536, 131_072, 185_000, 196_608, 262_144, 524_280)
_GSO_MAX_SEGS = 65_535
_AUTOTUNED_SEND = 131_072


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What is assumed where a trace shows nothing.

    congestion: cubic, reno, or flight: whatever was seen under way.  sndbuf: SO_SNDBUF
    in bytes, None for autotuning.  paced: whether fq paces.  pacing_rate:
    SO_MAX_PACING_RATE in bytes/s.  The rest: see Unseen.
    """

    congestion: str = "cubic"
    sndbuf: int | None = None
    paced: bool = True
    pacing_rate: int | None = None
    drained: bool = False
    slow_start: bool = True
    more_cwnd: int = 0
    writes: int = 0

    def unseen(self) -> Unseen:
        """Return what is of interest to a replay itself."""
        return Unseen(
            more_cwnd=self.more_cwnd,
            slow_start=self.slow_start,
            drained=self.drained,
            writes=self.writes,
        )


#: One thing of a world, and what it may be.
Choice = tuple[str, tuple[object, ...]]


def choices(stretch: Stretch) -> tuple[Choice, ...]:
    """Return what is tried, in this order, one thing after the other.

    dctcp is reno as far as a trace shows, which has no marks.
    """
    start: tuple[Choice, ...] = (
        ("slow_start", (True, False)),
        ("more_cwnd", (0, 1, 2, 3, 5, 8)),
    )
    return (
        *(() if stretch.part.from_start else start),
        ("writes", tuple(range(len(stretch.seen.messages)))),
        ("sndbuf", (None, 1_000_000, 65_536, 262_144, 524_288, 2_097_152, 4_194_304)),
        ("drained", (False, True)),
        ("congestion", ("cubic", "reno", _FLIGHT)),
        ("paced", (True, False)),
        ("pacing_rate", (None, stretch.rate)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A policy replayed in a world.

    lengths: what it would have sent, one a packet that was seen; 0 where it would have
    sent nothing by then, and from where it was given up.  hits: which of the packets
    have that size.  causes: the rule that gave each packet its size, None with 0.
    """

    policy: Policy
    world: World
    lengths: Column
    hits: NDArray[np.bool_]
    causes: Sequence[Cause | None]

    @property
    def same(self) -> int:
        """Return how many packets have the size that the policy gives them."""
        return int(self.hits.sum())

    def attribution(self) -> dict[str, float]:
        """Return the share of all packets that each rule explains."""
        pairs = zip(self.causes, self.hits.tolist(), strict=False)
        counted = Counter(cause for cause, hit in pairs if hit and cause)
        return {
            cause.value: counted[cause] / len(self.hits)
            for cause in Cause
            if counted[cause]
        }


def try_out(stretch: Stretch, policy: Policy, world: World, most_misses: int) -> Trial:
    """Replay a policy in a world; give up once it misses more packets than that."""
    replay = Replay(stretch.seen, _setup(stretch, policy, world), world.unseen())
    with suppress(SpecError):  # it takes more time than the model has
        replay.run(most_misses)
    lengths = np.zeros(len(stretch.trace.length), np.int64)
    lengths[: len(replay.lengths)] = replay.lengths
    return Trial(
        policy=policy,
        world=world,
        lengths=lengths,
        hits=lengths == stretch.trace.length,
        causes=replay.causes,
    )


def _setup(stretch: Stretch, policy: Policy, world: World) -> Setup:
    trace, features = stretch.trace, policy.features
    tuning = policy.tune(_tuning(trace, world.pacing_rate))
    pacing = _pacing(world)
    if world.congestion == _FLIGHT:
        congestion: CongestionControl = Flight(stretch.seen)
    else:
        congestion = congestion_of(world.congestion, features, tuning, pacing)
    return Setup(
        workload=_workload(trace, world),
        features=features,
        tuning=tuning,
        pacing=pacing,
        congestion=congestion,
        ecn=WITHOUT_ECN,
        mss_clamp=trace.mss + _MSS_OPTION,
    )


def _pacing(world: World) -> Pacing:
    if world.paced:
        return Pacing.FQ
    return Pacing.NONE if world.pacing_rate is None else Pacing.NEEDED


def _workload(trace: Trace, world: World) -> Workload:
    """Return how a process writes: netperf -s has messages as large as the buffer."""
    sndbuf = world.sndbuf
    return Workload(
        bytes=1,  # it is the messages of the trace that are written
        duration=None,
        send_size=2 * sndbuf if sndbuf else _AUTOTUNED_SEND,
        sndbuf=sndbuf,
        rcvbuf=None,
        congestion="cubic",
        pacing_rate=None,
        family=6 if ":" in trace.flow.src else 4,
        sample_every=_NEVER,
    )


def _tuning(trace: Trace, pacing_rate: int | None) -> Tuning:
    """Return the defaults of a sender, and a device that took the largest packet."""
    largest = int(trace.length.max()) + MAX_TCP_HEADER + 1
    fitting = (size for size in _GSO_SIZES if size >= largest)
    return Tuning(
        mss=trace.mss,
        gso_max_size=next(fitting, largest) - (MAX_TCP_HEADER + 1),
        gso_max_segs=_GSO_MAX_SEGS,
        limit_output_bytes=1 << 20,
        min_tso_segs=2,
        tso_win_divisor=3,
        tso_rtt_log=9,
        pacing_ss_ratio=200,
        pacing_ca_ratio=120,
        autocorking=True,
        wmem=(4096, 16_384, 4_194_304),
        max_pacing_rate=pacing_rate,
    )
