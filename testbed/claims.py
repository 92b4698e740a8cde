"""Claim x measurement -> verdict.

A verdict is about the kernel, never about the machinery: a void run has none. In
virtual time a claim is judged by its values. In real time those are the machine's, and
vary, so a claim that needs it is judged by a ratio and the interval that the repeats
leave it. Start with judge.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from testbed.measured import MeasuredRun
from testbed.predicted import Predicted, Unreached
from testbed.real_time import judge_in_real_time
from testbed.spec.claim import Claim, Need
from testbed.spec.experiment import Scale
from testbed.store import Run
from testbed.values import as_claimed, values_of, variants_of
from testbed.verdict import ROUNDING, SAME_CHANGE, Verdict, VerdictKind, reason


def judge(
    claims: Sequence[Claim],
    runs: Sequence[MeasuredRun],
    predictions: Mapping[str, Predicted | Unreached],
) -> tuple[Verdict, ...]:
    """Return a verdict for each claim, from all repeats of each variant.

    predictions: by variant, shown beside what was measured.
    """
    lacking = {need: why for each in runs for need, why in _lacks(each.run).items()}
    return tuple(
        replace(
            _judge_or_say(claim, runs, lacking), model=_predicted(claim, predictions)
        )
        for claim in claims
    )


def _lacks(run: Run) -> dict[Need, str]:
    """Return what a run cannot give, and why."""
    lacks = {}
    if run.clock != "real":
        lacks[Need.REAL] = (
            "of a clock that runs while the CPU works: run --machine uml-real"
        )
    if run.experiment.scale is not Scale.FULL:
        lacks[Need.FULL] = "of the published scale: run --full"
    return lacks


def _judge_or_say(
    claim: Claim, runs: Sequence[MeasuredRun], lacking: Mapping[Need, str]
) -> Verdict:
    if claim.needs is not None and claim.needs in lacking:
        return Verdict(
            claim=claim,
            measured=_measured(claim, runs),
            kind=VerdictKind.NOT_COMPARABLE,
            why=lacking[claim.needs] + reason(claim),
            asked=False,
        )
    if claim.needs is Need.REAL:
        return judge_in_real_time(claim, runs)
    verdict = judge_claim(claim, _measured(claim, runs))
    in_real_time = any(each.run.clock == "real" for each in runs)
    return _beside_virtual_time(verdict) if in_real_time else verdict


def _beside_virtual_time(verdict: Verdict) -> Verdict:
    """Return the verdict on a claim that virtual time would tell exactly.

    What is reproduced in real time is. What is not may be the machine's doing, that is
    too slow or busy, and so says nothing of the kernel.
    """
    if verdict.kind is not VerdictKind.NOT_REPRODUCED:
        return replace(verdict, asked=False)
    return replace(
        verdict,
        kind=VerdictKind.NOT_COMPARABLE,
        why=f"{verdict.why}; the machine may be why, virtual time can tell",
        asked=False,
    )


def judge_claim(claim: Claim, measured: Mapping[str, float | None]) -> Verdict:
    """Return the verdict on one claim.

    reproduced: every value within its tolerance.  direction only: not so, but the
    change between the variants is at least half the claimed one, the same way (or, if
    no change was claimed, there is none).  not comparable: a value is missing.
    """
    known = {name: value for name, value in measured.items() if value is not None}
    missing = sorted(set(claim.claimed) - set(known))
    if missing:
        kind, why = VerdictKind.NOT_COMPARABLE, f"no {claim.metric} in {missing[0]}"
        return Verdict(claim=claim, measured=measured, kind=kind, why=why)
    off = {name: _off(claimed, known[name]) for name, claimed in claim.claimed.items()}
    outside = [name for name in off if abs(off[name]) > claim.within[name] + ROUNDING]
    if not outside:
        kind = VerdictKind.REPRODUCED
    elif _same_change(claim, known):
        kind = VerdictKind.DIRECTION_ONLY
    else:
        kind = VerdictKind.NOT_REPRODUCED
    return Verdict(
        claim=claim, measured=measured, kind=kind, why=_why(claim, off, outside)
    )


def _measured(claim: Claim, runs: Sequence[MeasuredRun]) -> dict[str, float | None]:
    values = {name: values_of(claim, name, runs) for name in variants_of(claim)}
    means = {name: fmean(each) if each else None for name, each in values.items()}
    return as_claimed(claim, means)


def _predicted(
    claim: Claim, predictions: Mapping[str, Predicted | Unreached]
) -> dict[str, float | None]:
    return as_claimed(
        claim,
        {
            name: each.value(claim.metric, claim.host)
            for name, each in predictions.items()
        },
    )


def _off(claimed: float, measured: float) -> float:
    if claimed:
        return measured / claimed - 1
    return math.inf if measured else 0.0


def _same_change(claim: Claim, known: Mapping[str, float]) -> bool:
    first, *rest = claim.claimed
    if not rest or any(
        min(known[name], claim.claimed[name]) <= 0 for name in claim.claimed
    ):
        return False
    return all(
        _is_same(
            math.log(claim.claimed[name] / claim.claimed[first]),
            math.log(known[name] / known[first]),
            slack=math.log1p(max(claim.within[first], claim.within[name])),
        )
        for name in rest
    )


def _is_same(claimed: float, measured: float, *, slack: float) -> bool:
    if abs(claimed) <= slack:  # the claim is that nothing changes
        return abs(measured) <= slack
    return measured / claimed >= SAME_CHANGE


def _why(claim: Claim, off: Mapping[str, float], outside: Sequence[str]) -> str:
    parts = []
    for name, share in off.items():
        verb = "outside" if name in outside else "within"
        parts.append(f"{name} {share:+.1%}, {verb} {claim.within[name]:.0%}")
    return "; ".join(parts) + reason(claim)
