"""A run measured: its stored facts, and the metrics recomputed from its captures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testbed.facts import statistic
from testbed.store import Run
from testbed.trace.causes import Cause
from testbed.trace.decisions import Decisions, causes, read_decisions
from testbed.trace.measurement import Measurement
from testbed.trace.trace import Column, Trace

#: The rule of packets whose decision did not fit the kernel's buffer.
LOST = "lost"
#: The switch of tcp-sendmsg-autosize.patch: what sizes an skb that is sent as it is.
_SENDMSG_AUTOSIZE = "tcp.sendmsg_autosize"

#: The sender's state by the kernel's names, and the columns of Decisions that have it.
_STATE = {
    "snd_cwnd": "snd_cwnd",
    "snd_ssthresh": "snd_ssthresh",
    "packets_out": "packets_out",
    "snd_una": "snd_una",
    "sk_pacing_rate": "pacing_rate",
    "srtt_us": "srtt_us",
    "min_rtt_us": "min_rtt",
    "sk_wmem_alloc": "wmem_alloc",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """What is known of one run.

    trace: the first flow's packets at the sender, where TSO sizes are seen; None where
    nothing was captured.  metrics: by contract name, over all flows.  counters:
    "sender" and "receiver" to nstat name to delta; nstat leaves out what did not move.
    known_counters: all that the kernel has.  tcp_info:
    the first flow's.  decisions: what the kernel said of the size of each of the first
    flow's packets; causes: the rule that gave each packet of the trace its size, as
    causes_by_packet has it; attribution: the share of them that each rule gave theirs;
    all None where the kernel did not say.
    """

    run: Run
    trace: Trace | None
    metrics: Mapping[str, Measurement]
    counters: Mapping[str, Mapping[str, int]]
    known_counters: frozenset[str]
    tcp_info: tuple[Mapping[str, int], ...]
    decisions: Decisions | None = None
    causes: Column | None = None
    attribution: Mapping[str, float] | None = None

    def value(self, metric: str, on: str) -> float | None:
        """Return one figure for a metric (its mean) or a counter; None if unknown."""
        measured = statistic(self.metrics, metric)
        if measured is not None:
            return measured
        if metric in self.known_counters:
            return float(self.counters[on].get(metric, 0))
        return None

    def work(self) -> int:
        """Return the bytes of payload that the sender sent, by its own account."""
        return int(self.run.workload()["bytes"])

    def deciding_on(self, index: int) -> Mapping[str, int] | None:
        """Return the sender's state in which it decided on a data packet of the trace.

        Names and units are the kernel's.  None where the kernel did not say, as of a
        packet sent again.
        """
        if self.decisions is None or self.trace is None:
            return None
        seq = self.trace.seq[index]
        if seq in self.trace.seq[:index]:
            return None
        (rows,) = (self.decisions.seq == seq).nonzero()
        if not len(rows):
            return None
        said = {
            name: int(getattr(self.decisions, column)[rows[0]])
            for name, column in _STATE.items()
        }
        end = int(self.decisions.wnd_end[rows[0]])
        return {**said, "snd_wnd": end - said["snd_una"]}

    def sample_before(self, since_start_ns: int) -> Mapping[str, int] | None:
        """Return the last TCP_INFO sample by a time since the trace began, if any."""
        if self.trace is None:
            return None
        until = self.trace.start_ns + since_start_ns
        known = [each for each in self.tcp_info if each["time_ns"] <= until]
        return known[-1] if known else None


def decisions_of(run: Run) -> Decisions | None:
    """Return what the kernel said of a run's packets, None where it did not say."""
    return read_decisions(run.decisions()) if run.has_decisions() else None


def causes_of(run: Run, decisions: Decisions) -> tuple[Cause, ...]:
    """Return the rule that gave each packet that a run's kernel told of its size."""
    by_sendmsg = run.environment()["switches"].get(_SENDMSG_AUTOSIZE) == "Y"
    built_by = Cause.AUTOSIZE if by_sendmsg else Cause.HALF_WINDOW
    return causes(decisions, built_by)


def attribution_of(run: Run, told: Sequence[Cause]) -> dict[str, float]:
    """Return the share of a run's data packets that each rule gave their size.

    told: the causes of those that the kernel told of.
    """
    counted = Counter(cause.value for cause in told)
    counted[LOST] = run.lost_decisions()
    rules = (*(cause.value for cause in Cause), LOST)
    return {rule: counted[rule] / counted.total() for rule in rules if counted[rule]}
