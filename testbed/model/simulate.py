"""Predict what a variant's packets will be. Start with simulate."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from testbed.model.connection import Connection
from testbed.model.cpu import Machine
from testbed.model.features import Features
from testbed.model.settings import check, mss_of
from testbed.spec.experiment import Variant
from testbed.trace.causes import Cause
from testbed.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a simulated run yields.

    trace: at the sender.  counters: by host and nstat's name.  causes: one a data
    packet of the trace.  samples: as tcp_info.json has them.  watched: the sender's
    state in which it decides on the watched packet.
    """

    trace: Trace
    counters: Mapping[str, Mapping[str, int]]
    causes: tuple[Cause, ...]
    samples: tuple[Mapping[str, int], ...]
    watched: Mapping[str, int] | None = None

    def cause_shares(self) -> dict[Cause, float]:
        """Return the share of data packets that each rule gave their size."""
        counted = Counter(self.causes)
        return {cause: counted[cause] / len(self.causes) for cause in Cause}


def simulate(
    variant: Variant,
    features: Features,
    machine: Machine | None = None,
    *,
    watch: int | None = None,
) -> Prediction:
    """Return what a sender with these features does in a variant.

    machine: by default the lab's, User-Mode Linux in virtual time.  watch: the index of
    a data packet at which to note the sender's state.
    Raises SpecError for what the model does not reach.
    """
    check(variant)
    connection = Connection(variant, features, machine or Machine(), watch)
    connection.run()
    return Prediction(
        trace=connection.record.trace(mss_of(variant)),
        counters=connection.record.counters(variant.workload.family),
        causes=tuple(connection.causes),
        samples=connection.record.samples(),
        watched=connection.watched,
    )
