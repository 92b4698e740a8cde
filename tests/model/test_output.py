"""tcp_write_xmit() on a socket of the test's own: what leaves, and what is held."""

import pytest

from testbed.model.cpu import Cpu, Machine
from testbed.model.features import Defer, Features, Sizing
from testbed.model.output import Output, Pacing
from testbed.model.packet import Packet, Skb
from testbed.model.rules import Nagle, grow
from testbed.model.sock import CaState, TcpSock
from testbed.trace.causes import Cause
from tests.model.scenarios import TUNING

MSS = TUNING.mss
MS = 1_000_000
NOW = 100 * MS
SRTT_US = 40_000


class Bench:
    """A sender whose packets stay where they are: nothing is ever acknowledged."""

    def __init__(self, features: Features, pacing: Pacing = Pacing.FQ) -> None:
        self.packets: list[Packet] = []
        self.has_room = True
        self.causes: list[Cause] = []
        self.cpu = Cpu(Machine(tick=1, min_delta=0), NOW)
        self.sock = sock = TcpSock(1 << 20)
        sock.snd_wnd = sock.max_window = 1 << 20
        sock.srtt_us = SRTT_US << 3
        sock.sk_pacing_rate = 20_000_000
        sock.tcp_wstamp_ns = NOW
        self.output = Output(
            sock,
            cpu=self.cpu,
            tuning=TUNING,
            features=features,
            pacing=pacing,
            family=4,
            transmit=self.take,
            sent=self.causes.append,
        )

    def take(self, packet: Packet) -> bool:
        self.packets.append(packet)
        return self.has_room

    def queue(self, *lengths: int) -> None:
        for length in lengths:
            self.sock.write_queue.append(Skb(self.sock.write_seq, length))
            self.sock.write_seq += length

    def in_flight(self, segs: int, sent_ns: int) -> None:
        skb = Skb(0, segs * MSS)
        skb.pcount, skb.tstamp_ns = segs, sent_ns
        self.sock.rtx_queue.append(skb)
        self.sock.packets_out = segs
        self.sock.write_seq = self.sock.snd_nxt = segs * MSS

    def lengths(self) -> list[int]:
        return [packet.length for packet in self.packets]


def test_packets_are_as_large_as_a_millisecond_of_the_rate() -> None:
    bench = Bench(Features())
    bench.sock.snd_cwnd = 100
    bench.queue(40 * MSS, MSS)
    bench.output.push_one()

    assert bench.lengths() == [13 * MSS]
    assert bench.causes == [Cause.AUTOSIZE]


def test_a_short_skb_is_filled_up_from_the_next_since_6_10() -> None:
    bench = Bench(Features())
    bench.sock.snd_cwnd = 100
    bench.queue(3 * MSS, 40 * MSS)
    bench.output.push_one()

    assert bench.lengths() == [13 * MSS]


def test_a_short_skb_stays_short_before_6_10() -> None:
    bench = Bench(Features(grow=False))
    bench.sock.snd_cwnd = 100
    bench.queue(3 * MSS, 40 * MSS)
    bench.output.push_one()

    assert bench.lengths() == [3 * MSS]
    assert bench.causes == [Cause.HALF_WINDOW]


def test_skbs_sized_at_sendmsg_leave_as_they_were_built() -> None:
    bench = Bench(Features(sizing=Sizing.SENDMSG, grow=False))
    bench.sock.snd_cwnd, bench.sock.gso_segs = 100, 6
    bench.queue(6 * MSS, 6 * MSS)
    bench.output.push_one()

    assert bench.lengths() == [6 * MSS]


def test_a_packet_takes_no_more_than_half_of_cwnd() -> None:
    bench = Bench(Features())
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == [5 * MSS, 5 * MSS]
    assert bench.causes == [Cause.CWND_QUOTA, Cause.CWND_QUOTA]


def test_a_packet_ends_where_the_window_ends() -> None:
    bench = Bench(Features())
    bench.sock.snd_cwnd, bench.sock.snd_wnd = 100, 4 * MSS
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == [4 * MSS]
    assert bench.causes == [Cause.RECEIVE_WINDOW]


def test_nagle_holds_a_second_short_segment() -> None:
    bench = Bench(Features())
    bench.queue(100)
    bench.output.write_xmit(Nagle.ON)
    bench.queue(100)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == [100]


def test_small_queues_hold_what_would_be_a_third_packet() -> None:
    bench = Bench(Features())
    bench.sock.snd_cwnd, bench.sock.sk_pacing_rate = 100, 10**6
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == [2 * MSS, 2 * MSS]
    assert bench.sock.tsq_throttled


def test_small_queues_let_a_second_packet_go_however_much_is_queued() -> None:
    # Its retransmit queue holds one: tcp_rtx_queue_empty_or_single_skb().
    bench = Bench(Features())
    bench.sock.snd_cwnd, bench.sock.sk_pacing_rate = 100, 10**6
    bench.sock.sk_wmem_alloc = 1 << 20
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == [2 * MSS, 2 * MSS]


