"""A variant predicted: the model's packets, measured as a capture's are.

With a stored run beside it, how well the two traces match, packet by packet.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.measured import MeasuredRun
from testbed.model.features import features_of
from testbed.model.match import Match, compare
from testbed.model.simulate import simulate
from testbed.spec.experiment import Variant
from testbed.trace.measurement import Measurement
from testbed.trace.metrics import METRICS, measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What the model says of a variant.

    attribution: the share of data packets that each rule gave their size.  match: with
    the run it was held against, None where it was held against none.
    """

    variant: str
    counters: Mapping[str, Mapping[str, int]]
    metrics: Mapping[str, Measurement]
    attribution: Mapping[str, float]
    match: Match | None


def predict(variant: Variant, against: MeasuredRun | None = None) -> Predicted:
    """Return the model's prediction. SpecError where the model does not reach."""
    prediction = simulate(variant, features_of(variant))
    shares = prediction.cause_shares()
    return Predicted(
        variant=variant.name,
        counters=prediction.counters,
        metrics=measure(METRICS, (prediction.trace,)),
        attribution={cause.value: share for cause, share in shares.items() if share},
        match=None if against is None else compare(against.trace, prediction.trace),
    )
