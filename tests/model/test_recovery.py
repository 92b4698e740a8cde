"""The state machine of losses: tcp_fastretrans_alert(), RFC 6937 (PRR), 5682 (F-RTO).

Packets were sent 1 ms apart, it is 50 ms now; cwnd is 10 unless a test says otherwise.
"""

import pytest

from testbed.model.congestion import CongestionControl, Reno
from testbed.model.cpu import Cpu
from testbed.model.cubic import Cubic
from testbed.model.news import News
from testbed.model.packet import Skb
from testbed.model.recovery import Recovery, Rexmit
from testbed.model.sock import CaState, TcpSock
from testbed.model.xmit_timer import Pending, XmitTimer
from tests.model.scenarios import (
    IDEAL,
    MS,
    MSS,
    a_sender,
    lose,
    marks,
    sack,
    send_again,
)


class Bench:
    """A sender's recovery, with Reno for what becomes of ssthresh."""

    def __init__(
        self, *packets: int, congestion: CongestionControl | None = None
    ) -> None:
        self.sock = a_sender(*packets)
        self.cpu = Cpu(IDEAL, 50 * MS)
        self.timer = XmitTimer(self.cpu)
        self.recovery = Recovery(
            self.sock, congestion=congestion or Reno(), timer=self.timer, mss=MSS
        )

    def sacked(self, *blocks: tuple[int, int]) -> Rexmit:
        """Have an ACK bring blocks and nothing else."""
        return self.recovery.alert(sack(self.sock, *blocks), self.sock.snd_una)

    def acked(self, segs: int, **news: bool) -> Rexmit:
        """Have an ACK acknowledge so many segments more, and bring this news."""
        sock = self.sock
        prior_una = sock.snd_una
        sock.snd_una += segs * MSS
        while sock.rtx_queue and sock.rtx_queue[0].end_seq <= sock.snd_una:
            skb = sock.rtx_queue.pop(0)
            sock.packets_out -= skb.pcount
            sock.sacked_out -= skb.pcount * skb.sacked
            sock.lost_out -= skb.pcount * skb.lost
            sock.retrans_out -= skb.pcount * skb.retrans
        brought = News(una_advanced=True, data_acked=True, **news)
        return self.recovery.alert(brought, prior_una)


def reducing(bench: Bench, in_flight: int, prr_out: int = 0) -> TcpSock:
    """Return the bench's socket as it goes from cwnd 20 to 10 in Recovery."""
    sock = bench.sock
    sock.ca_state = CaState.RECOVERY
    sock.packets_out, sock.snd_ssthresh, sock.prior_cwnd = in_flight, 10, 20
    sock.prr_out = prr_out
    return sock


# Proportional rate reduction


@pytest.mark.parametrize(
    ("delivered", "prr_out", "may_send"),
    [
        pytest.param(1, 0, 1, id="the-first-packet"),
        pytest.param(2, 1, 0, id="one-for-two"),
        pytest.param(3, 1, 1, id="rounded-up"),
        pytest.param(10, 3, 2, id="half-of-what-is-delivered"),
    ],
)
def test_above_ssthresh_prr_lets_out_half_of_what_is_delivered(
    delivered: int, prr_out: int, may_send: int
) -> None:
    # RFC 6937, section 3: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out.
    bench = Bench()
    sock = reducing(bench, 15, prr_out)
    bench.recovery.cwnd_reduction(delivered, 0, una_advanced=False)

    assert sock.snd_cwnd == 15 + may_send


@pytest.mark.parametrize(
    ("given", "may_send"),
    [
        pytest.param({}, 2, id="as-much-as-delivered"),
        pytest.param({"una_advanced": True}, 3, id="and-one-after-progress"),
        pytest.param({"una_advanced": True, "lost": 1}, 2, id="but-not-after-a-loss"),
    ],
)
def test_below_ssthresh_prr_conserves_packets(
    given: dict[str, int], may_send: int
) -> None:
    bench = Bench()
    sock = reducing(bench, 5, prr_out=4)
    sock.prr_delivered = 3
    una_advanced = bool(given.get("una_advanced"))
    bench.recovery.cwnd_reduction(2, given.get("lost", 0), una_advanced=una_advanced)

    assert sock.snd_cwnd == 5 + may_send


