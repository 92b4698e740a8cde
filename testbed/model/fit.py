"""Which of Linux's sizing rules explains the packets of a trace. Start with fit.

The sender is replayed with the ACKs of the trace (testbed.model.replay), once for each
policy, and what it would have sent is compared with what was seen. What no trace shows,
such as the congestion control or the send buffer, is tried out for each policy alike
(testbed.model.worlds), and each is judged by the best that it can do.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from testbed.model.match import compare
from testbed.model.observed import Stretch, observe
from testbed.model.policies import POLICIES, Policy
from testbed.model.stretch import Unfit, delay_to_sender
from testbed.model.worlds import Trial, World, choices, try_out
from testbed.trace.trace import Trace

#: Below this share of packets, a policy explains nothing.
EXPLAINS = 0.7
#: So many packets are enough to find out most of what is not seen.
_FEW = 300
#: A policy that explains less than this part of what the best does is not helped on.
#: At first, what decides most is tried for all.
_HOPELESS = 0.5
_DECISIVE = ("slow_start", "writes", "sndbuf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """How well one policy explains the packets, in the world that suits it best.

    packets: that were predicted.  same: of these, those that have the size the policy
    would give them.  match: their share.  size_distance: see testbed.model.match.
    attribution: the share of all packets that are the same, by the rule that gave them
    their size.  first_miss: the row, in the whole trace, of the first that differs.
    """

    policy: Policy
    world: World
    packets: int
    same: int
    match: float
    size_distance: float
    attribution: Mapping[str, float]
    first_miss: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Which policy explains a trace.

    verdict: a sentence.  candidates: all policies, the best first; empty where the
    trace cannot be fitted, which verdict then says.  best: those that explain it, more
    than one where they cannot be told apart; empty where none does.  rows: of the
    trace, the first packet that was predicted, and the one behind the last.  packets:
    in the whole trace.  from_start: whether the sender is known from its SYN on.  ends:
    why the fit ends there.  delay_ns: how much later an ACK is taken to have reached
    the sender than it passed here, relative to the packets.
    """

    verdict: str
    candidates: tuple[Candidate, ...] = ()
    best: tuple[Policy, ...] = ()
    rows: tuple[int, int] = (0, 0)
    packets: int = 0
    from_start: bool = False
    ends: str = ""
    delay_ns: int = 0


def fit(trace: Trace, policies: Sequence[Policy] = POLICIES) -> Fit:
    """Return which policy explains the sizes of a trace's packets.

    It raises nothing, whatever the trace, and looks at MOST_PACKETS of it at most.
    """
    try:
        stretches = _readings(trace)
    except Unfit as why:
        return Fit(verdict=f"cannot be fitted: {why}", packets=len(trace.length))
    return _fit(trace, *_search(stretches, policies))


def _readings(trace: Trace) -> list[Stretch]:
    """Return a trace as seen at the sender, and elsewhere if that is possible."""
    readings = [observe(trace)]
    if delay_ns := delay_to_sender(trace):
        with suppress(Unfit):
            readings.append(observe(trace, delay_ns))
    return readings


def _fit(trace: Trace, stretch: Stretch, trials: Sequence[Trial]) -> Fit:
    """Return what the policies' best trials say of a trace."""
    found = [_judged(stretch, trial) for trial in trials]
    found.sort(key=lambda each: (-each.same, each.size_distance))
    best = tuple(
        each.policy
        for each in found
        if each.same == found[0].same and each.match >= EXPLAINS
    )
    return Fit(
        verdict=_verdict(found, best),
        candidates=tuple(found),
        best=best,
        rows=(stretch.row, stretch.row + len(stretch.trace.length)),
        packets=len(trace.length),
        from_start=stretch.part.from_start,
        ends=stretch.part.ends,
        delay_ns=stretch.part.delay_ns,
    )


def _search(
    stretches: Sequence[Stretch], policies: Sequence[Policy]
) -> tuple[Stretch, list[Trial]]:
    """Return the best reading of a trace, and each policy's best trial of it.

    They are found on a few packets, and bettered on all of them.
    """
    found = []
    for stretch in stretches:
        world = World(slow_start=stretch.part.from_start)
        starts = [(policy, world) for policy in policies]
        attempts = _Attempts(stretch.head(_FEW))
        trials = _improved(attempts, starts, decisive=_DECISIVE)
        starts = [(each.policy, each.world) for each in trials]
        found.append(_improved(attempts, starts))
    most = [max(trial.same for trial in trials) for trials in found]
    place = most.index(max(most))
    stretch, trials = stretches[place], found[place]
    if len(stretch.trace.length) > _FEW:
        starts = [(each.policy, each.world) for each in trials]
        trials = _improved(_Attempts(stretch), starts)
    return stretch, trials


