import pytest

from testbed.model.congestion import Reno, cong_avoid_ai, count_ack, slow_start
from testbed.model.cubic import CUBE_FACTOR, Cubic, cubic_root
from testbed.model.features import Counting
from testbed.model.sock import CaState, TcpSock

MS = 1_000_000


def a_sock(cwnd: int, ssthresh: int = 0x7FFFFFFF) -> TcpSock:
    sock = TcpSock(1 << 20)
    sock.snd_cwnd, sock.snd_ssthresh = cwnd, ssthresh
    sock.is_cwnd_limited = True
    return sock


def test_slow_start_adds_what_is_acknowledged() -> None:
    sock = a_sock(10)

    assert (slow_start(sock, 4), sock.snd_cwnd) == (0, 14)


def test_slow_start_stops_at_ssthresh_and_returns_the_rest() -> None:
    sock = a_sock(10, ssthresh=12)

    assert (slow_start(sock, 5), sock.snd_cwnd) == (3, 12)


def test_additive_increase_counts_every_segment_of_a_stretch_ack() -> None:
    sock = a_sock(10, ssthresh=10)
    cong_avoid_ai(sock, 10, 25)

    assert (sock.snd_cwnd, sock.snd_cwnd_cnt) == (12, 5)


def test_credit_from_a_larger_window_is_worth_one_segment() -> None:
    sock = a_sock(10, ssthresh=10)
    sock.snd_cwnd_cnt = 30
    cong_avoid_ai(sock, 10, 1)

    assert (sock.snd_cwnd, sock.snd_cwnd_cnt) == (11, 1)


def test_reno_adds_a_segment_a_round_trip() -> None:
    sock = a_sock(10, ssthresh=10)
    Reno().cong_avoid(sock, 0, 10)

    assert sock.snd_cwnd == 11


@pytest.mark.parametrize(
    ("counting", "cwnd"),
    [
        pytest.param(Counting.SEGMENTS, 12, id="3.19"),
        pytest.param(Counting.ACKS, 10, id="3.18"),
    ],
)
def test_before_3_19_a_stretch_ack_counted_as_one_segment(
    counting: Counting, cwnd: int
) -> None:
    sock = a_sock(10, ssthresh=10)
    Reno(counting=counting).cong_avoid(sock, 0, 20)

    assert sock.snd_cwnd == cwnd


def test_before_3_19_cubic_counted_acks_too() -> None:
    sock = a_sock(100, ssthresh=100)
    cubic = Cubic(gso_max_size=65215, paced=True, counting=Counting.ACKS)
    cubic.cong_avoid(sock, 1000 * MS, 100)

    assert (sock.snd_cwnd, sock.snd_cwnd_cnt) == (100, 1)


def a_cubic_of_3_18() -> Cubic:
    return Cubic(gso_max_size=65215, paced=True, counting=Counting.ACK_RATIO)


@pytest.mark.parametrize(
    ("acked", "ca_state", "estimate"),
    [
        pytest.param((10,), CaState.OPEN, 32 - 2 + 10, id="one-ack"),
        pytest.param((45,) * 100, CaState.OPEN, 32 * 16, id="at-most-32"),
        pytest.param((0,), CaState.OPEN, 32, id="nothing-acknowledged"),
        pytest.param((10,), CaState.RECOVERY, 32, id="in-recovery"),
    ],
)
def test_cubic_estimated_how_many_segments_an_ack_acknowledges(
    acked: tuple[int, ...], ca_state: CaState, estimate: int
) -> None:
    # In sixteenths, from two on: an average that forgets a sixteenth with each ACK.
    sock, cubic = a_sock(100, ssthresh=100), a_cubic_of_3_18()
    sock.ca_state = ca_state
    for count in acked:
        cubic.pkts_acked(sock, 1000 * MS, -1, count)

    assert cubic.delayed_ack == estimate


def test_the_estimate_made_cubic_of_3_18_grow_faster() -> None:
    # cnt is 20 before the first loss; 20 by 32 would be none.
    sock, cubic = a_sock(100, ssthresh=100), a_cubic_of_3_18()
    cubic.cong_avoid(sock, 1000 * MS, 100)
    by_two = cubic.cnt
    cubic.delayed_ack = 32 * 16
    cubic.cong_avoid(sock, 2000 * MS, 100)

    assert (by_two, cubic.cnt) == (10, 1)


def test_cubic_of_3_18_aimed_anew_within_a_jiffy() -> None:
    sock, cubic = a_sock(1000, ssthresh=100), a_cubic_of_3_18()
    sock.snd_cwnd = cubic.ssthresh(sock)
    cubic.cong_avoid(sock, 1000 * MS, 1)
    before = cubic.cnt
    sock.snd_cwnd = 990
    cubic.cong_avoid(sock, 1000 * MS, 1)

    assert cubic.last_cwnd == 990
    assert cubic.cnt != before


