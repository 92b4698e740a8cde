"""What a run says beside its packets: metrics of counters and of the sender's account.

A function takes Facts and returns samples, one an event. To add a metric, write its
function and its row in FACT_METRICS. Start with measure_facts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.trace.measurement import Measurement, Summary
from testbed.trace.metrics import METRICS
from testbed.units import NS_PER_S

_BITS = 8
Samples = NDArray[np.float64] | NDArray[np.int64]
_NOTHING: NDArray[np.int64] = np.zeros(0, np.int64)
_LATENCY = "latency"
#: What a process took, by its name in workload.json -> its metric, unit and meaning.
_USED: Mapping[str, tuple[str, str, str]] = {
    "cpu_ns": ("cpu", "ns", "CPU time"),
    "context_switches": ("context_switches", "switches", "context switches"),
    "cycles": ("cycles", "cycles", "CPU cycles"),
    "instructions": ("instructions", "instructions", "instructions"),
}
#: An end -> what its metrics' names begin with, and the counters of its packets.
_ENDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sender": ("", ("IpOutRequests", "Ip6OutRequests")),
    "receiver": ("receiver_", ("IpInReceives", "Ip6InReceives")),
}
#: A claim may name one of these of a metric: latency.p99. The mean is what is meant
#: where none is named.
STATISTICS = tuple(each.name for each in fields(Summary) if each.name != "n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What both ends counted, and what the sender timed.

    counters: "sender" and "receiver" to nstat name to delta.  flows: the sender's
    account of each flow: bytes, begin_ns, end_ns, and transactions if there were any.
    latency_ns: of each transaction; latency_told: the summary alone, of a driver that
    tells no more.  used: "sender" and "receiver" to what that process took, as far as
    known: cpu_ns, context_switches, cycles, instructions.
    """

    counters: Mapping[str, Mapping[str, int]]
    flows: Sequence[Mapping[str, int]] = ()
    latency_ns: Sequence[int] = ()
    latency_told: Summary | None = None
    used: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactMetric:
    """A metric by its contract name. samples: its definition.

    total: whether it grows with what is sent, and so compares for equal work alone.
    """

    name: str
    unit: str
    meaning: str
    samples: Callable[[Facts], Samples]
    total: bool = False


def segs_per_ack(facts: Facts) -> Samples:
    """Return one sample: the sender's TcpOutSegs over its TcpInSegs.

    It is what "Average of 41 4K segments per TSO packet" means in the mail of commit
    65466904b015: an estimate of the packet size where every packet gets one ACK. SYN,
    FIN and ACKs without payload count on both sides.
    """
    counted = facts.counters.get("sender", {})
    acks = counted.get("TcpInSegs", 0)
    return np.array([counted.get("TcpOutSegs", 0) / acks]) if acks else _NOTHING


def transactions(facts: Facts) -> Samples:
    """Return one sample: transactions a second, summed over the flows."""
    rates = [
        each["transactions"] * NS_PER_S / (each["end_ns"] - each["begin_ns"])
        for each in facts.flows
        if "transactions" in each
    ]
    return np.array([sum(rates)]) if rates else _NOTHING


def latency(facts: Facts) -> Samples:
    """Return the time of each transaction, from its request's first send() on."""
    return np.array(facts.latency_ns, np.int64)


def packets_per_transaction(facts: Facts) -> Samples:
    """Return one sample: packets that IP was asked to send, both ends, a transaction.

    A GSO packet counts once. Handshakes and ACKs without payload are among them.
    """
    done = sum(each.get("transactions", 0) for each in facts.flows)
    names = ("IpOutRequests", "Ip6OutRequests")
    sent = [each.get(name, 0) for each in facts.counters.values() for name in names]
    return np.array([sum(sent) / done]) if done else _NOTHING


def used(end: str, what: str) -> Callable[[Facts], Samples]:
    """Return what gives one sample: what an end's process took, system calls included.

    On a virtual clock a CPU takes no time: time stands still while it works.
    """

    def samples(facts: Facts) -> Samples:
        value = facts.used.get(end, {}).get(what)
        return _NOTHING if value is None else np.array([value])

    return samples


def used_per_byte(end: str, what: str) -> Callable[[Facts], Samples]:
    """Return what gives one sample: the same for each byte of payload the sender sent.

    Nothing where no time passed, as on a virtual clock.
    """

    def samples(facts: Facts) -> Samples:
        return _each(facts, end, what, sum(flow["bytes"] for flow in facts.flows))

    return samples


def used_per_packet(end: str, what: str) -> Callable[[Facts], Samples]:
    """Return what gives one sample: the same for each packet of that end.

    Of the sender those that IP was asked to send, of the receiver those that reached
    its IP. A GSO or GRO packet counts once.
    """

    def samples(facts: Facts) -> Samples:
        counted = facts.counters.get(end, {})
        _prefix, names = _ENDS[end]
        return _each(facts, end, what, sum(counted.get(name, 0) for name in names))

    return samples


