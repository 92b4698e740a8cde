"""Claim x measurement -> verdict.

A verdict is about the kernel, never about the machinery: a void run has none.
"""

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from testbed.measured import MeasuredRun
from testbed.predicted import Predicted, Unreached
from testbed.spec.claim import Claim, Need
from testbed.spec.experiment import Scale
from testbed.store import Run

#: A change counts as the same change when at least this share of it (of its logarithm)
#: is there. Half: nearer to what was claimed than to no change at all.
_SAME_CHANGE = 0.5
_ROUNDING = 1e-9  # 660 of 600 is 10 %, whatever binary fractions say


class VerdictKind(enum.Enum):
    """How a claim fared."""

    REPRODUCED = "reproduced"
    DIRECTION_ONLY = "direction only"
    NOT_REPRODUCED = "not reproduced"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A claim, what was measured for each variant it names, and how it fared.

    model: what the model says for each; it has no part in the verdict.  asked: whether
    this run could tell at all: not without what the claim needs.
    """

    claim: Claim
    measured: Mapping[str, float | None]
    kind: VerdictKind
    why: str
    model: Mapping[str, float | None] = field(default_factory=dict)
    asked: bool = True


def judge(
    claims: Sequence[Claim],
    runs: Sequence[MeasuredRun],
    predictions: Mapping[str, Predicted | Unreached],
) -> tuple[Verdict, ...]:
    """Return a verdict for each claim, from the mean over a variant's repeats.

    predictions: by variant, shown beside what was measured.
    """
    lacking = {need: why for each in runs for need, why in _lacks(each.run).items()}
    return tuple(
        replace(
            _judge_or_say(claim, _measured(claim, runs), lacking),
            model=_predicted(claim, predictions),
        )
        for claim in claims
    )


def _lacks(run: Run) -> dict[Need, str]:
    """Return what a run cannot give, and why."""
    lacks = {}
    if run.clock != "real":
        lacks[Need.REAL] = f"not comparable on a {run.clock} clock"
    if run.experiment.scale is not Scale.FULL:
        lacks[Need.FULL] = "of the published scale: run --full"
    return lacks


def _judge_or_say(
    claim: Claim,
    measured: Mapping[str, float | None],
    lacking: Mapping[Need, str],
) -> Verdict:
    if claim.needs is None or claim.needs not in lacking:
        return judge_claim(claim, measured)
    reason = f" ({claim.why})" if claim.why else ""
    return Verdict(
        claim=claim,
        measured=measured,
        kind=VerdictKind.NOT_COMPARABLE,
        why=lacking[claim.needs] + reason,
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
    outside = [name for name in off if abs(off[name]) > claim.within[name] + _ROUNDING]
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
    names = [*claim.claimed, *([claim.relative_to] if claim.relative_to else [])]
    return _as_claimed(claim, {name: _mean_value(claim, name, runs) for name in names})


def _predicted(
    claim: Claim, predictions: Mapping[str, Predicted | Unreached]
) -> dict[str, float | None]:
    return _as_claimed(
        claim,
        {
            name: each.value(claim.metric, claim.host)
            for name, each in predictions.items()
        },
    )


def _as_claimed(
    claim: Claim, values: Mapping[str, float | None]
) -> dict[str, float | None]:
    """Return the values of the variants a claim names, shares if it is relative."""
    own = {name: values[name] for name in claim.claimed if name in values}
    if claim.relative_to is None:
        return own
    whole = values.get(claim.relative_to)
    return {
        name: value / whole if value is not None and whole else None
        for name, value in own.items()
    }


def _mean_value(
    claim: Claim, variant: str, runs: Sequence[MeasuredRun]
) -> float | None:
    values = [
        each.value(claim.metric, claim.host)
        for each in runs
        if each.run.variant == variant
    ]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


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
    return measured / claimed >= _SAME_CHANGE


def _why(claim: Claim, off: Mapping[str, float], outside: Sequence[str]) -> str:
    parts = []
    for name, share in off.items():
        verb = "outside" if name in outside else "within"
        parts.append(f"{name} {share:+.1%}, {verb} {claim.within[name]:.0%}")
    reason = f" ({claim.why})" if claim.why else ""
    return "; ".join(parts) + reason
