"""Small results, made by hand: two variants, a claim of each sort, round numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
from builders import PATCH, a_claim, a_run, a_variant
from rich.console import Console

from testbed.claims import judge
from testbed.measured import MeasuredRun
from testbed.model.match import compare
from testbed.predicted import Predicted
from testbed.ratio import Ratio
from testbed.report.plots import Side
from testbed.report.result import Result
from testbed.report.table import verdict_table
from testbed.spec.claim import Claim
from testbed.spec.experiment import Experiment
from testbed.store import Run
from testbed.trace.measurement import Measurement
from testbed.trace.metrics import METRICS, measure
from testbed.trace.trace import Flow, Trace
from testbed.verdict import Verdict, VerdictKind

MSS = 1000
RTT_NS = 40_000_000
START_NS = 1_750_000_000_000_000_000
EPOCHS_APART_NS = -START_NS + 10_000_000_000
NO_SSTHRESH = 0x7FFFFFFF
NO_ROWS: Sequence[tuple[int, int, int]] = ()


def trace(
    packets: Sequence[tuple[int, int, int]] = NO_ROWS,
    acks: Sequence[tuple[int, int, int]] = NO_ROWS,
) -> Trace:
    """Return a trace of rows (ns since the SYN, seq, length) and (ns, ack, window)."""
    sent = np.array(packets, np.int64).reshape(-1, 3)
    came = np.array(acks, np.int64).reshape(-1, 3)
    return Trace(
        flow=Flow("10.0.0.1", 40000, "10.0.1.1", 5001),
        mss=MSS,
        time_ns=START_NS + sent[:, 0],
        seq=sent[:, 1],
        length=sent[:, 2],
        ack_time_ns=START_NS + came[:, 0],
        ack=came[:, 1],
        ack_window=came[:, 2],
        syn_time_ns=START_NS,
    )


def steady(count: int, segments: int) -> Trace:
    """Return a trace of equal packets, 1 ms apart, each acknowledged an RTT later."""
    size = segments * MSS
    return trace(
        [(RTT_NS + at * 1_000_000, at * size, size) for at in range(count)],
        [(2 * RTT_NS + at * 1_000_000, (at + 1) * size, 65536) for at in range(count)],
    )


def samples(count: int, ssthresh: int = NO_SSTHRESH) -> tuple[Mapping[str, int], ...]:
    """Return TCP_INFO samples 10 ms apart, in which the window grows by one each."""
    return tuple(
        {
            "time_ns": START_NS + RTT_NS + at * 10_000_000,
            "snd_cwnd": 10 + at,
            "snd_ssthresh": ssthresh,
            "pacing_rate": 1_250_000,
            "rtt": 40_000,
            "min_rtt": 39_000,
        }
        for at in range(count)
    )


def side(
    of: Trace,
    *,
    name: str = "before",
    tcp_info: Sequence[Mapping[str, int]] = (),
    model: Side | None = None,
) -> Side:
    return Side(name=name, place=0, trace=of, tcp_info=tcp_info, model=model)


def claim(metric: str, on: str, before: float, after: float, why: str = "") -> Claim:
    claimed = {"before": before, "after": after}
    return replace(a_claim(claimed, metric=metric), host=on, why=why)


CLAIMS = (
    claim("IpOutRequests", "sender", 599, 232),
    claim("IpInReceives", "sender", 600, 12_345_678),
    claim("TcpOutSegs", "receiver", 1400, 1400, "delayed ACKs"),
    claim("throughput", "sender", 44_220_000, 44_270_000),
)


def experiment(
    names: tuple[str, str] = ("before", "after"), claims: tuple[Claim, ...] = CLAIMS
) -> Experiment:
    return Experiment(
        name="tso",
        question="How many packets does it take?",
        patch=replace(PATCH, subject="tcp: a [bold]patch[/bold]"),
        variants=(
            a_variant(names[0], switches={"autosize": "1"}),
            a_variant(names[1], switches={"autosize": "0"}),
        ),
        claims=claims,
    )


def run(of: Experiment, name: str, folder: Path) -> Run:
    """Return a whole run whose folder holds an environment.json."""
    (folder / "environment.json").write_text(json.dumps({"mark": f"<env of {name}>"}))
    return replace(
        a_run(folder, name),
        state="whole",
        experiment=of,
        command="python -m testbed run tso --seed 1",
        wall_seconds=2.5,
        virtual_seconds=1.25,
    )


def void_run(of: Experiment, name: str, folder: Path, why: str) -> Run:
    return replace(run(of, name, folder), state="void", why=why)


def measured(
    of: Run,
    seen: Trace,
    counters: Mapping[str, Mapping[str, int]],
    tcp_info: tuple[Mapping[str, int], ...] = (),
) -> MeasuredRun:
    rate = Measurement(
        metric="throughput", unit="bit/s", samples=np.array([6_200_000], np.int64)
    )
    return MeasuredRun(
        run=of,
        trace=seen,
        metrics={**measure(METRICS, (seen,)), "throughput": rate},
        counters=counters,
        known_counters=frozenset(name for each in counters.values() for name in each),
        tcp_info=tcp_info,
    )


def predicted(
    variant: str,
    seen: Trace,
    against: Trace,
    counters: Mapping[str, Mapping[str, int]],
    attribution: Mapping[str, float],
) -> Predicted:
    """Return what a model says whose clock began at another time."""
    later = {
        name: getattr(seen, name) + EPOCHS_APART_NS
        for name in ("time_ns", "ack_time_ns")
    }
    own = replace(seen, syn_time_ns=START_NS + EPOCHS_APART_NS, **later)
    return Predicted(
        variant=variant,
        trace=own,
        tcp_info=tuple(
            {**each, "time_ns": each["time_ns"] + EPOCHS_APART_NS}
            for each in samples(8, ssthresh=20)
        ),
        counters=counters,
        metrics=measure(METRICS, (own,)),
        attribution=attribution,
        match=compare(against, own),
        at_divergence=STATE,
    )


STATE = {
    "snd_cwnd": 12,
    "snd_ssthresh": NO_SSTHRESH,
    "packets_out": 7,
    "snd_una": 4000,
    "snd_wnd": 65_000,
    "sk_pacing_rate": 1_250_000,
    "srtt_us": 8 * 40_500,
    "min_rtt_us": 39_500,
    "sk_wmem_alloc": 2305,
}

BEFORE = {
    "sender": {"IpOutRequests": 601, "IpInReceives": 598, "TcpActiveOpens": 1},
    "receiver": {"TcpOutSegs": 7001},
}
PREDICTED_AFTER = {
    "sender": {"IpOutRequests": 233, "IpInReceives": 77_654_321},
    "receiver": {"TcpOutSegs": 8008},
}
AFTER = {
    "sender": {"IpOutRequests": 230, "IpInReceives": 87_654_321},
    "receiver": {"TcpOutSegs": 9009},
}


def result(
    folder: Path,
    names: tuple[str, str] = ("before", "after"),
    claims: tuple[Claim, ...] = CLAIMS,
) -> Result:
    """Return an experiment of two measured runs: 50 packets of 2 segments, 10 of 10.

    The model predicts the first to the last packet; in the second it takes 20 of 5.
    """
    of = experiment(names, claims)
    runs = (
        measured(run(of, names[0], folder), steady(50, 2), BEFORE, samples(8)),
        measured(run(of, names[1], folder), steady(10, 10), AFTER, samples(8)),
    )
    first, second = names
    shares = {"autosize": 0.75, "cwnd_quota": 0.25}
    predictions = {
        first: predicted(first, steady(50, 2), runs[0].trace, BEFORE, shares),
        second: predicted(
            *(second, steady(20, 5), runs[1].trace, PREDICTED_AFTER),
            {"defer_release": 1.0},
        ),
    }
    return Result(
        experiment=of,
        runs=runs,
        verdicts=judge(claims, runs, predictions),
        predictions=predictions,
    )


def in_real_time(folder: Path) -> Result:
    """Return a claim that was judged by a ratio of 1.35, [1.09, 1.74], not of 1.44."""
    of = claim("transactions", "sender", 8887.47, 12_838.93)
    ratio = Ratio(
        over="after",
        under="before",
        claimed=12_838.93 / 8887.47,
        measured=1.351,
        interval=(1.092, 1.738),
        pairs=10,
    )
    verdict = Verdict(
        claim=of,
        measured={"before": 2301.0, "after": 3109.0},
        kind=VerdictKind.DIRECTION_ONLY,
        why="so it is",
        ratio=ratio,
    )
    return replace(result(folder, claims=(of,)), verdicts=(verdict,))


def half_void(folder: Path) -> Result:
    """Return an experiment whose second variant is void, and so without verdicts."""
    whole = result(folder)
    lost = void_run(whole.experiment, "after", folder, "the capture lost 12 packets")
    predictions = {"before": whole.predictions["before"]}
    return replace(
        whole,
        runs=whole.runs[:1],
        verdicts=(),
        predictions=predictions,
        voids=(lost,),
    )


def all_void(folder: Path) -> Result:
    """Return an experiment of which nothing was measured."""
    of = experiment()
    lost = void_run(of, "before", folder, "the machine hung")
    return Result(experiment=of, runs=(), verdicts=(), voids=(lost,))


def printed(*results: Result, width: int = 80) -> str:
    """Return what a pipe of some width is sent."""
    out = StringIO()
    Console(file=out, width=width).print(verdict_table(results))
    return out.getvalue()


class Page(HTMLParser):
    """A page taken apart: its ids, what it refers to, its tags, scripts, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.scripts: list[str] = []
        self._text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href", "src"):
                self.references.append(value or "")
            if name == "clip-path":
                self.references.append((value or "")[4:-1])

    def handle_data(self, data: str) -> None:
        in_script = self.lasttag == "script" and self.cdata_elem is not None
        (self.scripts if in_script else self._text).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._text).split())

    @property
    def outside(self) -> list[str]:
        """What it refers to that is not on the page."""
        known = {f"#{name}" for name in self.ids}
        return [each for each in self.references if each not in known]
