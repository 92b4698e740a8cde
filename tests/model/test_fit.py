"""The rule that made a trace is the one that is named.

On a real kernel's captures, on the model's own packets, from the receiver's side, from
the middle of a flow; and where no rule made them, that is said.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.model.fit import EXPLAINS, Fit, fit
from testbed.model.match import compare
from testbed.model.observed import observe
from testbed.model.policies import POLICIES, Policy
from testbed.model.simulate import simulate
from testbed.model.stretch import MOST_PACKETS
from testbed.spec.path import Path
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings
from testbed.trace.capture import read_capture
from testbed.trace.trace import Flow, Trace
from tests.model.scenarios import CAPTURES, LONG, MS, RACK, a_stream

NEAR = Path(rtt=10 * MS, rate=10**9, queue=1000)
PATHS = {"rack": RACK, "10ms": NEAR, "40ms": LONG}
BY_NAME = {policy.name: policy for policy in POLICIES}
SIZE = 300_000


def simulated(policy: Policy, path: Path, size: int = SIZE, **given: object) -> Trace:
    """Return what a sender with a policy sends."""
    limit = {"net.ipv4.tcp_limit_output_bytes": str(policy.limit_output_bytes)}
    whole = {} if policy.autosizes else {"net.ipv4.tcp_min_tso_segs": "45"}
    sender = HostSettings(sysctls=limit | whole, qdisc=Qdisc(kind="fq"))
    return simulate(a_stream(size, path, sender, **given), policy.features).trace


@cache
def sent_by_each(place: str) -> dict[str, Trace]:
    """Return what a sender with each of the policies sends over a path."""
    return {policy.name: simulated(policy, PATHS[place]) for policy in POLICIES}


def names(found: Fit) -> set[str]:
    return {policy.name for policy in found.best}


@pytest.mark.parametrize(
    ("variant", "name", "verdict"),
    [
        (
            "before",
            "sendmsg-one_ms",
            "packet sizes are those of half a millisecond of the pacing rate when "
            "written, at sendmsg() (6.12 with the switch sendmsg_autosize): 100% of "
            "572 packets; next best ",
        ),
        (
            "after",
            "min_rtt-growth",
            "packet sizes are those of tcp_tso_autosize with min_rtt, filled up from "
            "the next skb (6.18 on, 6.12.55 on): 100% of 175 packets; next best ",
        ),
    ],
)
def test_a_real_kernels_rule_is_named(variant: str, name: str, verdict: str) -> None:
    (trace,) = read_capture(CAPTURES / f"{variant}.pcapng").traces
    found = fit(trace)

    assert found.candidates[0].policy.name == name
    assert found.candidates[0].match == 1.0
    assert found.candidates[0].first_miss is None
    assert found.verdict.startswith(verdict)
    assert (found.rows, found.from_start) == ((0, len(trace.length)), True)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        pytest.param(place, name, id=f"{place}-{name}")
        for place, names in (
            ("rack", ("min_rtt-growth", "autosize", "min_rtt-growth-v1")),
            ("10ms", ("min_rtt", "min_rtt-half_rtt", "autosize-v1", "largest-growth")),
            ("40ms", ("min_rtt-growth-half_rtt", "sendmsg", "largest")),
        )
        for name in names
    ],
)
def test_exactly_the_rules_that_send_these_packets_are_named(
    place: str, name: str
) -> None:
    sent = sent_by_each(place)
    trace = sent[name]
    alike = {each for each in sent if compare(sent[each], trace).match == 1}
    found = fit(trace)

    assert name in names(found)
    assert names(found) == alike
    assert found.candidates[0].match == 1.0


def test_rules_of_one_size_cannot_be_told_apart() -> None:
    found = fit(simulated(BY_NAME["autosize"], RACK))

    assert "which cannot be told apart here" in found.verdict
    assert "3.19 and 4.0" in found.verdict
    assert "3.6 to 3.11" in found.verdict


def test_packets_of_random_size_are_explained_by_nothing() -> None:
    trace = simulated(BY_NAME["min_rtt-growth"], NEAR, size=1_000_000)
    rng = np.random.default_rng(1)
    length = rng.integers(1, 20 * trace.mss, len(trace.length))
    ends = np.cumsum(length)
    sent = np.searchsorted(trace.time_ns, trace.ack_time_ns - NEAR.rtt)
    ack = np.concatenate([[0], ends])[sent]
    found = fit(replace(trace, length=length, seq=ends - length, ack=ack))

    assert found.best == ()
    assert found.candidates[0].match < EXPLAINS
    assert found.verdict.startswith("no rule explains the packet sizes: the best, ")


def test_at_the_receiver_acks_are_taken_to_arrive_a_round_trip_later() -> None:
    trace = simulated(BY_NAME["min_rtt-growth"], NEAR)
    half = NEAR.rtt // 2
    assert trace.syn_time_ns is not None
    there = replace(
        trace,
        time_ns=trace.time_ns + half,
        syn_time_ns=trace.syn_time_ns + half,
        ack_time_ns=trace.ack_time_ns - half,
    )
    found = fit(there)

    assert "min_rtt-growth" in names(found)
    assert abs(found.delay_ns - NEAR.rtt) < MS
    assert found.candidates[0].match >= 0.95


def without_the_start(trace: Trace, rows: int) -> Trace:
    """Return what a capture has that was begun after so many packets."""
    begun = int(trace.time_ns[rows])
    later = trace.ack_time_ns >= begun
    first = int(trace.seq[rows])
    return replace(
        trace,
        time_ns=trace.time_ns[rows:],
        seq=trace.seq[rows:] - first,
        length=trace.length[rows:],
        ack_time_ns=trace.ack_time_ns[later],
        ack=trace.ack[later] - first,
        ack_window=trace.ack_window[later],
        syn_time_ns=None,
        start_known=False,
    )


def test_a_flow_is_fitted_from_its_middle_too() -> None:
    trace = simulated(BY_NAME["min_rtt-growth"], LONG, size=2_000_000)
    found = fit(without_the_start(trace, 40))

    assert "min_rtt-growth" in names(found)
    assert not found.from_start


def test_a_loss_ends_what_is_fitted() -> None:
    trace = simulated(BY_NAME["min_rtt-growth"], LONG, size=2_000_000)
    seq = trace.seq.copy()
    seq[120] = seq[100]
    found = fit(replace(trace, seq=seq))

    assert found.rows == (0, 120)
    assert found.ends == "a loss, or a gap in the capture, shows there"
    assert "min_rtt-growth" in names(found)


def test_of_a_long_trace_the_first_packets_are_fitted() -> None:
    trace = simulated(BY_NAME["sendmsg"], LONG, size=2_500_000)
    assert len(trace.length) > MOST_PACKETS
    found = fit(trace, (BY_NAME["sendmsg"],))

    assert found.rows == (0, MOST_PACKETS)
    assert found.ends == "no more is fitted"
    assert found.packets == len(trace.length)
    assert found.candidates[0].match >= 0.95


def test_segments_alone_cannot_show_tso() -> None:
    trace = simulated(BY_NAME["min_rtt-growth"], NEAR)
    segments = np.full(50, trace.mss)
    found = fit(
        replace(
            trace,
            time_ns=np.repeat(trace.time_ns[0], 50),
            seq=np.cumsum(segments) - segments,
            length=segments,
        )
    )

    assert found.candidates == ()
    assert "it cannot show TSO" in found.verdict


def test_a_pause_with_all_acknowledged_may_be_for_want_of_data() -> None:
    one, pause = simulated(BY_NAME["min_rtt-growth"], NEAR), 60 * MS
    again_ns = int(one.time_ns[-1]) - one.start_ns + pause
    later = one.ack_time_ns + again_ns
    twice = replace(
        one,
        time_ns=np.concatenate([one.time_ns, one.time_ns + again_ns]),
        seq=np.concatenate([one.seq, one.seq + SIZE]),
        length=np.tile(one.length, 2),
        ack_time_ns=np.concatenate([one.ack_time_ns, later]),
        ack=np.concatenate([one.ack, one.ack + SIZE]),
        ack_window=np.tile(one.ack_window, 2),
    )
    paused, at_once = observe(twice).seen.messages

    assert [message.end for message in paused] == [SIZE, 2 * SIZE]
    assert paused[1].time_ns == one.time_ns[0] + again_ns
    assert [message.end for message in at_once] == [2 * SIZE]


def columns(most: int) -> st.SearchStrategy[list[tuple[int, int, int]]]:
    row = st.tuples(
        st.integers(-(2**40), 2**40),
        st.integers(-(2**33), 2**33),
        st.integers(0, 2**31),
    )
    return st.lists(row, max_size=most)


def a_trace_of(
    packets: list[tuple[int, int, int]], acks: list[tuple[int, int, int]], mss: int
) -> Trace:
    sent = np.array(packets, np.int64).reshape(-1, 3)
    came = np.array(acks, np.int64).reshape(-1, 3)
    return Trace(
        flow=Flow("a", 1, "b", 2),
        mss=mss,
        time_ns=sent[:, 0].copy(),
        seq=sent[:, 1].copy(),
        length=sent[:, 2].copy(),
        ack_time_ns=came[:, 0].copy(),
        ack=came[:, 1].copy(),
        ack_window=came[:, 2].copy(),
        syn_time_ns=0,
    )


@given(columns(25), columns(25), st.integers(1, 70_000))
def test_no_trace_makes_it_fail(packets, acks, mss) -> None:
    assert fit(a_trace_of(packets, acks, mss)).verdict


steps = st.lists(
    st.tuples(st.integers(0, 50 * MS), st.integers(1, 70_000), st.integers(0, 90 * MS)),
    min_size=10,
    max_size=20,
)
TWO = (BY_NAME["min_rtt-growth"], BY_NAME["sendmsg"])


@settings(max_examples=15, deadline=None)
@given(steps, st.integers(1, 9000), st.booleans(), st.integers(0, 2**20))
def test_no_flow_in_order_makes_it_fail(rows, mss, syn, window) -> None:
    """Any times, sizes and ACKs: what was never sent by Linux, but is no nonsense."""
    times = np.cumsum([100 + gap for gap, _, _ in rows])
    length = np.array([size for _, size, _ in rows], np.int64)
    ends = np.cumsum(length)
    acks = np.sort(times + [wait for _, _, wait in rows])
    came = [(int(at), int(end), window) for at, end in zip(acks, ends, strict=True)]
    sent = list(
        zip(times.tolist(), (ends - length).tolist(), length.tolist(), strict=True)
    )
    trace = a_trace_of(sent, [(50, 0, window), *came], mss)
    trace = trace if syn else replace(trace, syn_time_ns=None)
    found = fit(trace, TWO)

    assert found.verdict
    for each in found.candidates:
        assert 0 <= each.match <= 1
        assert each.same <= each.packets == found.rows[1] - found.rows[0]