def test_cubic_of_3_18_dropped_what_slow_start_left_of_an_ack() -> None:
    sock, cubic = a_sock(10, ssthresh=12), a_cubic_of_3_18()
    cubic.cong_avoid(sock, 1000 * MS, 5)

    assert (sock.snd_cwnd, sock.snd_cwnd_cnt, cubic.epoch_start) == (12, 0, 0)


def test_up_to_3_18_one_ack_more_was_counted() -> None:
    sock = a_sock(10, ssthresh=10)
    for _ack in range(2):
        count_ack(sock, 2)
    before = sock.snd_cwnd
    count_ack(sock, 2)

    assert (before, sock.snd_cwnd, sock.snd_cwnd_cnt) == (10, 11, 0)


@pytest.mark.parametrize("congestion", [Reno(), Cubic(gso_max_size=65215, paced=True)])
def test_cwnd_stays_where_it_is_not_what_limits(congestion: Reno | Cubic) -> None:
    sock = a_sock(10)
    sock.is_cwnd_limited = False
    congestion.cong_avoid(sock, 0, 4)

    assert sock.snd_cwnd == 10


def test_slow_start_may_double_what_was_out() -> None:
    sock = a_sock(10)
    sock.is_cwnd_limited, sock.max_packets_out = False, 6
    Reno().cong_avoid(sock, 0, 2)

    assert sock.snd_cwnd == 12


@pytest.mark.parametrize(
    ("value", "root"), [(0, 0), (1, 1), (8, 2), (27, 3), (1000, 10), (10**9, 1000)]
)
def test_the_cubic_root_is_the_kernels(value: int, root: int) -> None:
    assert cubic_root(value) == root


def test_the_cube_factor_is_two_to_the_40_over_410() -> None:
    assert CUBE_FACTOR == 2_681_735_677


def test_cubic_keeps_seven_tenths_and_aims_lower_if_it_had_shrunk() -> None:
    # cubictcp_recalc_ssthresh(): 717 / 1024, and (1024 + 717) / 2048 of cwnd.
    cubic = Cubic(gso_max_size=65215, paced=True)
    first, aim = cubic.ssthresh(a_sock(100)), cubic.last_max_cwnd
    second, lower = cubic.ssthresh(a_sock(60)), cubic.last_max_cwnd

    assert (first, aim) == (70, 100)
    assert (second, lower) == (42, 51)


def test_cubic_grows_by_a_twentieth_until_the_first_loss() -> None:
    sock, cubic = a_sock(100, ssthresh=100), Cubic(gso_max_size=65215, paced=True)
    cubic.cong_avoid(sock, 1000 * MS, 100)

    assert (cubic.cnt, sock.snd_cwnd) == (20, 105)


def test_cubic_grows_by_half_at_most() -> None:
    sock, cubic = a_sock(10, ssthresh=10), Cubic(gso_max_size=65215, paced=True)
    cubic.cong_avoid(sock, 1000 * MS, 1)
    cubic.cong_avoid(sock, 9000 * MS, 10)

    assert (cubic.cnt, sock.snd_cwnd) == (2, 15)


def test_hystart_leaves_slow_start_when_the_delay_grows() -> None:
    sock, cubic = a_sock(20), Cubic(gso_max_size=65215, paced=True)
    sock.sk_pacing_rate = 10**6
    cubic.pkts_acked(sock, 3 * MS, 40_000, 1)
    sock.snd_una, sock.snd_nxt = 1, 100
    times = range(50, 50 + 10 * 9, 10)
    found = [
        cubic.pkts_acked(sock, time * MS, 46_000, 1) or cubic.found for time in times
    ]

    assert found == [False] * 8 + [True]
    assert sock.snd_ssthresh == 20


def test_hystart_leaves_slow_start_after_a_long_train() -> None:
    sock, cubic = a_sock(20), Cubic(gso_max_size=65215, paced=True)
    sock.sk_pacing_rate = 10**6
    sock.snd_una, sock.snd_nxt = 1, 100
    times = range(10, 10 + 43)
    found = [
        cubic.pkts_acked(sock, time * MS, 40_000, 1) or cubic.found for time in times
    ]

    assert found == [False] * 42 + [True]


@pytest.mark.parametrize(
    ("gso_max_size", "paced", "longest_us"),
    [
        pytest.param(65_215, True, 40_500, id="64-kb"),
        pytest.param(130_430, True, 41_000, id="big-tcp"),
        pytest.param(65_215, False, 20_250, id="unpaced"),
    ],
)
def test_a_train_may_be_as_long_as_the_delay_and_four_packets(
    gso_max_size: int, *, paced: bool, longest_us: int
) -> None:
    # hystart_ack_delay(): four packets take 0.5 ms, or 1 ms if they are twice as big.
    sock, cubic = a_sock(20), Cubic(gso_max_size=gso_max_size, paced=paced)
    sock.sk_pacing_rate = 4 * 65_215 * 2000
    sock.snd_una, sock.snd_nxt = 1, 100
    for time_us in (10_000, *range(11_000, 10_000 + longest_us, 1000)):
        cubic.pkts_acked(sock, time_us * 1000, 40_000, 1)
    cubic.pkts_acked(sock, (10_000 + longest_us) * 1000, 40_000, 1)
    before = cubic.found
    cubic.pkts_acked(sock, (10_001 + longest_us) * 1000, 40_000, 1)

    assert (before, cubic.found) == (False, True)


