"""Claims that need real time: judged by a ratio of two variants that took turns.

The values themselves are the machine's, and so are not those of the lab that published
them. Their ratio is the patch's, within the interval that the repeats leave it. Start
with judge_in_real_time.
"""

import math
from collections.abc import Sequence
from statistics import median

from testbed.facts import is_total
from testbed.measured import MeasuredRun
from testbed.ratio import LEAST_PAIRS, Ratio, ratio_of
from testbed.spec.claim import Claim
from testbed.values import as_claimed, values_of, variants_of
from testbed.verdict import ROUNDING, SAME_CHANGE, Verdict, VerdictKind, reason

#: Totals compare where the variants' bytes differ by no more than this share.
_SAME_WORK = 0.02
_PAIR = 2
_Turn = tuple[MeasuredRun, MeasuredRun]


def judge_in_real_time(claim: Claim, runs: Sequence[MeasuredRun]) -> Verdict:
    """Return the verdict on a claim that needs real time, from runs that had it.

    Measured is the median of a variant's repeats.
    """
    names = variants_of(claim)
    values = {name: values_of(claim, name, runs) for name in names}
    medians = {name: median(each) if each else None for name, each in values.items()}
    measured = as_claimed(claim, medians)
    claimed = _claimed_ratio(claim)
    if claimed is None:
        return Verdict(
            claim=claim,
            measured=measured,
            kind=VerdictKind.NOT_COMPARABLE,
            why="in real time a ratio is judged, and this is not about two values",
            asked=False,
        )
    under, over = names
    turns = _turns(under, over, runs)
    ratio = ratio_of(over, under, claimed, _known(claim, turns))
    unequal = _unequal_work(under, over, turns) if is_total(claim.metric) else ""
    kind, why = judge_ratio(ratio, max(claim.within[name] for name in claim.claimed))
    return Verdict(
        claim=claim,
        measured=measured,
        kind=VerdictKind.NOT_COMPARABLE if unequal else kind,
        why=(unequal or why) + reason(claim),
        asked=ratio.measured is None or ratio.interval is not None,
        ratio=ratio,
    )


def judge_ratio(ratio: Ratio, within: float) -> tuple[VerdictKind, str]:
    """Return the verdict on a ratio, which its whole interval has to bear out, and why.

    reproduced: all of it is within the tolerance.  direction only: all of it is on the
    claimed side of 1.  not reproduced: none of it is half the claimed change (on a
    logarithmic scale), or, if no change was claimed, within the tolerance.  not
    comparable: the interval allows none of these, or there is none.
    """
    told = f"{ratio.over}/{ratio.under}"
    if ratio.measured is None:
        return VerdictKind.NOT_COMPARABLE, f"there is no {told} of what is 0 or unknown"
    if ratio.interval is None:
        few = f"an interval takes {LEAST_PAIRS} repeats, and there are {ratio.pairs}"
        return VerdictKind.NOT_COMPARABLE, f"{told} {ratio.measured:.3g}: {few}"
    low, high = ratio.interval
    told += f" {ratio.measured:.3g}, 95% interval {low:.3g} to {high:.3g}"
    kind, why = _judge_interval(ratio.claimed, ratio.interval, within)
    return kind, f"{told} of {ratio.pairs} pairs {why} {ratio.claimed:.3g}"


def _judge_interval(
    claimed: float, interval: tuple[float, float], within: float
) -> tuple[VerdictKind, str]:
    low, high = map(math.log, interval)
    change, slack = math.log(claimed), math.log1p(within) + ROUNDING
    if change - slack <= low and high <= change + slack:
        return VerdictKind.REPRODUCED, f"is within {within:.0%} of"
    if abs(change) <= slack:  # the claim is that nothing changes
        if high < change - slack or low > change + slack:
            return VerdictKind.NOT_REPRODUCED, f"is outside {within:.0%} of"
        return VerdictKind.NOT_COMPARABLE, "allows no verdict on"
    least, most = sorted((low / change, high / change))
    if least > 0:
        told = f"is the claimed way, but not within {within:.0%} of"
        return VerdictKind.DIRECTION_ONLY, told
    if most < SAME_CHANGE:
        return VerdictKind.NOT_REPRODUCED, "excludes half the change to"
    return VerdictKind.NOT_COMPARABLE, "allows no verdict on"


def _turns(under: str, over: str, runs: Sequence[MeasuredRun]) -> list[_Turn]:
    """Return the runs of two variants in pairs: those of one repeat, run in turn."""
    found = {(each.run.variant, each.run.repeat): each for each in runs}
    repeats = sorted({repeat for _, repeat in found})
    return [
        (found[over, repeat], found[under, repeat])
        for repeat in repeats
        if (over, repeat) in found and (under, repeat) in found
    ]


def _unequal_work(under: str, over: str, turns: Sequence[_Turn]) -> str:
    """Say that the variants did not send the same; nothing if they did."""
    if not turns:
        return ""
    sides = zip(*turns, strict=True)
    did, base = (median(each.work() for each in side) for side in sides)
    if abs(did - base) <= _SAME_WORK * base:
        return ""
    times = f"{did / base:.3g} times the bytes of {under}"
    return f"unequal work, and a total: {over} sent {times}; give flows bytes to send"


def _known(claim: Claim, turns: Sequence[_Turn]) -> list[tuple[float, float]]:
    """Return the values of the turns in which both are known."""
    values = [
        (over.value(claim.metric, claim.host), under.value(claim.metric, claim.host))
        for over, under in turns
    ]
    return [(a, b) for a, b in values if a is not None and b is not None]


def _claimed_ratio(claim: Claim) -> float | None:
    """Return what is claimed of the second variant over the first, if it is of two."""
    shares = {claim.relative_to: 1.0} if claim.relative_to else {}
    values = list({**shares, **claim.claimed}.values())
    if len(values) != _PAIR or min(values) <= 0:
        return None
    return values[1] / values[0]