def test_small_queues_held_every_packet_before_4_10() -> None:
    bench = Bench(Features(short_queue_passes=False))
    bench.sock.snd_cwnd, bench.sock.sk_pacing_rate = 100, 10**6
    bench.sock.sk_wmem_alloc = 1 << 20
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == []
    assert bench.sock.tsq_throttled


def test_a_packet_gone_wakes_a_throttled_sender() -> None:
    bench = Bench(Features())
    bench.sock.snd_cwnd, bench.sock.sk_pacing_rate = 100, 10**6
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)
    bench.output.done(bench.packets[0])

    assert not bench.sock.tsq_throttled


def test_psh_is_on_several_segments_and_on_what_ends_a_write() -> None:
    bench = Bench(Features(grow=False))
    bench.sock.snd_cwnd = 100
    bench.queue(2 * MSS, MSS, MSS)
    bench.sock.write_queue[-1].psh = True
    bench.output.write_xmit(Nagle.OFF)

    assert [packet.psh for packet in bench.packets] == [True, False, True]


def test_psh_stays_with_the_end_of_what_is_cut() -> None:
    bench = Bench(Features())
    bench.sock.snd_cwnd = 1
    bench.queue(2 * MSS)
    bench.sock.write_queue[0].psh = True
    bench.output.write_xmit(Nagle.OFF)

    assert [packet.psh for packet in bench.packets] == [False]
    assert bench.sock.write_queue[0].psh


def test_psh_goes_along_with_what_a_short_skb_is_filled_up_from() -> None:
    bench = Bench(Features())
    bench.queue(MSS, MSS)
    first, last = bench.sock.write_queue
    last.psh = True
    grow(bench.sock, first, MSS)

    assert (first.length, first.psh) == (2 * MSS, True)


def test_what_the_qdisc_drops_stays_in_the_write_queue() -> None:
    bench = Bench(Features())
    told: list[str] = []
    bench.output.tell(
        congested=lambda: told.append("congested"),
        progress=lambda packets_out, probing: told.append("progress"),
        check_space=lambda: None,
        send_again=lambda: None,
    )
    bench.has_room = False
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert told == ["congested"]
    assert (bench.sock.packets_out, bench.sock.sk_wmem_alloc) == (0, 1)
    assert sum(skb.length for skb in bench.sock.write_queue) == 41 * MSS


def test_what_is_lost_goes_before_new_data_when_the_host_has_room_again() -> None:
    # As tcp_tsq_write() does.
    bench = Bench(Features())
    told: list[str] = []
    bench.output.tell(
        congested=lambda: None,
        progress=lambda packets_out, probing: told.append("new data"),
        check_space=lambda: None,
        send_again=lambda: told.append("lost"),
    )
    bench.in_flight(4, NOW)
    bench.sock.lost_out, bench.sock.sk_pacing_rate = 4, 10**6
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)
    bench.sock.tsq_throttled = True
    bench.sock.retrans_out = 1
    told.clear()
    bench.cpu.receive(bench.output.done, bench.packets[0])

    assert told[0] == "lost"


@pytest.mark.parametrize(
    ("cwnd", "retrans"),
    [pytest.param(4, 0, id="cwnd-is-full"), pytest.param(10, 4, id="all-sent-again")],
)
def test_what_is_lost_is_not_sent_where_it_may_not(cwnd: int, retrans: int) -> None:
    bench = Bench(Features())
    told: list[str] = []
    bench.output.tell(
        congested=lambda: None,
        progress=lambda packets_out, probing: None,
        check_space=lambda: None,
        send_again=lambda: told.append("lost"),
    )
    bench.queue(MSS)
    bench.output.write_xmit(Nagle.OFF)
    sock = bench.sock
    sock.tsq_throttled, sock.snd_cwnd = True, cwnd
    sock.packets_out, sock.lost_out, sock.retrans_out = 8, 4, retrans
    bench.cpu.receive(bench.output.done, bench.packets[0])

    assert told == []


@pytest.mark.parametrize("cwnd", [10, 11, 12])
def test_a_loss_probe_leaves_whatever_cwnd_says(cwnd: int) -> None:
    # tcp_write_xmit(): "Force out a loss probe pkt."
    bench = Bench(Features())
    bench.in_flight(11, NOW)
    bench.sock.snd_cwnd = cwnd
    bench.queue(40 * MSS, MSS)
    bench.output.push_probe()

    assert bench.lengths() == [MSS]


def test_a_loss_probe_is_told_from_other_progress() -> None:
    bench = Bench(Features())
    told: list[tuple[int, bool]] = []
    bench.output.tell(
        congested=lambda: None,
        progress=lambda packets_out, probing: told.append((packets_out, probing)),
        check_space=lambda: None,
        send_again=lambda: None,
    )
    bench.in_flight(10, NOW)
    bench.queue(MSS, MSS)
    bench.output.push_probe()
    bench.sock.snd_cwnd = 20
    bench.output.write_xmit(Nagle.OFF)

    assert told == [(10, True), (11, False)]


def test_new_data_counts_for_prr_while_cwnd_is_reduced() -> None:
    bench = Bench(Features())
    bench.sock.ca_state = CaState.CWR
    bench.queue(3 * MSS)
    bench.output.write_xmit(Nagle.OFF)

    assert bench.sock.prr_out == 3


