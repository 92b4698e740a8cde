"""What an ACK does: tcp_ack(), with all that it asks. The round trip is of 40 ms.

The scenario is that of packetdrill's tcp/fast_recovery/prr-ss-10pkt-lost-1: of ten
packets in flight the first is lost. What is sent follows from RFC 6937.
"""

import pytest

from testbed.model.cpu import Cpu
from testbed.model.features import Features
from testbed.model.packet import Block, Packet
from testbed.model.sender import Sender, setup_of
from testbed.model.sock import CaState
from tests.model.scenarios import IDEAL, MS, MSS, a_stream

WINDOW = 1 << 20


class Bench:
    """A sender with ten segments under way and more to send; it sends one by one."""

    def __init__(
        self, congestion: str = "reno", size: int = 100 * MSS, window: int = WINDOW
    ) -> None:
        self.cpu = Cpu(IDEAL, 10_000 * MS)
        self.packets: list[Packet] = []
        variant = a_stream(size, congestion=congestion)
        self.sender = Sender(
            setup_of(variant, Features()),
            cpu=self.cpu,
            transmit=self.take,
            sent=lambda cause: None,
        )
        self.sock = self.sender.sock
        self.sender.output.send_syn(again=False)
        self.cpu.spend(40 * MS)
        syn_ack = Packet(0, 0, 1, 60)
        syn_ack.syn, syn_ack.window, syn_ack.tsecr = True, window, 10_000
        self.sender.take(syn_ack)
        self.sender.writer.begin()
        self.cpu.spend(40 * MS)
        self.packets.clear()

    def take(self, packet: Packet) -> bool:
        self.packets.append(packet)
        self.sender.output.done(packet)  # it leaves the host at once
        return True

    def wait(self, time_ms: int) -> None:
        """Let time pass, and timers run when they are due."""
        for _ in range(time_ms):
            self.cpu.spend(MS)

    def ack(self, segs: int, *blocks: Block, window: int = WINDOW) -> int:
        """Have an ACK come, its blocks in segments; return how much it sends."""
        before = len(self.packets)
        packet = Packet(0, 0, 1, 52)
        packet.ack, packet.window = segs * MSS, window
        packet.tsecr = self.cpu.clock // MS - 40
        packet.sacks = tuple((start * MSS, end * MSS) for start, end in blocks)
        self.sender.take(packet)
        return len(self.packets) - before