def test_below_ssthresh_prr_makes_up_for_what_it_did_not_send() -> None:
    bench = Bench()
    sock = reducing(bench, 4, prr_out=1)
    sock.prr_delivered = 4
    bench.recovery.cwnd_reduction(1, 1, una_advanced=False)

    assert sock.snd_cwnd == 4 + 4


def test_prr_does_not_go_beyond_ssthresh() -> None:
    bench = Bench()
    sock = reducing(bench, 9, prr_out=1)
    bench.recovery.cwnd_reduction(8, 0, una_advanced=True)

    assert sock.snd_cwnd == 10


def test_the_first_retransmission_is_let_out_in_any_case() -> None:
    bench = Bench()
    sock = reducing(bench, 10)
    bench.recovery.cwnd_reduction(1, 1, una_advanced=False)

    assert sock.snd_cwnd == 10 + 1


def test_prr_does_nothing_where_nothing_is_delivered() -> None:
    bench = Bench()
    sock = reducing(bench, 5)
    bench.recovery.cwnd_reduction(0, 0, una_advanced=False)

    assert sock.snd_cwnd == 10
    assert sock.prr_delivered == 0


# Into recovery, and out of it


def test_one_sacked_packet_is_disorder() -> None:
    bench = Bench(1, 1, 1, 1)
    rexmit = bench.sacked((1, 2))

    assert (bench.sock.ca_state, rexmit) == (CaState.DISORDER, Rexmit.NONE)


def test_rack_waits_for_its_window_and_two_jiffies() -> None:
    # 48 ms and 10 ms, less 49 ms; TCP_TIMEOUT_MIN_US; the timer wheel's one.
    bench = Bench(1, 1, 1, 1)
    news = sack(bench.sock, (1, 2))
    news.set_xmit_timer = True
    bench.recovery.alert(news, 0)
    bench.cpu.run()

    assert bench.timer.pending is Pending.REO_TIMEOUT
    assert bench.cpu.clock // MS == 50 + 9 + 2 + 1
    assert not news.set_xmit_timer


def test_a_retransmission_under_way_keeps_disorder() -> None:
    bench = Bench(1, 1)
    bench.sock.ca_state = CaState.DISORDER
    send_again(bench.sock, 0)
    bench.recovery.alert(News(), 0)

    assert bench.sock.ca_state is CaState.DISORDER


def test_each_episode_has_a_time_of_its_own() -> None:
    # For tcp_packet_delayed(): retrans_stamp is 0 until something is sent again.
    bench = Bench(1, 1, 1, 1)
    bench.sock.retrans_stamp, bench.sock.rtx_queue[0].ever_retrans = 7, True
    bench.sacked((1, 2))
    in_open = bench.sock.retrans_stamp
    bench.sock.retrans_stamp, bench.sock.rtx_queue[0].ever_retrans = 7, False
    bench.recovery.enter_recovery()

    assert (in_open, bench.sock.retrans_stamp) == (0, 0)


def test_three_sacked_packets_begin_recovery() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    rexmit = bench.sacked((1, 4))
    sock = bench.sock

    assert (sock.ca_state, rexmit) == (CaState.RECOVERY, Rexmit.LOST)
    assert marks(sock) == ["L", "S", "S", "S", ""]
    assert (sock.snd_ssthresh, sock.prior_cwnd) == (5, 10)
    assert (sock.high_seq, sock.undo_marker, sock.undo_retrans) == (5 * MSS, 0, -1)


def test_recovery_ends_at_ssthresh_once_all_of_it_is_acknowledged() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sacked((1, 4))
    send_again(bench.sock, 0)
    bench.sock.retrans_stamp, bench.sock.rcv_tsecr = 50, 50
    bench.acked(4)
    before = bench.sock.ca_state
    bench.acked(1)

    assert (before, bench.sock.ca_state) == (CaState.RECOVERY, CaState.OPEN)
    assert bench.sock.snd_cwnd == 5


