import numpy as np
import pytest

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

    assert (match.match, match.first_divergence, match.size_distance) == (1.0, None, 0)


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
