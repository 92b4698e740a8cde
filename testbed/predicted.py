"""A variant predicted: the model's packets, measured as a capture's are.

With a run beside it, how well the two traces match, packet by packet. Start with
predict.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.facts import Facts, measure_facts, statistic
from testbed.model import simulate
from testbed.model.features import features_of
from testbed.model.match import Match, compare
from testbed.spec.experiment import Variant
from testbed.trace.attributed import causes_by_packet
from testbed.trace.causes import Cause
from testbed.trace.measurement import Measurement
from testbed.trace.metrics import METRICS, measure
from testbed.trace.trace import Column, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What the model says of a variant.

    tcp_info: samples, with the keys and units of tcp_info.json.  attribution: the share
    of data packets that each rule gave their size.  causes: the rule that gave each
    packet of the trace its size, as causes_by_packet has it.  match: with the trace it
    was held against, None where it was held against none.  at_divergence: the model's
    sender, kernel's names and units, as it decides on the packet where the two first
    differ.
    """

    variant: str
    trace: Trace
    tcp_info: tuple[Mapping[str, int], ...]
    counters: Mapping[str, Mapping[str, int]]
    metrics: Mapping[str, Measurement]
    attribution: Mapping[str, float]
    match: Match | None
    at_divergence: Mapping[str, int] | None
    causes: Column | None = None

    def value(self, metric: str, on: str) -> float | None:
        """Return one figure, as MeasuredRun.value does; None if the model has none."""
        measured = statistic(self.metrics, metric)
        if measured is not None:
            return measured
        counted = self.counters[on].get(metric)
        return None if counted is None else float(counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the model says of a variant when it keeps no packet: see Predicted."""

    variant: str
    counters: Mapping[str, Mapping[str, int]]
    attribution: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """A variant the model says nothing of. why: a sentence."""

    variant: str
    why: str

    def value(self, _metric: str, _on: str) -> None:
        """Return that there is no figure."""


def predict(
    variant: Variant, against: Trace | None = None, *, seed: int = 1
) -> Predicted:
    """Return the model's prediction. SpecError where the model does not reach.

    against: the trace of a run to match it with.  seed: of losses at random, which are
    not the kernel's of the same seed.
    """
    features = features_of(variant)
    prediction = simulate.simulate(variant, features, seed=seed)
    match = None if against is None else compare(against, prediction.trace)
    state = None
    if match and match.first_divergence and match.first_divergence.predicted:
        # Noting every packet's state would cost memory for nothing: this one is known
        # only now, and the model does the same every time.
        place = match.first_divergence.index
        again = simulate.simulate(variant, features, watch=place, seed=seed)
        state = again.watched
    return Predicted(
        variant=variant.name,
        trace=prediction.trace,
        tcp_info=prediction.samples,
        counters=prediction.counters,
        metrics={
            **measure(METRICS, (prediction.trace,)),
            **measure_facts(Facts(counters=prediction.counters)),
        },
        attribution=_attribution(prediction.cause_shares()),
        match=match,
        at_divergence=state,
        causes=causes_by_packet(prediction.trace, prediction.causes),
    )


def count(variant: Variant, *, seed: int = 1) -> Counted:
    """Return what takes no memory for each packet. SpecError as predict."""
    totals = simulate.count(variant, features_of(variant), seed=seed)
    return Counted(
        variant=variant.name,
        counters=totals.counters,
        attribution=_attribution(totals.cause_shares()),
    )


def _attribution(shares: Mapping[Cause, float]) -> dict[str, float]:
    return {cause.value: share for cause, share in shares.items() if share}


def predict_or_say(
    variant: Variant, against: Trace | None, seed: int = 1
) -> Predicted | Unreached:
    """Return the prediction, or why the model does not reach it."""
    try:
        return predict(variant, against, seed=seed)
    except SpecError as error:
        return Unreached(variant=variant.name, why=str(error))
