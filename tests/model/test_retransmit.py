"""What is sent again, and when: tcp_xmit_retransmit_queue(), RTO, TLP (RFC 8985)."""

import pytest

from testbed.model.congestion import Reno
from testbed.model.cpu import Cpu
from testbed.model.features import Features
from testbed.model.output import Output, Pacing
from testbed.model.packet import Packet, Skb
from testbed.model.recovery import Recovery
from testbed.model.retransmit import Retransmit
from testbed.model.sock import CaState
from testbed.model.xmit_timer import Pending, XmitTimer
from tests.model.scenarios import (
    IDEAL,
    MS,
    MSS,
    TUNING,
    a_sender,
    lose,
    marks,
    sack,
    send_again,
)


class Bench:
    """A sender whose packets stay where they are; it is 50 ms, the RTO 240 ms."""

    def __init__(self, *packets: int, pacing: Pacing = Pacing.FQ) -> None:
        self.sock = a_sender(*packets)
        self.cpu = Cpu(IDEAL, 50 * MS)
        self.sock.tcp_wstamp_ns = 50 * MS
        self.packets: list[Packet] = []
        self.has_room = True
        self.output = Output(
            self.sock,
            cpu=self.cpu,
            tuning=TUNING,
            features=Features(),
            pacing=pacing,
            family=4,
            transmit=self.take,
            sent=lambda cause: None,
        )
        self.timer = XmitTimer(self.cpu)
        recovery = Recovery(self.sock, congestion=Reno(), timer=self.timer, mss=MSS)
        self.retransmit = Retransmit(
            self.sock,
            cpu=self.cpu,
            output=self.output,
            recovery=recovery,
            timer=self.timer,
            mss=MSS,
        )
        self.output.tell(
            congested=recovery.enter_cwr,
            progress=self.retransmit.progress,
            check_space=lambda: None,
            send_again=self.retransmit.queue,
        )

    def take(self, packet: Packet) -> bool:
        self.packets.append(packet)
        return self.has_room

    def places(self) -> list[tuple[float, float]]:
        """Return where in the stream each packet was, and its length, in segments."""
        return [(each.seq / MSS, each.length / MSS) for each in self.packets]

    def due_ms(self) -> int:
        """Return when the timer runs, in ms from now, once time has passed until then.

        Level 0 of the timer wheel makes it a ms late, level 1 up to 8 ms.
        """
        ran: list[int] = []
        self.timer.tell(lambda _: ran.append(self.cpu.clock // MS - 50))
        self.cpu.run()
        return ran[0]


# The queue


def test_what_is_lost_is_sent_again_by_sequence() -> None:
    bench = Bench(1, 1, 1, 1)
    lose(bench.sock, 0, 2)
    bench.retransmit.queue()

    assert bench.places() == [(0, 1), (2, 1)]
    assert marks(bench.sock) == ["LR", "", "LR", ""]
    assert (bench.sock.retrans_out, bench.sock.total_retrans) == (2, 2)


def test_what_is_under_way_or_has_arrived_is_not() -> None:
    bench = Bench(1, 1, 1)
    lose(bench.sock, 0, 1)
    send_again(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.places() == [(1, 1)]


def test_cwnd_limits_what_is_sent_again() -> None:
    bench = Bench(1, 1, 1, 1)
    bench.sock.snd_cwnd = 3
    lose(bench.sock, 0, 1)
    bench.retransmit.queue()

    assert bench.places() == [(0, 1)]


def test_a_packet_is_cut_to_what_cwnd_allows() -> None:
    bench = Bench(8)
    bench.sock.snd_cwnd = 3
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.places() == [(0, 3)]
    assert (bench.sock.packets_out, marks(bench.sock)) == (8, ["LR", "L"])


def test_a_packet_is_cut_to_a_millisecond_of_the_rate() -> None:
    bench = Bench(20)
    bench.sock.snd_cwnd = 100
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.places() == [(0, 13), (13, 7)]


def test_nothing_is_sent_again_beyond_the_window() -> None:
    bench = Bench(1, 1, 1)
    bench.sock.snd_wnd = 2 * MSS
    lose(bench.sock, 0, 1, 2)
    bench.retransmit.queue()

    assert bench.places() == [(0, 1), (1, 1)]


def test_whole_segments_are_sent_again_up_to_the_window() -> None:
    bench = Bench(4)
    bench.sock.snd_wnd = 2 * MSS + 700
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.places() == [(0, 2), (2, 700 / MSS)]


def test_a_retransmission_that_may_not_have_been_needed_counts_for_a_lost_one() -> None:
    # tcp_xmit_retransmit_queue() stops while retrans_out is not below lost_out.
    bench = Bench(1, 1)
    send_again(bench.sock, 0)
    lose(bench.sock, 1)
    bench.retransmit.queue()

    assert not bench.packets


def test_the_head_is_sent_even_if_the_window_has_closed() -> None:
    # It serves as a probe: __tcp_retransmit_skb().
    bench = Bench(3)
    bench.sock.snd_wnd = 0
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.places() == [(0, 1)]


def test_what_was_acknowledged_meanwhile_is_left_out() -> None:
    bench = Bench(1, 1)
    bench.sock.snd_una = 100
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert (bench.packets[0].seq, bench.packets[0].length) == (100, MSS - 100)


def test_a_packet_still_in_the_host_is_not_sent_again() -> None:
    bench = Bench(1, 1)
    bench.sock.rtx_queue[0].clones = 1
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert not bench.packets
    assert bench.sock.tsq_throttled  # so it is tried when the packet has left


def test_tcp_that_paces_itself_paces_retransmissions_too() -> None:
    bench = Bench(1, 1, pacing=Pacing.NEEDED)
    bench.sock.tcp_wstamp_ns = 51 * MS
    lose(bench.sock, 0)
    bench.retransmit.queue()
    before = len(bench.packets)
    bench.cpu.run()

    assert (before, len(bench.packets)) == (0, 1)


def test_small_queues_leave_a_retransmission_twice_the_room() -> None:
    bench = Bench(1, 1)
    limit = 2 * bench.sock.rtx_queue[0].truesize
    bench.sock.sk_pacing_rate = 1_000_000
    lose(bench.sock, 0)
    bench.sock.sk_wmem_alloc = 2 * limit + 1
    bench.retransmit.queue()
    above = len(bench.packets)
    bench.sock.sk_wmem_alloc = 2 * limit
    bench.retransmit.queue()

    assert (above, len(bench.packets)) == (0, 1)


def test_what_the_qdisc_drops_is_not_under_way() -> None:
    bench = Bench(1, 1)
    bench.has_room = False
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert (marks(bench.sock), bench.sock.retrans_out) == (["L", ""], 0)
    assert (bench.sock.undo_retrans, bench.sock.rtx_queue[0].ever_retrans) == (1, True)


def test_the_first_retransmission_of_an_episode_is_stamped() -> None:
    bench = Bench(1, 1)
    lose(bench.sock, 0)
    bench.retransmit.queue()
    bench.sock.tcp_clock_cache = 70 * MS
    lose(bench.sock, 1)
    bench.retransmit.queue()

    assert (bench.sock.retrans_stamp, bench.sock.undo_retrans) == (50, 2)


def test_retransmissions_count_for_prr_while_cwnd_is_reduced() -> None:
    bench = Bench(2, 1)
    bench.sock.ca_state = CaState.RECOVERY
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.sock.prr_out == 2


def test_only_the_head_sets_the_timer_anew() -> None:
    bench = Bench(1, 1)
    lose(bench.sock, 1)
    bench.retransmit.queue()
    before = bench.timer.pending
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert (before, bench.timer.pending) == (None, Pending.RETRANS)


def test_the_head_leaves_racks_timer_alone() -> None:
    bench = Bench(1, 1)
    bench.timer.reset(Pending.REO_TIMEOUT, 10)
    lose(bench.sock, 0)
    bench.retransmit.queue()

    assert bench.timer.pending is Pending.REO_TIMEOUT


def test_the_timer_counts_from_when_pacing_lets_the_last_packet_go() -> None:
    # tcp_reset_xmit_timer() comes after the loop, and adds tcp_pacing_delay().
    bench = Bench(1, 8)
    bench.sock.sk_pacing_rate, bench.sock.data_segs_out = 289_600, 10
    lose(bench.sock, 0, 1)
    bench.sock.icsk_rto = 10
    bench.retransmit.queue()

    assert bench.due_ms() == 10 + 9 * 5 + 1  # 5 ms a segment


# The timer


def test_new_data_sets_a_probe_to_two_round_trips() -> None:
    # And TCP_TIMEOUT_MIN_US, 2 ms: at 132 ms, which is 136 in level 1.
    bench = Bench(1, 1)
    bench.retransmit.progress(0, probing=False)

    assert (bench.timer.pending, bench.due_ms()) == (Pending.LOSS_PROBE, 86)


def test_the_probe_of_a_lone_segment_waits_for_a_delayed_ack_too() -> None:
    # RFC 8985, section 7.2; at 330 ms, which is 336 in level 1.
    bench = Bench(1)
    bench.sock.icsk_rto = 500
    bench.retransmit.progress(0, probing=False)

    assert bench.due_ms() == 286


def test_a_probe_does_not_make_for_another() -> None:
    bench = Bench(1, 1)
    bench.retransmit.progress(1, probing=True)

    assert bench.timer.pending is None


def test_after_progress_the_rto_counts_from_now() -> None:
    bench = Bench(1, 1)
    bench.sock.icsk_rto = 60
    bench.retransmit.set_timer()

    assert bench.due_ms() == 60 + 1


def test_a_probe_is_not_later_than_the_rto() -> None:
    bench = Bench(1, 1)
    bench.sock.icsk_rto = 70
    bench.retransmit.progress(1, probing=False)

    assert bench.due_ms() == 1 + 70 - 50 + 1


def test_before_any_sample_a_probe_waits_for_a_second() -> None:
    bench = Bench(1, 1)
    bench.sock.srtt_us, bench.sock.icsk_rto = 0, 5000
    bench.retransmit.progress(0, probing=False)

    assert 1000 < bench.due_ms() <= 1000 + 64


@pytest.mark.parametrize(
    "state", [CaState.DISORDER, CaState.RECOVERY, CaState.LOSS], ids=lambda s: s.name
)
def test_while_losses_are_repaired_the_timer_is_the_rto(state: CaState) -> None:
    bench = Bench(1, 1)
    bench.sock.ca_state = state
    bench.retransmit.set_timer()

    assert bench.timer.pending is Pending.RETRANS


def test_new_data_then_replaces_a_probe_by_the_rto() -> None:
    # As tcp_event_new_data_sent() does.
    bench = Bench(1, 1)
    bench.timer.reset(Pending.LOSS_PROBE, 10)
    bench.sock.ca_state = CaState.DISORDER
    bench.retransmit.progress(1, probing=False)

    assert bench.timer.pending is Pending.RETRANS


def test_while_cwnd_is_reduced_for_other_reasons_there_are_probes() -> None:
    bench = Bench(1, 1)
    bench.sock.ca_state = CaState.CWR
    bench.retransmit.set_timer()

    assert bench.timer.pending is Pending.LOSS_PROBE


def test_the_rto_replaces_racks_timer_with_what_is_left_of_it() -> None:
    bench = Bench(1, 1)
    bench.timer.reset(Pending.REO_TIMEOUT, 10)
    bench.sock.icsk_rto = 70
    bench.retransmit.rearm_rto()

    assert bench.due_ms() == 1 + 70 - 50 + 1


def test_with_all_acknowledged_there_is_no_timer() -> None:
    bench = Bench()
    bench.timer.reset(Pending.RETRANS, 10)
    bench.retransmit.rearm_rto()

    assert bench.timer.pending is None


def test_a_timeout_sends_one_segment_and_doubles_the_rto() -> None:
    bench = Bench(3)
    bench.retransmit.expired(Pending.RETRANS)
    sock = bench.sock

    assert bench.places() == [(0, 1)]
    assert (sock.icsk_rto, sock.icsk_backoff, sock.icsk_retransmits) == (480, 1, 1)
    assert (sock.ca_state, sock.snd_cwnd) == (CaState.LOSS, 1)


def test_the_rto_is_two_minutes_at_most() -> None:
    bench = Bench(1)
    bench.sock.icsk_rto = 100_000
    bench.retransmit.expired(Pending.RETRANS)

    assert bench.sock.icsk_rto == 120_000


def test_a_timeout_that_finds_the_host_busy_tries_again_in_half_a_second() -> None:
    bench = Bench(1)
    bench.sock.rtx_queue[0].clones = 1
    bench.retransmit.expired(Pending.RETRANS)

    assert bench.sock.icsk_rto == 240
    assert 500 < bench.due_ms() <= 500 + 8


def test_racks_timer_marks_what_has_not_come_and_sends_it() -> None:
    bench = Bench(1, 1, 1)
    sack(bench.sock, (2, 3))
    bench.cpu.spend(20 * MS)
    bench.retransmit.expired(Pending.REO_TIMEOUT)

    assert bench.places() == [(0, 1)]  # PRR lets the first out
    assert (bench.sock.ca_state, marks(bench.sock)) == (
        CaState.RECOVERY,
        ["LR", "L", "S"],
    )
    assert bench.timer.pending is Pending.RETRANS


def test_racks_timer_in_recovery_reduces_nothing_more() -> None:
    bench = Bench(1, 1, 1)
    bench.sock.ca_state, bench.sock.snd_ssthresh = CaState.RECOVERY, 7
    bench.sock.prior_cwnd = 10
    sack(bench.sock, (2, 3))
    bench.retransmit.expired(Pending.REO_TIMEOUT)

    assert bench.places() == [(0, 1), (1, 1)]
    assert bench.sock.snd_ssthresh == 7


def test_racks_timer_that_finds_nothing_lost_leaves_the_rto() -> None:
    bench = Bench(1, 1, 1)
    bench.timer.reset(Pending.REO_TIMEOUT, 10)
    bench.retransmit.expired(Pending.REO_TIMEOUT)

    assert not bench.packets
    assert bench.timer.pending is Pending.RETRANS


def test_a_timer_waits_while_a_process_owns_the_socket() -> None:
    bench = Bench(1)
    bench.timer.tell(bench.retransmit.expired)
    bench.timer.reset(Pending.RETRANS, 10)
    bench.sock.sk_lock.own()
    bench.cpu.run()
    before = len(bench.packets)
    bench.sock.sk_lock.release()

    assert (before, len(bench.packets)) == (0, 1)


def test_a_timer_that_had_to_wait_heeds_an_ack_that_waited_too() -> None:
    # tcp_write_timer_handler(): icsk_timeout is later than jiffies again.
    bench = Bench(1)
    bench.timer.tell(bench.retransmit.expired)
    bench.timer.reset(Pending.RETRANS, 10)
    bench.sock.sk_lock.own()
    bench.cpu.run()
    bench.sock.sk_lock.bring(lambda: bench.timer.reset(Pending.RETRANS, 240))
    bench.sock.sk_lock.release()

    assert not bench.packets


# Tail loss probes


def test_a_probe_is_new_data_if_there_is_some() -> None:
    bench = Bench(*[1] * 10)
    bench.sock.write_queue.append(Skb(10 * MSS, 2 * MSS))
    bench.sock.write_seq += 2 * MSS
    bench.sock.tlp_retrans = True  # the probe before
    bench.retransmit.expired(Pending.LOSS_PROBE)

    assert bench.places() == [(10, 1)]
    assert (bench.sock.tlp_high_seq, bench.sock.tlp_retrans) == (11 * MSS, False)
    assert bench.timer.pending is Pending.RETRANS


@pytest.mark.parametrize(
    "window",
    [pytest.param(3 * MSS, id="no-window"), pytest.param(1 << 20, id="no-data")],
)
def test_otherwise_it_is_the_last_segment_again(window: int) -> None:
    bench = Bench(3)
    bench.sock.snd_wnd = window
    if window == 3 * MSS:
        bench.sock.write_queue.append(Skb(3 * MSS, MSS))
    bench.retransmit.expired(Pending.LOSS_PROBE)

    assert bench.places() == [(2, 1)]
    assert (bench.sock.tlp_high_seq, bench.sock.tlp_retrans) == (3 * MSS, True)
    assert (bench.sock.retrans_out, bench.sock.total_retrans) == (0, 1)


def test_a_short_last_segment_is_probed_with_alone() -> None:
    bench = Bench(3)
    bench.sock.rtx_queue[0].length -= MSS - 100
    bench.sock.snd_nxt -= MSS - 100
    bench.retransmit.expired(Pending.LOSS_PROBE)

    assert (bench.packets[0].seq, bench.packets[0].length) == (2 * MSS, 100)


def test_there_is_one_probe_at_a_time() -> None:
    bench = Bench(3)
    bench.sock.tlp_high_seq = 3 * MSS
    bench.retransmit.expired(Pending.LOSS_PROBE)

    assert not bench.packets
    assert bench.timer.pending is Pending.RETRANS


def test_after_a_probe_the_rto_begins_anew() -> None:
    bench = Bench(3)
    bench.timer.reset(Pending.LOSS_PROBE, 10)
    bench.sock.icsk_rto = 60
    bench.retransmit.expired(Pending.LOSS_PROBE)

    assert bench.due_ms() == 60 + 1


def test_after_a_probe_that_could_not_leave_it_does_not() -> None:
    bench = Bench(3)
    bench.timer.reset(Pending.LOSS_PROBE, 10)
    bench.sock.icsk_rto, bench.sock.rtx_queue[0].clones = 60, 1
    bench.retransmit.expired(Pending.LOSS_PROBE)

    assert bench.due_ms() == 1 + 60 - 50 + 1
