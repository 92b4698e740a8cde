import pytest

from testbed.model.acks import Acks
from testbed.model.cpu import Cpu
from testbed.model.ecn import Echo, Ecn, mark_data
from testbed.model.packet import Packet
from testbed.model.rcv_sock import RcvSock
from testbed.model.sock import TcpSock
from tests.model.scenarios import IDEAL, MS, MSS, RMEM


def a_syn(*, asks: bool = True, ect: bool = False) -> Packet:
    syn = Packet(0, 0, 1, 60)
    syn.ece = syn.cwr = asks
    syn.ect = ect
    return syn


@pytest.mark.parametrize(
    ("sender", "needed", "asked"),
    [
        pytest.param(0, False, False, id="never"),
        pytest.param(1, False, True, id="always"),
        pytest.param(2, False, False, id="when-asked"),
        pytest.param(0, True, True, id="dctcp"),
    ],
)
def test_who_asks_for_ecn(sender: int, *, needed: bool, asked: bool) -> None:
    assert Ecn(sender=sender, receiver=2, needed=needed).is_asked_for() is asked


@pytest.mark.parametrize(
    ("receiver", "syn", "needed", "granted"),
    [
        pytest.param(2, a_syn(), False, True, id="by-default"),
        pytest.param(0, a_syn(), False, False, id="never"),
        pytest.param(2, a_syn(asks=False), False, False, id="not-asked-for"),
        # "ECT on a SYN is a sign of a broken network", unless both ends are DCTCP.
        pytest.param(2, a_syn(ect=True), False, False, id="marked-syn"),
        pytest.param(0, a_syn(ect=True), True, True, id="dctcp"),
    ],
)
def test_who_grants_ecn(
    receiver: int, syn: Packet, *, needed: bool, granted: bool
) -> None:
    ecn = Ecn(sender=1, receiver=receiver, needed=needed)

    assert ecn.is_granted(syn) is granted


def test_new_data_is_ecn_capable_and_tells_of_a_reduction_once() -> None:
    sock, packets = TcpSock(1), [Packet(0, MSS, 1, 52), Packet(MSS, MSS, 1, 52)]
    sock.ecn_ok = sock.queue_cwr = True
    for packet in packets:
        mark_data(sock, packet, needed=False)

    assert [packet.ect for packet in packets] == [True, True]
    assert [packet.cwr for packet in packets] == [True, False]


@pytest.mark.parametrize("needed", [False, True], ids=["cubic", "dctcp"])
def test_what_is_sent_again_is_ecn_capable_for_dctcp_alone(*, needed: bool) -> None:
    sock, packet = TcpSock(1), Packet(0, MSS, 1, 52)
    sock.ecn_ok = sock.queue_cwr = True
    sock.snd_nxt = MSS
    mark_data(sock, packet, needed=needed)

    assert (packet.ect, packet.cwr) == (needed, False)


class Bench:
    """A receiver that takes packets one by one. acks: (ack, ece) of what it sent."""

    def __init__(self, *, needed: bool) -> None:
        self.cpu = Cpu(IDEAL, 5 * MS)
        self.sock = RcvSock(mss=MSS, rmem=RMEM, rcvbuf=None, skb_overhead=832)
        self.sock.ecn_ok, self.sock.ato, self.sock.rcv_mss = True, 40, MSS
        self.acks: list[tuple[int, bool]] = []
        acks = Acks(self.sock, cpu=self.cpu, header=52, transmit=self.take)
        self.all_acks = acks
        self.echo = Echo(self.sock, acks, needed=needed)

    def take(self, packet: Packet) -> None:
        self.acks.append((packet.ack // MSS, packet.ece))

    def come(self, *, ce: bool, ect: bool = True, cwr: bool = False) -> None:
        packet = Packet(self.sock.rcv_nxt, MSS, 1, 52)
        packet.ect, packet.ce, packet.cwr = ect, ce, cwr
        self.echo.accept_cwr(packet)
        self.sock.rcv_nxt += MSS
        self.sock.copied_seq = self.sock.rcv_nxt
        self.sock.scheduled = True
        self.echo.check_ce(packet)
        self.all_acks.check()


def test_a_mark_is_echoed_at_once_until_the_sender_says_it_has_reacted() -> None:
    bench = Bench(needed=False)
    for ce, cwr in ((True, False), (False, False), (False, True)):
        bench.come(ce=ce, cwr=cwr)

    assert bench.acks == [(1, True), (2, True), (3, False)]


def test_what_is_not_ecn_capable_after_what_was_is_acknowledged_at_once() -> None:
    bench = Bench(needed=False)
    bench.come(ce=False)
    bench.come(ce=False, ect=False)
    bench.come(ce=False, ect=False)

    assert [ack for ack, _ece in bench.acks] == [2, 3]


def test_dctcp_acknowledges_what_was_unmarked_before_a_mark() -> None:
    bench = Bench(needed=True)
    bench.come(ce=False)
    bench.come(ce=True)

    assert bench.acks == [(1, False), (2, True)]


def test_dctcp_echoes_each_change_of_marks() -> None:
    bench = Bench(needed=True)
    for ce in (True, False, True):
        bench.come(ce=ce)

    assert bench.acks == [(1, True), (2, False), (3, True)]