@dataclass(frozen=True, slots=True)
class _Attempts:
    """Trials on one stretch, none made twice.

    Whoever asks again never allows more misses than before: what was given up then
    would be given up now.
    """

    stretch: Stretch
    made: dict[tuple[Policy, World], Trial] = field(default_factory=dict)

    def trial(self, policy: Policy, world: World, most_misses: int) -> Trial:
        """Return what try_out() does."""
        if (policy, world) not in self.made:
            tried = try_out(self.stretch, policy, world, most_misses)
            self.made[policy, world] = tried
        return self.made[policy, world]


def _improved(
    attempts: _Attempts,
    starts: Sequence[tuple[Policy, World]],
    decisive: Sequence[str] = (),
) -> list[Trial]:
    """Return each policy's best trial, one thing of its world changed after another.

    decisive: what is tried for the hopeless, too.
    """
    stretch = attempts.stretch
    total = len(stretch.trace.length)
    best = [attempts.trial(*start, total) for start in starts]
    for name, values in choices(stretch):
        bar = 0 if name in decisive else _HOPELESS * max(each.same for each in best)
        for place, trial in enumerate(best):
            if bar <= trial.same < total:
                best[place] = _with_best(attempts, trial, name, values)
    return best


def _with_best(
    attempts: _Attempts, best: Trial, name: str, values: Sequence[object]
) -> Trial:
    """Return the best trial of those that differ in one thing."""
    total = len(attempts.stretch.trace.length)
    for value in values:
        world = replace(best.world, **{name: value})  # type: ignore[arg-type]
        if world != best.world and best.same < total:
            tried = attempts.trial(best.policy, world, total - best.same)
            best = max(best, tried, key=lambda each: each.same)
    return best


def _judged(stretch: Stretch, trial: Trial) -> Candidate:
    seen, sent = stretch.trace, trial.lengths > 0
    predicted = replace(
        seen,
        time_ns=seen.time_ns[sent],
        seq=seen.seq[sent],
        length=trial.lengths[sent],
    )
    misses = np.flatnonzero(~trial.hits)
    return Candidate(
        policy=trial.policy,
        world=trial.world,
        packets=len(trial.hits),
        same=trial.same,
        match=trial.same / len(trial.hits),
        size_distance=compare(seen, predicted).size_distance,
        attribution=trial.attribution(),
        first_miss=stretch.row + int(misses[0]) if len(misses) else None,
    )


def _verdict(found: Sequence[Candidate], best: Sequence[Policy]) -> str:
    """Return a sentence: what explains the sizes, and what comes next."""
    first = found[0]
    packets = f"{first.packets:,}".replace(",", " ")
    share = f"{percent(first.match)} of {packets} packets"
    if not best:
        rule = _told((first.policy,))
        return f"no rule explains the packet sizes: the best, {rule}, gives {share}"
    if len(best) == len(found):
        return f"every rule gives these packet sizes, none can be told apart: {share}"
    named = [policy for policy in best if policy.released] or best
    rules = {policy.rule for policy in named}
    alike = ", which cannot be told apart here" if len(rules) > 1 else ""
    text = f"packet sizes are those of {_told(named)}{alike}: {share}"
    others = (each for each in found if each.policy not in best)
    second = next((each for each in others if each.policy.rule not in rules), None)
    if second is None:
        return text
    return f"{text}; next best {_told((second.policy,))}, {percent(second.match)}"


def _told(policies: Sequence[Policy]) -> str:
    """Return the rules of policies, each with the kernels that have it."""
    kernels: dict[str, list[str]] = {}
    for policy in policies:
        kernels.setdefault(policy.rule, []).append(policy.kernels)
    return " or ".join(f"{rule} ({', '.join(of)})" for rule, of in kernels.items())


def percent(share: float) -> str:
    """Return a share with a decimal, rounded down: 100 % is all of it."""
    return f"{math.floor(share * 1000) / 10:g}%"
