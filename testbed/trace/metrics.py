"""What a Trace says: one function a metric, and the table that names them.

A function takes a Trace and returns samples, one an event; it knows nothing of files or
clocks. To add a metric, write its function and its row in METRICS. Start with measure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from testbed.errors import SpecError
from testbed.trace.measurement import Measurement
from testbed.trace.trace import Column, Trace
from testbed.units import NS_PER_S

_BITS = 8
_BEFORE_ALL = -(1 << 62)  # below every sequence number


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric by its contract name. samples: its definition.

    summed: whether flows add up to one sample, as super_netperf adds throughputs.
    """

    name: str
    unit: str
    meaning: str
    samples: Callable[[Trace], Column]
    summed: bool = False

    def measure(self, trace: Trace) -> Measurement:
        """Return the samples of one trace."""
        return Measurement(
            metric=self.name, unit=self.unit, samples=self.samples(trace)
        )


def measure(names: Iterable[str], traces: Iterable[Trace]) -> dict[str, Measurement]:
    """Return each metric named, with the samples of all traces one after the other.

    Of one that is summed there is one sample for all traces.

    Raises SpecError for a name that is not in METRICS.
    """
    every = tuple(traces)
    measured: dict[str, Measurement] = {}
    for name in names:
        if name not in METRICS:
            known = ", ".join(METRICS)
            raise SpecError(f"{name!r} is not a metric; known are {known}")
        parts = [METRICS[name].samples(trace) for trace in every]
        samples = np.concatenate([np.zeros(0, np.int64), *parts])
        if METRICS[name].summed and len(samples):
            samples = samples.sum(keepdims=True)
        measured[name] = Measurement(
            metric=name, unit=METRICS[name].unit, samples=samples
        )
    return measured


def throughput(trace: Trace) -> Column:
    """Return one sample: payload acknowledged over the time it took.

    The bytes are those between sequence 0 and the highest acknowledged one, each once,
    as far as they were seen sent. The time runs from the SYN, where one was seen, else
    from the first data packet, to the first ACK that covers all of those bytes; with
    everything acknowledged, that is the ACK of the last one. So a connection counts
    from its beginning, as netperf's does: its clock runs before connect() is called.
    No sample without data and ACKs.
    """
    if not len(trace.seq) or not len(trace.ack):
        return np.zeros(0, np.int64)
    sent = int(_ends(trace).max())
    highest = np.maximum.accumulate(trace.ack)
    acked = min(sent, int(highest[-1]))
    last = int(trace.ack_time_ns[np.searchsorted(highest, acked)])
    began = trace.time_ns[0] if trace.syn_time_ns is None else trace.syn_time_ns
    elapsed = last - int(began)
    if acked <= 0 or elapsed <= 0:
        return np.zeros(0, np.int64)
    return np.array([acked * _BITS * NS_PER_S // elapsed], np.int64)


def tso_size(trace: Trace) -> Column:
    """Return the payload bytes of each data packet."""
    return trace.length


def tso_segs(trace: Trace) -> Column:
    """Return ceil(payload / mss) of each data packet."""
    return _segments(trace.length, trace.mss)


def ack_stretch(trace: Trace) -> Column:
    """Return ceil(newly acknowledged payload / mss) of each ACK that advances.

    That is, of each that exceeds the highest acknowledgment before it. SYN and FIN take
    no place in a Trace's numbers, so they do not count. When the flow's start was not
    seen, the first ACK only says where the next one starts from.
    """
    newly = newly_acked(trace)
    return _segments(newly[newly > 0], trace.mss)


def ack_gap(trace: Trace) -> Column:
    """Return the time between one ACK that advances (see ack_stretch) and the next."""
    return np.diff(trace.ack_time_ns[newly_acked(trace) > 0])


def send_gap(trace: Trace) -> Column:
    """Return the time between each data packet and the next."""
    return np.diff(trace.time_ns)


def rtt(trace: Trace) -> Column:
    """Return the time from each data packet to the first ACK that covers all of it.

    Not for data any byte of which was sent twice before that ACK (Karn's rule), nor for
    data that was acknowledged before it passed. It is the round trip at the sender;
    elsewhere, the part of it beyond the vantage point.
    """
    ends = _ends(trace)
    fresh = np.flatnonzero(trace.seq >= _highest_before(ends))
    highest = np.maximum.accumulate(trace.ack)
    covering = np.searchsorted(highest, ends[fresh])
    covered = covering < len(highest)
    acked_ns = trace.ack_time_ns[covering[covered]]
    took = acked_ns - trace.time_ns[fresh[covered]]
    once = _sent_again_ns(trace, fresh)[covered] >= acked_ns
    return took[once & (took >= 0)]


def retransmits(trace: Trace) -> Column:
    """Return one sample: how many data packets brought no byte that is new.

    That is, how many lie wholly at or below the highest sequence seen before them.
    """
    ends = _ends(trace)
    return np.array([np.count_nonzero(ends <= _highest_before(ends))], np.int64)


def _ends(trace: Trace) -> Column:
    return trace.seq + trace.length


def _segments(payload: Column, mss: int) -> Column:
    return -(-payload // mss)


def _highest_before(values: Column) -> Column:
    """Return for each value the highest of those before it."""
    return np.maximum.accumulate(np.concatenate([[_BEFORE_ALL], values]))[:-1]


def newly_acked(trace: Trace) -> Column:
    """Return how far each ACK exceeds the highest before it; 0 if it does not."""
    if trace.start_known:
        highest = np.maximum.accumulate(np.maximum(trace.ack, 0))
        return np.diff(highest, prepend=0)
    highest = np.maximum.accumulate(trace.ack)
    return np.diff(highest, prepend=highest[:1])


def _sent_again_ns(trace: Trace, fresh: Column) -> Column:
    """Return when the first byte of each packet of new bytes was sent again."""
    ends = _ends(trace)
    again = np.flatnonzero(trace.seq < _highest_before(ends))
    # The fresh packets ascend and do not overlap, so each repeated range meets a run of
    # them. Later repetitions first, so that the earliest stands.
    starts = np.searchsorted(ends[fresh], trace.seq[again], side="right")
    stops = np.searchsorted(trace.seq[fresh], ends[again], side="left")
    times = np.full(len(fresh), np.iinfo(np.int64).max)
    for row in range(len(again) - 1, -1, -1):
        times[starts[row] : stops[row]] = trace.time_ns[again[row]]
    return times


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="throughput",
            unit="bit/s",
            meaning="payload acknowledged, from the SYN to the ACK of the last byte",
            samples=throughput,
            summed=True,
        ),
        Metric(
            name="tso_size",
            unit="bytes",
            meaning="payload of each data packet handed to the device",
            samples=tso_size,
        ),
        Metric(
            name="tso_segs",
            unit="segments",
            meaning="segments in each data packet",
            samples=tso_segs,
        ),
        Metric(
            name="ack_stretch",
            unit="segments",
            meaning="segments newly acknowledged by each ACK that advances",
            samples=ack_stretch,
        ),
        Metric(
            name="ack_gap",
            unit="ns",
            meaning="time between ACKs that advance",
            samples=ack_gap,
        ),
        Metric(
            name="send_gap",
            unit="ns",
            meaning="time between data packets",
            samples=send_gap,
        ),
        Metric(
            name="rtt",
            unit="ns",
            meaning="time from a data packet to the first ACK that covers it",
            samples=rtt,
        ),
        Metric(
            name="retransmits",
            unit="packets",
            meaning="data packets that brought no new byte",
            samples=retransmits,
            summed=True,
        ),
    )
}