def _each(facts: Facts, end: str, what: str, number: int) -> Samples:
    value = facts.used.get(end, {}).get(what)
    return np.array([value / number]) if value and number else _NOTHING


def _cost_metrics() -> Iterator[FactMetric]:
    """Yield what each end's process took: in all, for each byte, for each packet."""
    for (end, (prefix, _)), (what, row) in product(_ENDS.items(), _USED.items()):
        name, unit, meaning = row
        told = f"{meaning} of the process at the {end}"
        yield FactMetric(
            name=prefix + name,
            unit=unit,
            meaning=told + "; 0 on a virtual clock" * (what == "cpu_ns"),
            samples=used(end, what),
            total=True,
        )
        for each, of in (("byte", used_per_byte), ("packet", used_per_packet)):
            yield FactMetric(
                name=f"{prefix}{name}_per_{each}",
                unit=f"{unit}/{each}",
                meaning=f"{told} for each {each}",
                samples=of(end, what),
            )


def throughput(facts: Facts) -> Samples:
    """Return one sample: what netperf prints of each flow, summed.

    A flow's bytes over the time from its connection to its peer's close.
    """
    rates = [
        each["bytes"] * _BITS * NS_PER_S / (each["end_ns"] - each["begin_ns"])
        for each in facts.flows
    ]
    return np.array([sum(rates)]) if rates else _NOTHING


FACT_METRICS: Mapping[str, FactMetric] = {
    metric.name: metric
    for metric in (
        FactMetric(
            name="segs_per_ack",
            unit="segments",
            meaning="segments sent for each one received: TcpOutSegs / TcpInSegs",
            samples=segs_per_ack,
        ),
        FactMetric(
            name="transactions",
            unit="1/s",
            meaning="transactions a second, of all flows",
            samples=transactions,
        ),
        FactMetric(
            name="latency",
            unit="ns",
            meaning="time of a transaction, from its request to the answer's last byte",
            samples=latency,
        ),
        FactMetric(
            name="packets_per_transaction",
            unit="packets",
            meaning="packets both ends sent for each transaction, ACKs included",
            samples=packets_per_transaction,
        ),
        *_cost_metrics(),
    )
}
#: Units of all metrics, of packets and of facts, and their meanings.
UNITS: Mapping[str, str] = {
    **{name: metric.unit for name, metric in METRICS.items()},
    **{name: metric.unit for name, metric in FACT_METRICS.items()},
}
MEANINGS: Mapping[str, str] = {
    **{name: metric.meaning for name, metric in METRICS.items()},
    **{name: metric.meaning for name, metric in FACT_METRICS.items()},
}


def measure_facts(facts: Facts) -> dict[str, Measurement]:
    """Return the metrics of which there is a sample."""
    measured = {
        name: Measurement(metric=name, unit=metric.unit, samples=metric.samples(facts))
        for name, metric in FACT_METRICS.items()
    }
    if facts.latency_told is not None:
        told = replace(measured[_LATENCY], told=facts.latency_told)
        measured[_LATENCY] = told
    return {
        name: each for name, each in measured.items() if len(each.samples) or each.told
    }


def measure_uncaptured(facts: Facts) -> dict[str, Measurement]:
    """Return what facts alone say of what packets say better: the throughput."""
    metric = METRICS["throughput"]
    samples = throughput(facts)
    told = Measurement(metric=metric.name, unit=metric.unit, samples=samples)
    return {metric.name: told} if len(samples) else {}


def statistic(metrics: Mapping[str, Measurement], name: str) -> float | None:
    """Return a metric's mean, or the statistic named: latency.p99. None: no sample."""
    metric, _, wanted = name.partition(".")
    if metric not in metrics:
        return None
    value: float | None = getattr(metrics[metric].summary(), wanted or "mean")
    return value


def is_total(name: str) -> bool:
    """Tell whether what a claim is about grows with what is sent: all counters do."""
    metric = name.partition(".")[0]
    return metric not in UNITS or (
        metric in FACT_METRICS and FACT_METRICS[metric].total
    )


def is_metric(name: str) -> bool:
    """Tell whether a claim may be made about a name, nstat's counters aside."""
    metric, dot, wanted = name.partition(".")
    return metric in UNITS and (not dot or wanted in STATISTICS)


def facts_of(
    counters: Mapping[str, Mapping[str, int]],
    workload: Mapping[str, Any],
    latency_ns: Sequence[int],
) -> Facts:
    """Return the facts of a stored run. A single stream's account is of one flow."""
    flows = workload.get("flows", (workload,))
    accounts = {"sender": workload, "receiver": workload.get("receiver", {})}
    taken = {
        end: {name: account[name] for name in _USED if name in account}
        for end, account in accounts.items()
    }
    told = workload.get("latency_told")
    return Facts(
        counters=counters,
        flows=tuple(flows),
        latency_ns=latency_ns,
        latency_told=None if told is None else Summary(**told),
        used=taken,
    )
