"""The values that a claim is about: of which variants, and as shares if it says so."""

from collections.abc import Mapping, Sequence

from testbed.measured import MeasuredRun
from testbed.spec.claim import Claim


def variants_of(claim: Claim) -> list[str]:
    """Return the variants whose values a claim takes, what it is relative to first."""
    whole = [claim.relative_to] if claim.relative_to else []
    return list(dict.fromkeys((*whole, *claim.claimed)))


def values_of(claim: Claim, variant: str, runs: Sequence[MeasuredRun]) -> list[float]:
    """Return what the repeats of a variant say, as far as they know it."""
    values = [
        each.value(claim.metric, claim.host)
        for each in runs
        if each.run.variant == variant
    ]
    return [value for value in values if value is not None]


def as_claimed(
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
