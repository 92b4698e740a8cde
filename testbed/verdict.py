"""Verdict: how a claim fared, and what was measured to say so."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.ratio import Ratio
from testbed.spec.claim import Claim

#: A change counts as the same change when at least this share of it (of its logarithm)
#: is there. Half: nearer to what was claimed than to no change at all.
SAME_CHANGE = 0.5
ROUNDING = 1e-9  # 660 of 600 is 10 %, whatever binary fractions say


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
    this run could tell at all: not without what the claim needs.  ratio: what it was
    judged by in real time; None in virtual time.
    """

    claim: Claim
    measured: Mapping[str, float | None]
    kind: VerdictKind
    why: str
    model: Mapping[str, float | None] = field(default_factory=dict)
    asked: bool = True
    ratio: Ratio | None = None


def reason(claim: Claim) -> str:
    """Return what a claim says of its tolerance, as the end of a sentence."""
    return f" ({claim.why})" if claim.why else ""
