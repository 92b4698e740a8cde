"""A Trace written to a capture and read back says the same as before."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.trace.metrics import METRICS, measure
from testbed.trace.trace import Trace
from tests.trace.craft import MS, SYN, Talk, mss_option

#: One byte is left out: it could be a keepalive.
STEP = st.tuples(st.sampled_from(["send", "again", "ack"]), st.integers(2, 200_000))


some = settings(deadline=None, max_examples=60)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@st.composite
def talks(draw: st.DrawFn) -> tuple[Talk, list[tuple[int, int, int]]]:
    """Return a conversation, and its events as (time, seq or ack, length or -1)."""
    talk = Talk(client_isn=draw(st.integers(0, 2**32 - 1)))
    talk.client(flags=SYN, seq=-1, options=mss_option(1000))
    sent = acked = 0
    events = []
    for what, size in draw(st.lists(STEP, min_size=1, max_size=40)):
        time_ns = len(talk.packets) * MS
        if what == "ack":
            acked = min(sent, acked + size)
            talk.server(ack=acked)
            events.append((time_ns, acked, -1))
        else:
            seq = sent if what == "send" else max(0, sent - size)
            talk.client(seq=seq, length=min(size, 60_000))
            events.append((time_ns, seq, min(size, 60_000)))
            sent = max(sent, seq + min(size, 60_000))
    return talk, events


def made(flow_of: Trace, events: list[tuple[int, int, int]]) -> Trace:
    data = [event for event in events if event[2] >= 0]
    acks = [event for event in events if event[2] < 0]
    return Trace(
        flow=flow_of.flow,
        mss=1000,
        time_ns=column([time_ns for time_ns, _, _ in data]),
        seq=column([seq for _, seq, _ in data]),
        length=column([length for _, _, length in data]),
        ack_time_ns=column([time_ns for time_ns, _, _ in acks]),
        ack=column([ack for _, ack, _ in acks]),
        ack_window=column([500 for _ in acks]),
        syn_time_ns=0,
    )


def said(traces: list[Trace]) -> dict[str, list[int]]:
    measured = measure(METRICS, traces)
    return {name: of.samples.tolist() for name, of in measured.items()}


@some
@given(talked=talks())
def test_a_trace_written_and_read_back_measures_the_same(
    talked: tuple[Talk, list[tuple[int, int, int]]],
) -> None:
    talk, events = talked

    read = [*talk.traces()]

    assert said(read) == said([made(trace, events) for trace in read])


@some
@given(talked=talks())
def test_the_columns_of_a_trace_read_back_the_same(
    talked: tuple[Talk, list[tuple[int, int, int]]],
) -> None:
    talk, events = talked

    rows = [tuple(row) for trace in talk.traces() for row in trace.segments()]

    assert rows == [event for event in events if event[2] >= 0]
