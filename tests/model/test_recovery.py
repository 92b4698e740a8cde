"""The state machine of losses: tcp_fastretrans_alert(), RFC 6937 (PRR), 5682 (F-RTO).

Packets were sent 1 ms apart, it is 50 ms now; cwnd is 10 unless a test says otherwise.
"""

import pytest

from testbed.model.congestion import Reno
from testbed.model.cpu import Cpu
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

    def __init__(self, *packets: int) -> None:
        self.sock = a_sender(*packets)
        self.cpu = Cpu(IDEAL, 50 * MS)
        self.timer = XmitTimer(self.cpu)
        self.recovery = Recovery(
            self.sock, congestion=Reno(), timer=self.timer, mss=MSS
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
    assert bench.timer.pending is Pending.REO_TIMEOUT


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


def test_a_duplicate_ack_of_new_data_confirms_the_timeout() -> None:
    # RFC 5682, step 3a.
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    sock.snd_nxt += MSS
    rexmit = bench.recovery.alert(News(dupack=True), 0)

    assert (rexmit, sock.frto) == (Rexmit.LOST, False)


def test_an_original_that_arrives_proves_the_timeout_wrong() -> None:
    # RFC 5682, step 3b.
    bench = Bench(1, 1, 1)
    sock = timed_out(bench)
    rexmit = bench.acked(2, orig_sack_acked=True)

    assert (rexmit, sock.ca_state) == (Rexmit.NONE, CaState.OPEN)
    assert (sock.snd_cwnd, sock.lost_out) == (10, 0)


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
    sock.tcp_clock_cache = 150 * MS
    sock.rtx_queue[2].tstamp_ns = 60 * MS
    rexmit = bench.sacked((2, 3))

    assert (sock.ca_state, rexmit) == (CaState.RECOVERY, Rexmit.LOST)


def test_a_receiver_that_seems_to_renege_has_time() -> None:
    bench = Bench(1, 1, 1)
    bench.sock.rtx_queue[1].sacked, bench.sock.sacked_out = True, 1
    bench.acked(1, reneging=True)
    bench.cpu.run()

    assert bench.timer.pending is Pending.RETRANS
    assert bench.cpu.clock // MS == 50 + 20 + 1  # half of an RTT


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