def test_hystarts_rounds_begin_anew_while_cwnd_is_small() -> None:
    # measured by packetdrill's cubic scripts too, which 25c1a9ca53db made differ
    sock, cubic = a_sock(10), Cubic(gso_max_size=65215, paced=True)
    sock.snd_una, sock.snd_nxt = 1, 100
    cubic.pkts_acked(sock, 10 * MS, 40_000, 1)
    sock.snd_una = 101
    cubic.pkts_acked(sock, 50 * MS, 40_000, 1)

    assert cubic.round_start == 50_000


def test_hystart_waits_for_sixteen_segments() -> None:
    sock, cubic = a_sock(15), Cubic(gso_max_size=65215, paced=True)
    sock.sk_pacing_rate = 10**6
    sock.snd_una, sock.snd_nxt = 1, 100
    times = range(10, 10 + 60)
    found = [
        cubic.pkts_acked(sock, time * MS, 40_000, 1) or cubic.found for time in times
    ]

    assert not any(found)


@pytest.mark.parametrize(("cwnd", "ssthresh"), [(21, 10), (3, 2), (1, 2)])
def test_reno_halves_cwnd_after_a_loss(cwnd: int, ssthresh: int) -> None:
    assert Reno().ssthresh(a_sock(cwnd)) == ssthresh


@pytest.mark.parametrize(("cwnd", "ssthresh"), [(100, 70), (10, 7), (2, 2)])
def test_cubic_keeps_717_parts_of_1024_after_a_loss(cwnd: int, ssthresh: int) -> None:
    assert Cubic(gso_max_size=65215, paced=True).ssthresh(a_sock(cwnd)) == ssthresh


def test_cubic_begins_a_new_epoch_after_a_loss() -> None:
    sock, cubic = a_sock(100, ssthresh=100), Cubic(gso_max_size=65215, paced=True)
    cubic.cong_avoid(sock, 1000 * MS, 100)
    cubic.ssthresh(sock)

    assert (cubic.epoch_start, cubic.last_max_cwnd) == (0, 105)


def test_cubic_aims_lower_if_cwnd_was_lower_than_at_the_last_loss() -> None:
    # RFC 9438, section 4.7: fast convergence, W_max * (1 + beta) / 2.
    cubic = Cubic(gso_max_size=65215, paced=True)
    cubic.ssthresh(a_sock(100))
    cubic.ssthresh(a_sock(80))

    assert cubic.last_max_cwnd == 80 * (1024 + 717) // 2048


def test_cubic_returns_to_where_the_loss_was_in_k() -> None:
    # RFC 9438, section 4.2: K is the cubic root of (W_max - cwnd) / C, C is 0.4.
    sock, cubic = a_sock(1000), Cubic(gso_max_size=65215, paced=True)
    sock.snd_cwnd = sock.snd_ssthresh = cubic.ssthresh(sock)
    cubic.cong_avoid(sock, 1000 * MS, 1)

    assert (cubic.bic_origin_point, cubic.bic_K / 1024) == (
        1000,
        pytest.approx((300 / 0.4) ** (1 / 3), rel=0.01),
    )


def test_a_timeout_makes_cubic_forget() -> None:
    sock, cubic = a_sock(100, ssthresh=100), Cubic(gso_max_size=65215, paced=True)
    cubic.pkts_acked(sock, 900 * MS, 40_000, 1)
    cubic.ssthresh(sock)
    sock.snd_nxt = 7
    cubic.found = True
    cubic.lost(sock, 1000 * MS)

    assert (cubic.last_max_cwnd, cubic.delay_min, cubic.found) == (0, 0, False)
    assert (cubic.round_start, cubic.end_seq) == (1_000_000, 7)


#: Of x << 33 for x from 0 to 63, which look up each entry of its table. measured: what
#: cubic_root() of 6.12.117's tcp_cubic.c says, compiled by gcc -O1 with main() around.
ROOTS = (
    *(0, 2048, 2581, 2954, 3251, 3503, 3722, 3919, 4097, 4263, 4416),
    *(4557, 4693, 4819, 4940, 5058, 5161, 5268, 5369, 5468, 5560, 5652),
    *(5740, 5826, 5908, 5992, 6070, 6148, 6222, 6294, 6367, 6437, 6502),
    *(6569, 6634, 6699, 6764, 6826, 6887, 6947, 7006, 7064, 7122, 7176),
    *(7231, 7284, 7338, 7392, 7445, 7495, 7546, 7597, 7645, 7694, 7741),
    *(7790, 7838, 7883, 7928, 7974, 8020, 8064, 8107, 8151),
)


def test_the_cubic_root_is_the_kernels_wherever_in_its_table() -> None:
    assert tuple(cubic_root(x << 33) for x in range(64)) == ROOTS