def test_a_recovery_without_undo_counts_for_a_wide_reo_wnd() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sacked((1, 4))
    send_again(bench.sock, 0)
    bench.sock.retrans_stamp = bench.sock.rcv_tsecr = 50
    bench.sock.rack.reo_wnd_persist = 16
    bench.acked(5)

    assert bench.sock.rack.reo_wnd_persist == 15


def test_packets_acknowledged_end_disorder() -> None:
    bench = Bench(1, 1, 1, 1)
    bench.sacked((1, 2))
    bench.acked(2)

    assert bench.sock.ca_state is CaState.OPEN


def test_rack_waits_no_longer_than_the_rto() -> None:
    # tcp_rack_mark_lost() bounds the timer by icsk_rto.
    bench = Bench(1, 1, 1)
    bench.sock.icsk_rto = 3
    bench.sacked((1, 2))
    bench.cpu.run()

    assert bench.cpu.clock // MS == 50 + 3 + 1


def test_a_lost_retransmission_is_told() -> None:
    bench = Bench(1, 1, 1)
    sock = bench.sock
    lose(sock, 0)
    send_again(sock, 0)
    sock.ca_state, sock.rack.advanced = CaState.RECOVERY, True
    sock.rack.mstamp = 60_000
    sock.tcp_clock_cache = 100 * MS
    news = News()
    bench.recovery.identify_loss(news)

    assert (news.lost_retrans, sock.retrans_out) == (True, 0)


# Undo


def recovering(bench: Bench) -> TcpSock:
    """Return the bench's socket in Recovery, with its head sent again at 50 ms."""
    sock = bench.sock
    bench.sacked((1, 4))
    send_again(sock, 0)
    sock.retrans_stamp = sock.rcv_tsecr = 50
    sock.undo_retrans = 1
    sock.snd_cwnd = 5
    return sock


def test_a_dsack_of_all_retransmissions_undoes_the_reduction() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    bench.acked(4)
    news = sack(sock, (0, 1), ack=4)
    bench.recovery.alert(news, 4 * MSS)

    assert sock.undo_marker is None
    assert (sock.snd_cwnd, sock.snd_ssthresh) == (10, 0x7FFFFFFF)
    assert sock.rack.reo_wnd_persist == 1


def test_an_old_timestamp_undoes_the_reduction_at_the_end() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    sock.rcv_tsecr = 49
    bench.acked(5)

    assert (sock.ca_state, sock.snd_cwnd) == (CaState.OPEN, 10)


def test_cwnd_does_not_fall_to_ssthresh_after_an_undo() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sock.snd_ssthresh = 8
    sock = recovering(bench)
    sock.rcv_tsecr = 49
    bench.acked(5)

    assert (sock.snd_cwnd, sock.snd_ssthresh) == (10, 8)


def test_dsacks_of_all_retransmissions_undo_it_at_the_end_too() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    sock.undo_retrans = 0
    bench.acked(5)

    assert (sock.snd_cwnd, sock.rack.reo_wnd_persist) == (10, 0)


def test_an_echo_of_the_retransmissions_own_time_undoes_nothing() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    bench.acked(5)

    assert sock.snd_cwnd == 5


def test_a_partial_ack_of_an_original_undoes_all_marks() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    lose(sock, 4)
    sock.rcv_tsecr = 49
    rexmit = bench.acked(4)

    assert rexmit is Rexmit.NONE
    assert (marks(sock), sock.snd_cwnd, sock.undo_marker) == ([""], 10, None)


def test_what_is_lost_all_the_same_is_found_at_once() -> None:
    # tcp_undo_cwnd_reduction(): "Force RACK to re-exam losses".
    bench = Bench(1, 1, 1, 1, 1, 1)
    sock = recovering(bench)
    bench.sacked((5, 6))
    sock.rcv_tsecr, sock.tcp_clock_cache = 49, 70 * MS
    rexmit = bench.acked(4)

    assert (rexmit, sock.ca_state) == (Rexmit.LOST, CaState.RECOVERY)
    assert (marks(sock), sock.undo_marker) == (["L", "S"], 4 * MSS)


