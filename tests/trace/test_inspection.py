"""What inspect streams is what the metrics of a Trace say, for any capture."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.trace.capture import parse_capture
from testbed.trace.inspection import Inspection, inspect_bytes
from testbed.trace.measurement import Summary
from testbed.trace.metrics import METRICS
from testbed.trace.trace import Trace
from tests.trace.craft import FIN, RST, SYN, TIMESTAMPS, Talk, mss_option

SHARED = ("tso_size", "tso_segs", "ack_stretch", "send_gap", "ack_gap", "rtt")
CAPTURES = Path(__file__).parents[2] / "captures" / "reference"

#: What a host may do next, without regard to what makes sense.
STEP = st.fixed_dictionaries(
    {
        "client": st.booleans(),
        "flags": st.sampled_from([0, 0, 0, 0, 0, FIN, SYN, RST]),
        "seq": st.integers(-2, 12) | st.integers(-(2**33), 2**33),
        "length": st.sampled_from([0, 0, 1, 2, 3, 1000]),
        "ack": st.none() | st.integers(-1, 12) | st.integers(-(2**33), 2**33),
        "options": st.sampled_from([b"", TIMESTAMPS, mss_option(1460), mss_option(3)]),
    }
)


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    talk = Talk(client_isn=draw(st.sampled_from([0, 999, 2**32 - 3])))
    if draw(st.booleans()):
        talk.handshake()
    for step in draw(st.lists(STEP, max_size=14)):
        speak = talk.client if step.pop("client") else talk.server
        speak(**step)
    return talk


def same(streamed: Summary, wanted: Summary) -> bool:
    if streamed.n != wanted.n or not wanted.n:
        return streamed == wanted
    names = ("mean", "p50", "p90", "p99", "max")
    one, other = ([getattr(of, name) for name in names] for of in (streamed, wanted))
    return one == pytest.approx(other, rel=1e-12)


def differing(inspection: Inspection, traces: tuple[Trace, ...]) -> list[str]:
    """Return in what an inspection differs from the traces of the same capture."""
    wrong = []
    for report, trace in zip(inspection.flows, traces, strict=True):
        if (report.flow, report.mss) != (trace.flow, trace.mss):
            wrong.append(f"{report.flow} with mss {report.mss}")
        if report.packets != len(trace.length) or report.bytes != trace.length.sum():
            wrong.append(f"{report.packets} packets, {report.bytes} bytes")
        if report.retransmits != METRICS["retransmits"].samples(trace)[0]:
            wrong.append(f"{report.retransmits} retransmits")
        for name in SHARED:
            wanted = METRICS[name].measure(trace).summary()
            if not same(getattr(report, name), wanted):
                wrong.append(f"{name}: {getattr(report, name)}, not {wanted}")
    return wrong


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(talk=talks())
def test_what_is_streamed_is_what_a_trace_measures(talk: Talk) -> None:
    file = talk.written()

    wrong = differing(inspect_bytes(file, "x"), parse_capture(file, "x").traces)

    assert wrong == []


@pytest.mark.parametrize("variant", ["before", "after"])
def test_a_capture_of_a_real_kernel_measures_the_same_both_ways(variant: str) -> None:
    file = (CAPTURES / "refine-tso-autosizing" / f"{variant}.pcapng").read_bytes()

    wrong = differing(inspect_bytes(file, "x"), parse_capture(file, "x").traces)

    assert wrong == []
