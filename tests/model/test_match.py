from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.model.match import Divergence, compare
from testbed.trace.trace import Flow, Segment, Trace
from tests.model.scenarios import LONG


def a_trace(*packets: tuple[int, int], start_ns: int = 0) -> Trace:
    none = np.zeros(0, np.int64)
    return Trace(
        flow=Flow("a", 1, "b", 2),
        mss=1000,
        time_ns=np.arange(len(packets), dtype=np.int64) * LONG.rtt + start_ns,
        seq=np.array([seq for seq, _ in packets], np.int64),
        length=np.array([length for _, length in packets], np.int64),
        ack_time_ns=none,
        ack=none,
        ack_window=none,
    )


def test_equal_traces_match_at_whatever_times() -> None:
    packets = ((0, 1000), (1000, 2000))
    match = compare(a_trace(*packets), a_trace(*packets, start_ns=77))

    assert (match.match, match.first_divergence) == (1.0, None)
    assert (match.size_distance, match.stretch_distance) == (0, 0)


def test_two_empty_traces_match() -> None:
    assert compare(a_trace(), a_trace()).match == 1.0


def test_a_packet_cut_in_two_is_one_packet_missed() -> None:
    measured = a_trace((0, 1000), (1000, 2000), (3000, 1000), (4000, 1000))
    predicted = a_trace(
        (0, 1000), (1000, 1000), (2000, 1000), (3000, 1000), (4000, 1000)
    )
    match = compare(measured, predicted)

    assert match.match == 3 / 5
    assert match.first_divergence == Divergence(
        index=1,
        measured=Segment(LONG.rtt, 1000, 2000),
        predicted=Segment(LONG.rtt, 1000, 1000),
    )


def test_order_counts() -> None:
    measured = a_trace((0, 1000), (1000, 1000), (2000, 1000))
    predicted = a_trace((2000, 1000), (0, 1000), (1000, 1000))

    assert compare(measured, predicted).match == pytest.approx(2 / 3)


def test_a_packet_sent_twice_is_two_packets() -> None:
    measured = a_trace((0, 1000), (0, 1000))

    assert compare(measured, a_trace((0, 1000))).match == 1 / 2


def test_a_trace_that_ends_early_diverges_where_it_ends() -> None:
    match = compare(a_trace((0, 1000)), a_trace((0, 1000), (1000, 1000)))

    assert match.first_divergence == Divergence(
        index=1, measured=None, predicted=Segment(LONG.rtt, 1000, 1000)
    )


def test_the_size_distance_is_the_largest_gap_of_the_shares() -> None:
    measured = a_trace((0, 1000), (1000, 1000), (2000, 3000), (5000, 3000))
    predicted = a_trace((0, 1000), (1000, 3000), (4000, 3000), (7000, 3000))

    assert compare(measured, predicted).size_distance == 0.25


def acknowledged(*acks: int) -> Trace:
    return replace(
        a_trace((0, 8000)),
        ack_time_ns=np.arange(len(acks), dtype=np.int64),
        ack=np.array(acks, np.int64),
        ack_window=np.full(len(acks), 65536, np.int64),
    )


def test_the_stretch_distance_is_that_of_segments_an_ack() -> None:
    measured = acknowledged(1000, 2000, 3000, 8000)
    predicted = acknowledged(1000, 2000, 5000, 8000)

    assert compare(measured, predicted).stretch_distance == 0.25


def test_a_trace_without_packets_is_as_far_as_can_be() -> None:
    match = compare(a_trace(), a_trace((0, 1000)))

    assert (match.match, match.size_distance) == (0, 1)


def common(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> int:
    """Return the longest common subsequence the slow way, repeats told apart."""
    first, second = (
        [(each, of[:at].count(each)) for at, each in enumerate(of)]
        for of in (ours, theirs)
    )
    best = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for row, one in enumerate(first):
        for column, other in enumerate(second):
            best[row + 1][column + 1] = (
                best[row][column] + 1
                if one == other
                else max(best[row][column + 1], best[row + 1][column])
            )
    return best[-1][-1]


packets = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2)), max_size=8)


@given(packets, packets)
def test_packets_in_common_are_as_many_as_the_slow_way_finds(ours, theirs) -> None:
    longer = max(len(ours), len(theirs), 1)
    expected = common(ours, theirs) / longer if ours or theirs else 1.0

    assert compare(a_trace(*ours), a_trace(*theirs)).match == expected
