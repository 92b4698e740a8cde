"""A sender whose ACKs are written by hand: what it sends, and when, after a loss.

As a packetdrill script would have it: a round trip of 40 ms, segments of one packet
each, Reno. What is right is an RFC's, or the function of Linux 6.12 that is named.
"""

import pytest
from builders import a_variant, a_workload

from testbed.model.cpu import NS_PER_MS, Cpu, Machine, Timer
from testbed.model.features import Features
from testbed.model.packet import Block, Packet
from testbed.model.sender import Sender
from testbed.model.sock import INFINITE_SSTHRESH
from testbed.spec.settings import HostSettings

MSS = 1448
START = 1000  # ms, when the SYN leaves
RTT = 40
#: When the first ten segments leave, and when they can be acknowledged.
FIRST, SECOND = RTT, 2 * RTT
ONE_SEGMENT = {"gso_max_segs": 1}
NO_LIMIT = 1000
#: After the first timeout of a sender that nobody answers, before the second.
LATE = 400


class Bench:
    """A connected sender, and what it has sent: (ms since the SYN, segment, number).

    window: the segment where the receiver's window ends.
    """

    def __init__(
        self, window: int = NO_LIMIT, link_sizes: dict[str, int] | None = None
    ) -> None:
        self.cpu = Cpu(Machine(tick=1, min_delta=0), START * NS_PER_MS)
        self.sent: list[tuple[int, int, int]] = []
        self.window = window
        sizes = ONE_SEGMENT if link_sizes is None else link_sizes
        size = NO_LIMIT * MSS
        workload = a_workload(
            bytes=size, send_size=size, sndbuf=2 * size, congestion="reno"
        )
        self.sender = Sender(
            a_variant(workload=workload, sender=HostSettings(link_sizes=sizes)),
            Features(),
            cpu=self.cpu,
            transmit=self._take,
            sent=lambda cause: None,
        )
        self.sock = self.sender.sock
        self.sender.output.send_syn(again=False)
        self._at(RTT, self._connect)

    def _take(self, packet: Packet) -> bool:
        if packet.length:
            ms = self.cpu.clock // NS_PER_MS - START
            self.sent.append((ms, packet.seq // MSS, packet.length // MSS))
        self.sender.output.done(packet)
        return True

    def _connect(self) -> None:
        syn_ack = Packet(0, 0, 1, 60)
        syn_ack.syn, syn_ack.window = True, self.window * MSS
        self.sender.take(syn_ack)
        self.sender.writer.begin()

    def _at(self, ms: int, work) -> None:
        self.cpu.start(Timer(work), (START + ms) * NS_PER_MS)

    def ack(
        self, ms: int, segment: int, *blocks: Block, echo: int = 0, more: int = 0
    ) -> None:
        """Acknowledge what is before a segment.

        blocks: in segments.  echo: ms; of what was sent when the timestamp is.  more:
        segments that the window ends later.
        """
        packet = Packet(0, 0, 1, 52)
        packet.ack = segment * MSS
        packet.window = (self.window + more - segment) * MSS
        packet.sacks = tuple((start * MSS, end * MSS) for start, end in blocks)
        packet.tsecr = START + echo
        self._at(ms, lambda: self.sender.take(packet))

    def run(self, until: int) -> list[tuple[int, int, int]]:
        """Let time pass; return what was sent after the first ten segments."""
        self._at(until, lambda: self._end(until))
        with pytest.raises(StopIteration):
            self.cpu.run()
        return [each for each in self.sent if each[0] > FIRST]

    def _end(self, until: int) -> None:
        raise StopIteration(until)


def test_ten_segments_leave_at_once() -> None:
    bench = Bench()
    bench.run(until=SECOND)

    assert bench.sent == [(FIRST, segment, 1) for segment in range(10)]


def test_the_first_is_lost_once_three_behind_it_are_sacked() -> None:
    # RFC 8985, section 6.2, step 4: the reordering window is 0 by then.
    bench = Bench(window=10)
    bench.ack(SECOND, 0, (1, 4), echo=FIRST)

    assert bench.run(until=SECOND + 5) == [(SECOND, 0, 1)]


def test_two_sacked_segments_have_it_wait_a_quarter_of_min_rtt() -> None:
    # 10 ms and TCP_TIMEOUT_MIN, rounded up to jiffies: tcp_rack_mark_lost()
    bench = Bench(window=10)
    bench.ack(SECOND, 0, (1, 3), echo=FIRST)
    ((ms, segment, _),) = bench.run(until=SECOND + 20)

    assert segment == 0
    assert SECOND + 12 <= ms <= SECOND + 13


def test_a_packet_is_cut_where_a_sack_block_begins() -> None:
    # tcp_match_skb_to_sack(): only the segment that is missing is sent again.
    bench = Bench(window=10, link_sizes={})
    bench.ack(SECOND, 0, (1, 10), echo=FIRST)
    again = bench.run(until=SECOND + 5)

    assert (bench.sent[0], again) == ((FIRST, 0, 2), [(SECOND, 0, 1)])


def test_in_recovery_less_leaves_than_arrives() -> None:
    # RFC 6937: 3 delivered of 10 in flight, ssthresh 5, are worth ceil(3 * 5 / 10).
    bench = Bench()
    bench.ack(SECOND, 0, (1, 4), echo=FIRST)

    assert bench.run(until=SECOND + 5) == [(SECOND, 0, 1), (SECOND, 10, 1)]
    assert (bench.sock.snd_ssthresh, bench.sock.prior_cwnd) == (5, 10)


def test_a_tail_that_nobody_acknowledges_is_probed_after_two_round_trips() -> None:
    # RFC 8985, section 7.2; the timer wheel's jiffies are 8 ms so far ahead.
    bench = Bench(window=10)
    bench.ack(SECOND, 8, echo=FIRST)
    ms, segment, _ = bench.run(until=SECOND + 110)[0]

    assert segment == 9
    assert SECOND + 2 * RTT + 2 <= ms <= SECOND + 2 * RTT + 2 + 8


def test_a_timeout_comes_after_srtt_and_200_ms_and_sends_the_first_again() -> None:
    # RFC 6298 with TCP_RTO_MIN, 200 ms, for the variance, counted from the probe, as
    # tcp_send_loss_probe() has it; RFC 5681 for the window.
    bench = Bench(window=10)
    (probed, _, _), (ms, segment, _) = bench.run(until=LATE)

    assert segment == 0
    assert RTT + 200 <= ms - probed <= RTT + 200 + 8
    assert (bench.sock.snd_cwnd, bench.sock.snd_ssthresh) == (1, 5)


def test_each_timeout_is_twice_as_long_as_the_one_before() -> None:
    # RFC 6298, 5.5; 8 and 64 ms are what the wheel's jiffies are at such distances.
    bench = Bench(window=10)
    _, first, second, third = (ms for ms, _, _ in bench.run(until=2400))

    assert 480 <= second - first <= 480 + 8
    assert 960 <= third - second <= 960 + 64


def test_after_a_timeout_new_data_is_sent_to_learn_whether_it_was_right() -> None:
    # RFC 5682, 2.1, step 2b: instead of more of what seems lost.
    bench = Bench(window=10)
    bench.ack(LATE, 1, echo=LATE, more=2)

    assert bench.run(until=LATE + 1)[2:] == [(LATE, 10, 1), (LATE, 11, 1)]


@pytest.mark.parametrize(
    ("echo", "ssthresh"),
    [
        pytest.param(FIRST, INFINITE_SSTHRESH, id="of-the-original"),
        pytest.param(LATE, 5, id="of-what-was-sent-again"),
    ],
)
def test_a_timeout_is_undone_if_the_echo_is_the_originals(echo, ssthresh) -> None:
    # RFC 3522 (Eifel): tcp_packet_delayed()
    bench = Bench(window=10)
    bench.ack(LATE, 1, echo=echo)
    bench.run(until=LATE + 1)

    assert bench.sock.snd_ssthresh == ssthresh


@pytest.mark.parametrize(
    ("twice", "ssthresh"),
    [
        pytest.param([(0, 1)], INFINITE_SSTHRESH, id="all-came-twice"),
        pytest.param([], 5, id="none-did"),
    ],
)
def test_a_recovery_is_undone_if_all_it_sent_again_came_twice(twice, ssthresh) -> None:
    # RFC 2883 and RFC 3708: tcp_try_undo_recovery()
    bench = Bench(window=10)
    bench.ack(SECOND, 0, (1, 4), echo=FIRST)
    bench.ack(SECOND + RTT, 10, *twice, echo=SECOND)
    bench.run(until=SECOND + RTT + 1)

    assert bench.sock.snd_ssthresh == ssthresh
