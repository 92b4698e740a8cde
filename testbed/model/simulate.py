"""Predict what a variant's packets will be. Start with simulate."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from testbed.model.connection import Connection
from testbed.model.cpu import Machine
from testbed.model.features import Features
from testbed.model.record import Record
from testbed.model.settings import check, mss_of
from testbed.spec.experiment import Variant
from testbed.trace.causes import Cause
from testbed.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a simulated run yields.

    trace: at the sender.  counters: by host and nstat's name.  causes: one a packet of
    new data, what is sent again has none.  samples: as tcp_info.json has them.
    watched: the sender's state in which it decides on the watched packet.
    """

    trace: Trace
    counters: Mapping[str, Mapping[str, int]]
    causes: tuple[Cause, ...]
    samples: tuple[Mapping[str, int], ...]
    watched: Mapping[str, int] | None = None

    def cause_shares(self) -> dict[Cause, float]:
        """Return the share of packets that each rule gave their size."""
        return _shares(Counter(self.causes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What is left of a simulated run of which no packet was kept."""

    counters: Mapping[str, Mapping[str, int]]
    cause_counts: Mapping[Cause, int]

    def cause_shares(self) -> dict[Cause, float]:
        """Return the share of packets that each rule gave their size."""
        return _shares(self.cause_counts)


def _shares(counted: Mapping[Cause, int]) -> dict[Cause, float]:
    total = max(sum(counted.values()), 1)
    return {cause: counted.get(cause, 0) / total for cause in Cause}


def simulate(
    variant: Variant,
    features: Features,
    machine: Machine | None = None,
    *,
    watch: int | None = None,
    seed: int = 1,
) -> Prediction:
    """Return what a sender with these features does in a variant.

    machine: by default the lab's, User-Mode Linux in virtual time.  watch: the index of
    a data packet at which to note the sender's state.  seed: of what the path loses at
    random.
    Raises SpecError for what the model does not reach.
    """
    check(variant)
    record = Record()
    connection = Connection(
        variant, features, machine or Machine(), record, watch=watch, seed=seed
    )
    connection.run()
    return Prediction(
        trace=record.trace(mss_of(variant)),
        counters=record.counters(variant.workload.family),
        causes=record.causes(),
        samples=record.samples(),
        watched=connection.watched,
    )


def count(
    variant: Variant,
    features: Features,
    machine: Machine | None = None,
    *,
    seed: int = 1,
) -> Totals:
    """Return what simulate() would, less all that grows with the transfer."""
    check(variant)
    record = Record(keep=False)
    Connection(variant, features, machine or Machine(), record, seed=seed).run()
    return Totals(
        counters=record.counters(variant.workload.family),
        cause_counts=dict(record.cause_counts),
    )
