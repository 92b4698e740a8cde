"""When a receiver acknowledges: __tcp_ack_snd_check(), and what it puts off."""

from testbed.model.acks import Acks
from testbed.model.cpu import Cpu
from testbed.model.packet import Packet
from testbed.model.rcv_sock import RcvSock
from tests.model.scenarios import IDEAL, MS, MSS, RMEM

US = 1000


class Bench:
    """A receiver that has read 10 segments, and has no reason for quick ACKs.

    Its clock starts at 5 ms.
    """

    def __init__(self, *, rtt_us: int = 40_000) -> None:
        self.cpu = Cpu(IDEAL, 5 * MS)
        self.times: list[int] = []
        self.packets: list[Packet] = []
        self.sock = sock = RcvSock(mss=MSS, rmem=RMEM, rcvbuf=None, skb_overhead=832)
        sock.rtt_us = sock.srtt_us = rtt_us << 3
        sock.rcv_mss, sock.ato = MSS, 40
        sock.rcv_nxt = sock.rcv_wup = sock.copied_seq = 10 * MSS
        self.acks = Acks(sock, cpu=self.cpu, header=52, transmit=self.take)

    def take(self, packet: Packet) -> None:
        self.packets.append(packet)
        self.times.append(self.cpu.clock - 5 * MS)

    def advance(self, segs: int) -> None:
        """Have so many segments come, be read, and be considered."""
        self.sock.rcv_nxt += segs * MSS
        self.sock.copied_seq = self.sock.rcv_nxt
        self.check()

    def gap(self, times: int = 1) -> None:
        """Have packets come from beyond a gap."""
        for _ in range(times):
            self.sock.ofo.add(Packet(20 * MSS, MSS, 1, 52))
            self.check()

    def check(self) -> None:
        self.sock.scheduled = True
        self.acks.check()


def test_more_than_a_segment_is_acknowledged_at_once() -> None:
    # RFC 5681, section 4.2: at least every second full segment.
    bench = Bench()
    bench.advance(2)

    assert bench.times == [0]


def test_a_segment_alone_waits_for_the_next() -> None:
    bench = Bench()
    bench.advance(1)
    before = list(bench.times)
    bench.advance(1)

    assert (before, bench.times) == ([], [0])


def test_a_segment_that_fills_a_gap_does_not_wait() -> None:
    bench = Bench()
    bench.sock.now = True
    bench.advance(1)
    first = len(bench.packets)
    bench.advance(1)

    assert (first, len(bench.packets)) == (1, 1)


def test_the_delay_of_an_ack_is_rounded_up_by_the_timer_wheel() -> None:
    bench = Bench()
    bench.advance(1)
    bench.cpu.run()

    assert bench.times == [41 * MS]


def test_a_delayed_ack_makes_the_next_wait_longer() -> None:
    bench = Bench()
    bench.advance(1)
    bench.cpu.run()

    assert bench.sock.ato == 80


def test_an_ack_that_is_sent_takes_the_delayed_one_along() -> None:
    bench = Bench()
    bench.advance(1)
    bench.acks.send()
    bench.cpu.run()

    assert bench.times == [0]


def test_a_delayed_ack_that_is_almost_due_is_sent_with_the_next_packet() -> None:
    bench = Bench()
    bench.advance(1)
    bench.cpu.spend(31 * MS)
    bench.check()

    assert bench.times == [31 * MS]


def test_a_process_that_owns_the_socket_sends_the_ack_when_it_is_done() -> None:
    # Linux commit 133c4c0d3717 ("tcp: defer regular ACK while processing socket
    # backlog") (in v6.7)
    bench = Bench()
    bench.sock.sk_lock.own()
    bench.advance(2)
    bench.advance(2)
    before = len(bench.packets)
    bench.sock.sk_lock.release()

    assert (before, [packet.ack for packet in bench.packets]) == (0, [14 * MSS])


def test_a_deferred_ack_is_not_sent_if_another_was() -> None:
    bench = Bench()
    bench.sock.sk_lock.own()
    bench.advance(2)
    bench.acks.send()
    bench.sock.sk_lock.release()

    assert len(bench.packets) == 1