def test_where_nothing_was_sent_again_an_original_must_have_come() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sacked((1, 4))
    bench.sock.snd_cwnd = 5
    bench.acked(5)

    assert (bench.sock.ca_state, bench.sock.snd_cwnd) == (CaState.OPEN, 10)


def test_a_partial_ack_of_an_original_shows_reordering() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    sock.rcv_tsecr = 49
    bench.acked(1)

    assert (sock.reordering, sock.reord_seen) == (4, True)


def test_while_a_retransmission_is_under_way_nothing_is_undone_or_sent() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    sock = recovering(bench)
    lose(sock, 4)
    send_again(sock, 4)
    sock.rcv_tsecr = 49
    rexmit = bench.acked(4)

    assert rexmit is Rexmit.NONE
    assert (sock.ca_state, sock.snd_cwnd) == (CaState.RECOVERY, 5)


def test_a_loss_probe_under_way_may_bring_a_dsack_too() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sock.tlp_high_seq, bench.sock.tlp_retrans = 5 * MSS, True
    bench.sacked((1, 4))

    assert bench.sock.undo_retrans == 1


# CWR


def test_a_full_qdisc_reduces_cwnd_but_loses_nothing() -> None:
    bench = Bench(1, 1)
    bench.recovery.enter_cwr()
    sock = bench.sock

    assert (sock.ca_state, sock.snd_ssthresh) == (CaState.CWR, 5)
    assert (sock.undo_marker, sock.lost_out) == (None, 0)


def test_a_second_full_qdisc_does_not_reduce_cwnd_again() -> None:
    bench = Bench(1, 1)
    bench.recovery.enter_cwr()
    bench.sock.snd_cwnd = 6
    bench.recovery.enter_cwr()

    assert bench.sock.snd_ssthresh == 5


def test_a_full_qdisc_is_no_mistake_to_undo() -> None:
    bench = Bench(1, 1)
    bench.sock.prior_ssthresh, bench.sock.ca_state = 9, CaState.RECOVERY
    bench.recovery.enter_cwr()

    assert bench.sock.prior_ssthresh == 0


def test_cwr_ends_above_high_seq() -> None:
    bench = Bench(1, 1)
    bench.recovery.enter_cwr()
    bench.acked(2)
    at_high_seq = bench.sock.ca_state
    bench.sock.snd_nxt += MSS
    bench.acked(1)

    assert (at_high_seq, bench.sock.ca_state) == (CaState.CWR, CaState.OPEN)
    assert bench.sock.snd_cwnd == 5


# Timeouts


def test_a_timeout_leaves_a_segment_of_cwnd_and_half_of_it_as_ssthresh() -> None:
    bench = Bench(1, 1, 1)
    bench.sock.tcp_clock_cache = 300 * MS
    bench.recovery.enter_loss()
    sock = bench.sock

    assert (sock.ca_state, sock.snd_cwnd, sock.snd_ssthresh) == (CaState.LOSS, 1, 5)
    assert (marks(sock), sock.high_seq) == (["L", "L", "L"], 3 * MSS)
    assert (sock.frto, sock.undo_marker) == (True, 0)


def test_a_timeout_spares_what_was_sent_within_a_round_trip() -> None:
    bench = Bench(1, 1, 1)
    sock = bench.sock
    sock.rack.rtt_us, sock.rtx_queue[2].tstamp_ns = 40_000, 11 * MS
    bench.recovery.enter_loss()

    assert marks(sock) == ["L", "L", ""]
    assert sock.snd_cwnd == 1 + 1


def test_a_timeout_does_not_spare_the_head() -> None:
    bench = Bench(1, 1)
    bench.sock.rack.rtt_us, bench.sock.rtx_queue[0].tstamp_ns = 40_000, 49 * MS
    bench.recovery.enter_loss()

    assert bench.sock.rtx_queue[0].lost