@pytest.mark.parametrize(
    ("congestion", "sent", "in_flight"),
    [
        # ssthresh is 7, and 6 are in flight then: one for one.
        pytest.param("cubic", [1, 1, 1, 1, 1, 1, 1], 7, id="cubic"),
        # ssthresh is 5: half as many as are delivered, until no more are in flight.
        pytest.param("reno", [1, 0, 0, 1, 1, 1, 1], 5, id="reno"),
    ],
)
def test_ten_packets_of_which_the_first_is_lost(
    congestion: str, sent: list[int], in_flight: int
) -> None:
    bench = Bench(congestion, window=10 * MSS)
    before = [bench.ack(0, (1, end), window=10 * MSS) for end in (2, 3)]
    after = [bench.ack(0, (1, end)) for end in range(4, 11)]

    assert (before, after) == ([0, 0], sent)
    assert [packet.seq // MSS for packet in bench.packets[:3]] == [0, 10, 11]
    assert bench.sock.ca_state is CaState.RECOVERY
    assert bench.sock.in_flight() == bench.sock.snd_cwnd == in_flight


def test_the_ack_of_all_ends_recovery_at_ssthresh() -> None:
    bench = Bench(window=10 * MSS)
    for end in range(2, 11):
        bench.ack(0, (1, end), window=10 * MSS)
    bench.cpu.spend(80 * MS)  # its departure is paced, and the echo takes an RTT
    bench.ack(10)

    assert (bench.sock.ca_state, bench.sock.snd_cwnd) == (CaState.OPEN, 5)


def test_an_ack_that_tells_of_more_losses_does_not_speed_recovery_up() -> None:
    # RFC 6937 as Linux has it: one more for progress, but not with a new loss.
    bench = Bench()
    sock = bench.sock
    sock.ca_state, sock.high_seq = CaState.RECOVERY, 10 * MSS
    sock.snd_ssthresh = sock.prior_cwnd = 20
    bench.ack(1, (5, 10))

    assert sock.lost == 4
    assert sock.snd_cwnd == 6


def test_progress_after_a_timeout_sends_new_data_and_nothing_again() -> None:
    # RFC 5682, step 2b.
    bench = Bench()
    bench.wait(500)  # a probe of new data, and the RTO
    sent = bench.ack(1)

    assert bench.sock.ca_state is CaState.LOSS
    assert sent
    assert not any(packet.again for packet in bench.packets[-sent:])
    assert bench.sock.frto  # the question is still open


def test_progress_puts_probes_off() -> None:
    # Two round trips from now on, not from when the packets were sent.
    bench = Bench(size=9 * MSS)
    bench.ack(4)
    bench.cpu.spend(70 * MS)
    before = len(bench.packets)
    bench.cpu.spend(20 * MS)

    assert (before, len(bench.packets)) == (0, 1)


def test_a_duplicate_ack_after_a_timeout_is_one() -> None:
    bench = Bench()
    sock = bench.sock
    sock.ca_state, sock.frto, sock.high_seq = CaState.LOSS, True, 9 * MSS
    bench.ack(0)

    assert not sock.frto


def test_retransmissions_go_before_new_data_and_are_not_counted_as_such() -> None:
    # TCP_MIB_OUTSEGS in __tcp_transmit_skb(): only what ends after snd_nxt.
    bench = Bench("cubic")
    bench.ack(0, (2, 10))
    first, second = bench.packets[:2]

    assert (first.seq, first.length, first.again) == (0, 2 * MSS, True)
    assert (second.seq, second.again) == (10 * MSS, False)


def test_new_data_is_not_counted_as_sent_before() -> None:
    bench = Bench()
    bench.ack(2)

    assert [packet.again for packet in bench.packets] == [False] * len(bench.packets)
    assert bench.packets


# Windows


def test_a_larger_window_is_taken_and_is_no_duplicate_ack() -> None:
    bench = Bench()
    bench.sock.tlp_high_seq, bench.sock.tlp_retrans = 10 * MSS, True
    bench.ack(0, window=2 * WINDOW)

    assert bench.sock.snd_wnd == 2 * WINDOW
    assert bench.sock.tlp_high_seq  # which a duplicate ACK of all would end


@pytest.mark.parametrize(
    ("window", "taken"),
    [
        pytest.param(WINDOW - 1, WINDOW, id="smaller"),
        pytest.param(0, 0, id="closed"),
    ],
)
def test_without_progress_a_smaller_window_is_old_unless_it_is_closed(
    window: int, taken: int
) -> None:
    # As tcp_may_update_window() asks.
    bench = Bench()
    bench.ack(0, window=window)

    assert bench.sock.snd_wnd == taken


def test_with_progress_any_window_is_taken() -> None:
    bench = Bench()
    bench.ack(1, window=WINDOW - 1)

    assert (bench.sock.snd_wnd, bench.sock.max_window) == (WINDOW - 1, WINDOW)


# ACKs with nothing under way


def all_acknowledged() -> Bench:
    bench = Bench(size=9 * MSS)
    bench.sock.total_retrans = 2
    fin = 9 * MSS + 1
    packet = Packet(0, 0, 1, 52)
    packet.ack, packet.window, packet.tsecr = fin, WINDOW, bench.cpu.clock // MS - 40
    bench.sender.take(packet)
    return bench


def late_dsack(bench: Bench) -> None:
    packet = Packet(0, 0, 1, 52)
    packet.ack, packet.window = 9 * MSS + 1, WINDOW
    packet.sacks = ((8 * MSS, 9 * MSS + 1),)
    bench.sender.take(packet)


def test_a_dsack_undoes_a_reduction_after_all_is_acknowledged() -> None:
    bench = all_acknowledged()
    sock = bench.sock
    sock.undo_marker, sock.undo_retrans = 7 * MSS, 2
    sock.prior_ssthresh, sock.prior_cwnd, sock.snd_cwnd = 100, 40, 5
    late_dsack(bench)

    assert (sock.snd_cwnd, sock.undo_marker) == (40, None)


def test_a_dsack_ends_a_probe_after_all_is_acknowledged() -> None:
    bench = all_acknowledged()
    bench.sock.tlp_high_seq, bench.sock.tlp_retrans = 9 * MSS + 1, True
    late_dsack(bench)

    assert bench.sock.tlp_high_seq == 0


def test_a_dsack_that_delivers_nothing_widens_racks_window_later() -> None:
    # tcp_rack_update_reo_wnd() returns while rs->prior_delivered is 0.
    bench = Bench()
    sock = bench.sock
    bench.ack(4)
    sock.total_retrans, sock.reord_seen = 1, True
    bench.ack(4, (1, 2))
    before = sock.rack.reo_wnd_steps
    bench.ack(4, (6, 7))

    assert (before, sock.rack.reo_wnd_steps) == (1, 2)


# Growth


@pytest.mark.parametrize(
    ("reordering", "cwnd"),
    [pytest.param(3, 10, id="in-order"), pytest.param(4, 11, id="reordered")],
)
def test_cwnd_grows_by_sacks_where_packets_are_reordered(
    reordering: int, cwnd: int
) -> None:
    # As tcp_may_raise_cwnd() asks.
    bench = Bench()
    bench.sock.reordering = reordering
    bench.ack(0, (5, 6))

    assert bench.sock.snd_cwnd == cwnd


def test_progress_ends_a_row_of_timeouts() -> None:
    bench = Bench()
    bench.sock.icsk_retransmits = 3
    bench.ack(1)

    assert bench.sock.icsk_retransmits == 0
