"""The formulas' test vectors: section 8.3 of the field notes, and their sources."""

import pytest

from testbed.model import sizing
from testbed.model.features import Sizing, Tsq
from tests.model.scenarios import TUNING

MSS = TUNING.mss
RATE = 20_000_000


@pytest.mark.parametrize(
    ("min_rtt_us", "segs"),
    [
        pytest.param(40_000, 13, id="40ms"),
        pytest.param(3_000, 14, id="3ms"),
        pytest.param(1_100, 24, id="1100us"),
        pytest.param(600, 36, id="600us"),
        pytest.param(100, 45, id="100us"),
        pytest.param(0xFFFFFFFF, 13, id="no-sample-yet"),
    ],
)
def test_a_shorter_min_rtt_makes_larger_packets(min_rtt_us: int, segs: int) -> None:
    found = sizing.tso_autosize(RATE, min_rtt_us, Sizing.XMIT_MIN_RTT, TUNING)

    assert found == segs


def test_before_5_18_the_min_rtt_does_not_count() -> None:
    assert sizing.tso_autosize(RATE, 100, Sizing.XMIT, TUNING) == 13


@pytest.mark.parametrize(
    ("cwnd", "segs"),
    [(10, 2), (20, 2), (40, 2), (80, 3), (160, 7), (320, 15), (640, 31)],
)
def test_packets_grow_with_cwnd_in_slow_start_at_40_ms(cwnd: int, segs: int) -> None:
    rate = sizing.pacing_rate(cwnd, 0, 40_000 << 3, 200, MSS)

    assert sizing.tso_autosize(rate, 40_000, Sizing.XMIT_MIN_RTT, TUNING) == segs


def test_the_initial_pacing_rate_is_twice_ten_segments_a_round_trip() -> None:
    assert sizing.pacing_rate(10, 0, 40_002 << 3, 200, MSS) == 723_963


def test_the_rate_counts_packets_out_if_there_are_more_than_cwnd() -> None:
    more = sizing.pacing_rate(10, 20, 40_000 << 3, 200, MSS)

    assert more == sizing.pacing_rate(20, 0, 40_000 << 3, 200, MSS)


@pytest.mark.parametrize(
    ("cwnd", "ratio"), [(10, 200), (49, 200), (50, 120), (100, 120)]
)
def test_pacing_slows_down_from_half_of_ssthresh_on(cwnd: int, ratio: int) -> None:
    assert sizing.pacing_ratio(cwnd, 100, TUNING) == ratio


@pytest.mark.parametrize(
    ("rate", "goal"),
    [
        pytest.param(723_963, 2 * MSS, id="at-least-two-segments"),
        pytest.param(20_000_000, 10_000, id="half-a-millisecond"),
        pytest.param(10**9, 65215, id="at-most-gso-max-size"),
    ],
)
def test_sendmsg_aimed_at_half_a_millisecond(rate: int, goal: int) -> None:
    assert sizing.sendmsg_goal(rate, TUNING) == goal


@pytest.mark.parametrize(
    ("max_window", "bound"),
    [
        pytest.param(65_160, 32_580, id="half-of-it"),
        pytest.param(500, 500, id="all-of-a-tiny-one"),
        pytest.param(200_000, 65_215, id="no-bound"),
        pytest.param(0, 65_215, id="not-known-yet"),
    ],
)
def test_an_skb_is_at_most_half_the_largest_window(max_window: int, bound: int) -> None:
    assert sizing.bound_to_half_window(65_215, max_window) == bound


@pytest.mark.parametrize(
    ("goal", "segs"),
    [
        pytest.param(10 * MSS + MSS - 1, 10, id="less-than-one-more"),
        pytest.param(11 * MSS, 11, id="one-more"),
        pytest.param(10 * MSS - 1, 9, id="less"),
    ],
)
def test_an_skbs_goal_moves_by_whole_segments(goal: int, segs: int) -> None:
    assert sizing.goal_segs(goal, 10, TUNING) == segs


@pytest.mark.parametrize(
    ("cwnd", "in_flight", "quota"),
    [
        pytest.param(10, 0, 5, id="half-of-cwnd"),
        pytest.param(10, 8, 2, id="what-is-left"),
        pytest.param(10, 10, 0, id="nothing"),
        pytest.param(1, 0, 1, id="at-least-one"),
    ],
)
def test_a_packet_takes_half_of_cwnd_at_most(
    cwnd: int, in_flight: int, quota: int
) -> None:
    assert sizing.cwnd_quota(cwnd, in_flight) == quota


@pytest.mark.parametrize(
    ("tsq", "paced", "limit"),
    [
        pytest.param(Tsq.UNPACED_ONLY, True, 2_000_000, id="unpaced-only-paced"),
        pytest.param(Tsq.UNPACED_ONLY, False, 1 << 20, id="unpaced-only-unpaced"),
        pytest.param(Tsq.MIN, True, 1 << 20, id="min"),
        pytest.param(Tsq.MAX, True, 2_000_000, id="benilov"),
        pytest.param(Tsq.SENDMSG, True, 2_000_000, id="before-3.19"),
    ],
)
def test_small_queues_of_a_fast_flow(tsq: Tsq, *, paced: bool, limit: int) -> None:
    rate = 2_000_000 << sizing.PACING_SHIFT

    assert sizing.tsq_limit(rate, 3728, tsq=tsq, paced=paced, tuning=TUNING) == limit


@pytest.mark.parametrize(
    ("tsq", "limit"),
    [
        pytest.param(Tsq.UNPACED_ONLY, 2 * 3728, id="unpaced-only"),
        pytest.param(Tsq.MIN, 2 * 3728, id="min"),
        pytest.param(Tsq.MAX, 1 << 20, id="benilov"),
        pytest.param(Tsq.SENDMSG, 1 << 20, id="before-3.19"),
    ],
)
def test_small_queues_of_a_slow_flow(tsq: Tsq, limit: int) -> None:
    assert sizing.tsq_limit(723_963, 3728, tsq=tsq, paced=True, tuning=TUNING) == limit