def test_a_second_timeout_after_progress_reduces_cwnd_again() -> None:
    bench = Bench(1, 1, 1)
    bench.recovery.enter_loss()
    bench.sock.snd_cwnd = 6
    bench.recovery.enter_loss()

    assert bench.sock.snd_ssthresh == 3


def test_a_timeout_after_a_reduction_was_over_reduces_cwnd_again() -> None:
    bench = Bench(1, 1, 1)
    sock = bench.sock
    sock.ca_state, sock.snd_ssthresh, sock.high_seq = CaState.CWR, 7, 0
    bench.recovery.enter_loss()

    assert sock.snd_ssthresh == 5


def test_a_second_timeout_of_the_same_segment_keeps_ssthresh() -> None:
    bench = Bench(1, 1, 1)
    bench.recovery.enter_loss()
    bench.sock.icsk_retransmits = 1
    bench.recovery.enter_loss()

    assert (bench.sock.snd_ssthresh, bench.sock.frto) == (5, True)


def test_a_timeout_in_recovery_reduces_nothing_more_and_is_not_doubted() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sacked((1, 4))
    bench.sock.snd_cwnd = 4
    bench.recovery.enter_loss()

    assert (bench.sock.snd_ssthresh, bench.sock.frto) == (5, False)


def test_a_timeout_forgets_what_a_reneging_receiver_had() -> None:
    bench = Bench(1, 1)
    bench.sock.rtx_queue[0].sacked, bench.sock.sacked_out = True, 1
    bench.recovery.enter_loss()

    assert (marks(bench.sock), bench.sock.sacked_out) == (["L", "L"], 0)


def test_a_timeout_after_three_sacks_takes_reordering_back() -> None:
    bench = Bench(1, 1, 1, 1, 1)
    bench.sock.reordering = 20
    sack(bench.sock, (1, 4))
    bench.recovery.enter_loss()

    assert bench.sock.reordering == 3


def timed_out(bench: Bench) -> TcpSock:
    """Return the bench's socket after a timeout, with its head sent again at 50 ms."""
    sock = bench.sock
    bench.recovery.enter_loss()
    send_again(sock, 0)
    sock.retrans_stamp = sock.rcv_tsecr = 50
    sock.undo_retrans = 1
    return sock


def test_progress_after_a_timeout_is_tested_with_new_data() -> None:
    # RFC 5682, step 2b.
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.write_queue.append(Skb(3 * MSS, MSS))

    assert bench.acked(1) is Rexmit.NEW
    assert (sock.ca_state, sock.frto) == (CaState.LOSS, True)


def test_without_new_data_recovery_is_the_conventional_one() -> None:
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)

    assert (bench.acked(1), sock.frto) == (Rexmit.LOST, False)


def test_without_a_window_for_new_data_too() -> None:
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.write_queue.append(Skb(3 * MSS, MSS))
    sock.snd_wnd = 2 * MSS

    assert bench.acked(1) is Rexmit.LOST


@pytest.mark.parametrize(
    "news",
    [
        pytest.param(News(dupack=True), id="duplicate-ack"),
        pytest.param(News(data_sacked=True), id="sack"),
    ],
)
def test_an_ack_that_new_data_brings_confirms_the_timeout(news: News) -> None:
    # RFC 5682, step 3a.
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.snd_nxt += MSS
    rexmit = bench.recovery.alert(news, 0)

    assert (rexmit, sock.frto) == (Rexmit.LOST, False)


def test_an_original_that_arrives_proves_the_timeout_wrong() -> None:
    # RFC 5682, step 3b.
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.icsk_retransmits = 1
    rexmit = bench.recovery.alert(News(data_sacked=True, orig_sack_acked=True), 0)

    assert (rexmit, sock.ca_state) == (Rexmit.NONE, CaState.DISORDER)
    assert (sock.snd_cwnd, sock.lost_out, sock.icsk_retransmits) == (10, 0, 0)