def test_a_delayed_ack_waits_for_the_process_that_owns_the_socket() -> None:
    bench = Bench()
    bench.advance(1)
    bench.sock.sk_lock.own()
    bench.cpu.run()
    before = len(bench.packets)
    bench.sock.sk_lock.release()

    assert (before, len(bench.packets)) == (0, 1)


def test_a_delayed_ack_that_had_to_wait_heeds_that_it_was_put_off_again() -> None:
    # tcp_delack_timer_handler(): icsk_ack.timeout is later than jiffies again.
    bench = Bench()
    bench.advance(1)
    bench.sock.sk_lock.own()
    bench.cpu.run()
    bench.sock.sk_lock.bring(bench.check)
    bench.sock.sk_lock.release()

    assert not bench.packets


# SACK compression: Linux commit 5d9f4262b7ea (in v4.18)


def test_the_first_three_packets_beyond_a_gap_have_acks_of_their_own() -> None:
    bench = Bench()
    bench.gap(4)

    assert bench.times == [0, 0, 0]


def test_the_fourth_waits_for_a_millisecond_and_the_slack() -> None:
    bench = Bench()
    bench.gap(6)
    bench.cpu.run()

    assert bench.times == [0, 0, 0, 1100 * US]


def test_it_waits_for_five_percent_of_a_short_rtt() -> None:
    bench = Bench(rtt_us=2000)
    bench.gap(4)
    bench.cpu.run()

    assert bench.times[-1] == 100 * US + 100 * US


def test_the_shorter_of_both_sides_rtts_counts() -> None:
    bench = Bench(rtt_us=2000)
    bench.sock.rtt_us = 40_000 << 3
    bench.gap(4)
    bench.cpu.run()

    assert bench.times[-1] == 100 * US + 100 * US


def test_the_44_that_wait_at_most_are_acknowledged_with_the_next() -> None:
    bench = Bench()
    bench.gap(3 + 44)
    before = len(bench.packets)
    bench.gap()

    assert (before, len(bench.packets)) == (3, 4)


def test_an_ack_for_whatever_reason_takes_the_compressed_along() -> None:
    bench = Bench()
    bench.gap(5)
    bench.acks.send()
    bench.cpu.run()
    bench.acks.send_compressed()

    assert bench.times == [0, 0, 0, 0]


def test_the_next_to_be_compressed_wait_for_a_time_of_their_own() -> None:
    bench = Bench()
    bench.gap(4)
    bench.cpu.spend(500 * US)
    bench.acks.send()
    bench.gap()
    bench.cpu.run()

    assert bench.times[3:] == [500 * US, 1600 * US]


def test_progress_makes_the_next_three_immediate_again() -> None:
    bench = Bench()
    bench.gap(5)
    bench.sock.rcv_nxt += MSS
    bench.sock.rcv_wup = bench.sock.rcv_nxt
    bench.gap(4)

    assert len(bench.packets) == 3 + 3


def test_a_compressed_ack_waits_for_the_process_that_owns_the_socket() -> None:
    # tcp_compressed_ack_kick() sets TCP_DELACK_TIMER_DEFERRED.
    bench = Bench()
    bench.gap(4)
    bench.sock.sk_lock.own()
    bench.cpu.run()
    before = len(bench.packets)
    bench.sock.sk_lock.release()

    assert (before, len(bench.packets)) == (3, 4)


def test_where_nothing_waits_nothing_is_sent() -> None:
    bench = Bench()
    bench.acks.send_compressed()

    assert not bench.packets


def test_blocks_make_the_header_longer() -> None:
    # RFC 2018: 2 bytes and 8 a block, with two NOPs before.
    bench = Bench()
    bench.gap()

    assert bench.packets[0].header == 52 + 4 + 8


def test_an_offered_window_is_not_taken_back() -> None:
    # RFC 9293, section 3.8.6: "the sender of data may assume".
    bench = Bench()
    bench.acks.send()
    offered = bench.sock.rcv_wnd
    bench.sock.rcv_ssthresh = 10_000
    bench.sock.rcv_nxt += MSS
    bench.acks.send()

    assert bench.packets[1].window + MSS >= offered
