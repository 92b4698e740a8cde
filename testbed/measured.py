"""A run measured: its stored facts, and the metrics recomputed from its captures."""

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.store import Run
from testbed.trace.measurement import Measurement
from testbed.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """What is known of one run.

    trace: the stream's packets at the sender, where TSO sizes are seen.  metrics: by
    contract name.  counters: "sender" and "receiver" to nstat name to delta; nstat
    leaves out what did not move.  known_counters: all that the kernel has.
    attribution: the share of data packets by the rule that gave their size, as the
    kernel's own tracepoint says; None when unknown.
    """

    run: Run
    trace: Trace
    metrics: Mapping[str, Measurement]
    counters: Mapping[str, Mapping[str, int]]
    known_counters: frozenset[str]
    tcp_info: tuple[Mapping[str, int], ...]
    attribution: Mapping[str, float] | None = None

    def value(self, metric: str, on: str) -> float | None:
        """Return one figure for a metric (its mean) or a counter; None if unknown."""
        if metric in self.metrics:
            return self.metrics[metric].summary().mean
        if metric in self.known_counters:
            return float(self.counters[on].get(metric, 0))
        return None

    def sample_before(self, since_start_ns: int) -> Mapping[str, int] | None:
        """Return the last TCP_INFO sample by a time since the trace began, if any."""
        until = self.trace.start_ns + since_start_ns
        known = [each for each in self.tcp_info if each["time_ns"] <= until]
        return known[-1] if known else None
