"""Claims: what a patch's "Tested:" section says, and how near counts as the same."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from testbed.errors import SpecError


class Need(enum.Enum):
    """What a claim takes beyond a run: without it the claim is not comparable."""

    REAL = "real"  # a clock that runs while the CPU works: seconds, CPU, rates of them
    FULL = "full"  # the published scale: totals over its flows and its time


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A figure for each variant, as published, and the tolerance for each.

    metric: a contract name or an nstat counter.  host: "sender" or "receiver",
    whose counter it is.  claimed: variant to value, in the metric's base unit.  within:
    variant to the share by which a measured value may differ.  source: where it was
    published.  why: why the tolerance is what it is.  relative_to: the variant whose
    value counts as 1, where what is published has no unit: claimed are shares of it.
    needs: see Need.
    """

    metric: str
    host: str
    claimed: Mapping[str, float]
    within: Mapping[str, float]
    source: str
    why: str
    relative_to: str | None = None
    needs: Need | None = None

    def __post_init__(self) -> None:
        if self.host not in ("sender", "receiver"):
            raise SpecError(f"host is sender or receiver, not {self.host!r}")
        if not self.claimed:
            raise SpecError("a claim needs a value for at least one variant")
