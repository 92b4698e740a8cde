import pytest

from testbed.model.cpu import Cpu
from testbed.model.features import Features
from testbed.model.packet import Packet
from testbed.model.sender import Sender, setup_of
from tests.model.scenarios import IDEAL, MS, a_stream


class Bench:
    """A sender that connects at 10 s; lost: how many of its SYNs are."""

    def __init__(self, lost: int, congestion: str = "reno") -> None:
        self.cpu = Cpu(IDEAL, 10_000 * MS)
        self.syns: list[tuple[int, bool]] = []
        self.lost = lost
        self.sender = Sender(
            setup_of(a_stream(1_000_000, congestion=congestion), Features()),
            cpu=self.cpu,
            transmit=self.take,
            sent=lambda cause: None,
        )
        self.sender.handshake.connect()
        self.cpu.run()

    def take(self, packet: Packet) -> bool:
        if packet.syn:
            at_ms = self.cpu.clock // MS - 10_000
            self.syns.append((at_ms, packet.ece and packet.cwr))
            if len(self.syns) > self.lost:
                answer = Packet(0, 0, 1, 60)
                answer.syn, answer.ece, answer.window = True, packet.ece, 65535
                answer.tsecr = packet.tsval
                self.cpu.wake(lambda: self.sender.take(answer))
        return True


def test_a_syn_is_sent_again_each_second_and_then_less_often() -> None:
    bench = Bench(lost=7)
    gaps = [
        round((after[0] - before[0]) / 1000)
        for before, after in zip(bench.syns, bench.syns[1:], strict=False)
    ]

    # tcp_syn_linear_timeouts is 4: four times a second, then it doubles.
    assert gaps == [1, 1, 1, 1, 1, 2, 4]


def test_an_answer_ends_it() -> None:
    assert len(Bench(lost=0).syns) == 1


@pytest.mark.parametrize(
    ("lost", "cwnd"),
    [
        pytest.param(1, 10, id="once"),
        pytest.param(2, 1, id="twice"),
    ],
)
def test_a_lost_syn_halves_ssthresh_and_a_second_takes_cwnd(
    lost: int, cwnd: int
) -> None:
    sock = Bench(lost).sender.sock

    assert (sock.snd_cwnd, sock.snd_ssthresh) == (cwnd, 5)


def test_only_the_first_syn_asks_for_ecn() -> None:
    bench = Bench(lost=1, congestion="dctcp")

    assert [asks for _at, asks in bench.syns] == [True, False]
    assert not bench.sender.sock.ecn_ok