def test_in_recovery_nothing_is_deferred() -> None:
    bench = Bench(Features())
    bench.in_flight(96, NOW - 40 * MS)
    bench.sock.snd_cwnd, bench.sock.ca_state = 100, CaState.RECOVERY
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.packets


def test_a_fin_has_to_be_within_the_window_too() -> None:
    # tcp_snd_wnd_test() looks at end_seq.
    bench = Bench(Features())
    bench.sock.snd_wnd = MSS
    bench.queue(MSS)
    bench.sock.write_queue[0].fin = True
    bench.output.write_xmit(Nagle.OFF)

    assert not bench.packets


def test_a_packet_remembers_what_was_delivered_as_it_was_sent() -> None:
    # As tcp_rate_skb_sent() does, for RACK.
    bench = Bench(Features())
    bench.sock.delivered = 7
    bench.queue(MSS)
    bench.output.write_xmit(Nagle.OFF)

    assert bench.sock.rtx_queue[0].delivered == 7


def test_pacing_begins_with_the_tenth_segment() -> None:
    bench = Bench(Features())
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert [packet.edt_ns for packet in bench.packets] == [NOW + 1, NOW + 1]
    assert bench.sock.tcp_wstamp_ns == NOW + 1 + 5 * MSS * 1000 // 20


@pytest.mark.parametrize(
    ("late_ns", "next_ns"),
    [
        pytest.param(0, 941_200, id="in-time"),
        pytest.param(100_000, 841_200, id="a-little-late"),
        pytest.param(10 * MS, 470_600, id="very-late"),
    ],
)
def test_a_late_packet_earns_up_to_half_of_its_time(late_ns, next_ns) -> None:
    # tcp_update_skb_after_send(): 13 segments at 20 MB/s take 941.2 us.
    bench = Bench(Features())
    bench.sock.snd_cwnd, bench.sock.data_segs_out = 100, 10
    bench.sock.tcp_wstamp_ns = NOW + 1 - late_ns
    bench.queue(40 * MSS, MSS)
    bench.output.push_one()

    assert bench.sock.tcp_wstamp_ns == NOW + 1 + next_ns


def test_a_sender_that_paces_itself_waits_for_its_time() -> None:
    bench = Bench(Features(), Pacing.NEEDED)
    bench.sock.snd_cwnd, bench.sock.data_segs_out = 100, 10
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.lengths() == [13 * MSS]


#: What makes tcp_tso_should_defer() wait: 100 segments of cwnd, 4 of them free, the
#: oldest packet a round trip ago.
@pytest.mark.parametrize(
    ("change", "sent"),
    [
        pytest.param({}, False, id="waits-for-the-ack"),
        pytest.param({"in_flight": 87}, True, id="a-whole-packet-fits"),
        pytest.param({"age_ns": 38 * MS}, True, id="the-ack-is-2-ms-away"),
        pytest.param({"wstamp": NOW - 2 * MS}, True, id="idle-for-a-millisecond"),
        pytest.param({"in_flight": 66}, True, id="a-third-of-the-window"),
    ],
)
def test_a_packet_is_deferred_only_if_it_is_worth_it(
    change: dict[str, int], *, sent: bool
) -> None:
    bench = Bench(Features())
    given = {"in_flight": 96, "age_ns": 40 * MS, "wstamp": NOW} | change
    bench.in_flight(given["in_flight"], NOW - given["age_ns"])
    bench.sock.snd_cwnd, bench.sock.tcp_wstamp_ns = 100, given["wstamp"]
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bool(bench.packets) == sent


@pytest.mark.parametrize(
    ("defer", "age_ns", "sent"),
    [
        pytest.param(Defer.ANY, 15 * MS, False, id="however-far"),
        pytest.param(Defer.HALF_RTT, 15 * MS, True, id="half-rtt-young"),
        pytest.param(Defer.HALF_RTT, 25 * MS, False, id="half-rtt-old"),
        pytest.param(Defer.ONE_MS, 25 * MS, True, id="one-ms-old"),
    ],
)
def test_how_far_the_ack_may_be(defer: Defer, age_ns: int, *, sent: bool) -> None:
    bench = Bench(Features(defer=defer))
    bench.in_flight(96, NOW - age_ns)
    bench.sock.snd_cwnd = 100
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bool(bench.packets) == sent


def test_waiting_for_cwnd_makes_the_connection_cwnd_limited() -> None:
    bench = Bench(Features())
    bench.in_flight(96, NOW - 40 * MS)
    bench.sock.snd_cwnd = 100
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert bench.sock.is_cwnd_limited


def test_v1_of_2014_waited_for_the_goal_of_sendmsg() -> None:
    bench = Bench(Features(defer_unsized=True, grow=False))
    bench.in_flight(80, NOW - 40 * MS)
    bench.sock.snd_cwnd, bench.sock.gso_segs = 100, 45
    bench.queue(40 * MSS, MSS)
    bench.output.write_xmit(Nagle.ON)

    assert not bench.packets