def test_a_timeout_is_told_to_the_congestion_control() -> None:
    cubic = Cubic(gso_max_size=65215, paced=True)
    bench = Bench(1, 1, congestion=cubic)
    bench.recovery.enter_loss()

    assert cubic.last_max_cwnd == 0


def test_an_old_timestamp_proves_the_timeout_wrong() -> None:
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.frto, sock.rcv_tsecr = False, 49
    bench.acked(1)

    assert (sock.ca_state, sock.snd_cwnd) == (CaState.OPEN, 10)


def test_loss_ends_with_all_that_was_sent_before_it() -> None:
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    bench.acked(3)

    assert (sock.ca_state, sock.snd_cwnd) == (CaState.OPEN, 1)


def test_a_retransmission_lost_after_a_timeout_begins_recovery() -> None:
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.frto, sock.tcp_clock_cache = False, 150 * MS
    sock.rtx_queue[2].tstamp_ns = 60 * MS
    rexmit = bench.sacked((2, 3))

    assert (sock.ca_state, rexmit) == (CaState.RECOVERY, Rexmit.LOST)


@pytest.mark.parametrize(
    ("rtt_ms", "wait_ms"),
    [pytest.param(40, 20, id="half-an-rtt"), pytest.param(4, 10, id="but-10-ms")],
)
def test_a_receiver_that_seems_to_renege_has_time(rtt_ms: int, wait_ms: int) -> None:
    # As tcp_check_sack_reneging() has it.
    bench = Bench(1, 1, 1)
    bench.sock.srtt_us = rtt_ms * 1000 << 3
    news = News(una_advanced=True, reneging=True, set_xmit_timer=True)
    bench.recovery.alert(news, 0)
    bench.cpu.run()

    assert (bench.timer.pending, news.set_xmit_timer) == (Pending.RETRANS, False)
    assert bench.cpu.clock // MS == 50 + wait_ms + 1


# Tail loss probes


def probed(bench: Bench, *, retrans: bool) -> TcpSock:
    """Return the bench's socket, after a probe that repeated its last segment."""
    sock = bench.sock
    sock.tlp_high_seq, sock.tlp_retrans = sock.snd_nxt, retrans
    return sock


@pytest.mark.parametrize(
    ("retrans", "segs", "news", "cwnd"),
    [
        pytest.param(False, 3, {"una_advanced": True}, 10, id="new-data-arrived"),
        pytest.param(True, 3, {"dsack_tlp": True}, 10, id="both-arrived"),
        pytest.param(True, 4, {"dsack_tlp": True}, 10, id="both-arrived-and-more"),
        pytest.param(True, 4, {"una_advanced": True}, 5, id="it-repaired-a-loss"),
        pytest.param(True, 3, {}, 10, id="a-duplicate-ack"),
    ],
)
def test_what_answers_a_probe_ends_its_episode(
    *, retrans: bool, segs: int, news: dict[str, bool], cwnd: int
) -> None:
    bench = Bench(1, 1, 1)
    sock = probed(bench, retrans=retrans)
    sock.snd_una = segs * MSS
    not_dup = bool(news.get("una_advanced"))
    bench.recovery.process_tlp_ack(segs * MSS, News(**news), not_dup=not_dup)

    assert (sock.tlp_high_seq, sock.snd_cwnd) == (0, cwnd)


@pytest.mark.parametrize(
    ("segs", "news"),
    [
        pytest.param(2, {}, id="an-ack-of-less"),
        pytest.param(3, {"una_advanced": True}, id="the-first-ack-of-the-tail"),
    ],
)
def test_what_may_answer_the_original_does_not(
    segs: int, news: dict[str, bool]
) -> None:
    bench = Bench(1, 1, 1)
    sock = probed(bench, retrans=True)
    not_dup = bool(news)
    bench.recovery.process_tlp_ack(segs * MSS, News(**news), not_dup=not_dup)

    assert sock.tlp_high_seq == 3 * MSS
