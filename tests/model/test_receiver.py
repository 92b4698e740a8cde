from testbed.model.cpu import Cpu, Machine
from testbed.model.packet import Packet
from testbed.model.rcv_sock import RcvSock
from testbed.model.receiver import Receiver

MS = 1_000_000
RMEM = (4096, 131072, 6291456)


class Bench:
    """A connected receiver, and the packets it sends."""

    def __init__(self, *, rcvbuf: int | None = None) -> None:
        self.cpu = Cpu(Machine(tick=1, min_delta=0), 5 * MS)
        self.sent: list[Packet] = []
        self.sock = RcvSock(mss=1448, rmem=RMEM, rcvbuf=rcvbuf, skb_overhead=832)
        self.receiver = Receiver(
            self.sock, cpu=self.cpu, header=52, transmit=self.sent.append
        )
        syn = Packet(0, 0, 1, 60)
        syn.syn = True
        self.receiver.receive(syn)
        self.receiver.receive(Packet(0, 0, 1, 52))

    def send(self, seq: int, length: int) -> None:
        self.receiver.receive(Packet(seq, length, -(-length // 1448), 52))

    def acks(self) -> list[int]:
        return [packet.ack for packet in self.sent if not packet.syn]


def test_the_syn_ack_offers_half_the_buffer_in_whole_segments() -> None:
    assert [packet.window for packet in Bench().sent] == [65_160]


def test_a_packet_of_several_segments_has_one_ack() -> None:
    bench = Bench()
    bench.send(0, 5 * 1448)
    bench.cpu.run()

    assert bench.acks() == [5 * 1448]


def test_the_first_windows_are_the_kernels() -> None:
    bench = Bench()
    for seq in range(0, 4 * 2896, 2896):
        bench.send(seq, 2896)
        bench.cpu.run()

    assert [packet.window for packet in bench.sent[1:]] == [69888, 75776, 81536, 87296]


def test_single_segments_are_acknowledged_at_once_at_first() -> None:
    bench = Bench()
    bench.send(0, 1448)
    bench.send(1448, 1448)

    assert bench.acks() == [1448, 2896]


def test_what_lies_beyond_a_gap_is_told_by_a_sack_block() -> None:
    # RFC 2018, section 4: the block that has changed last comes first.
    bench = Bench()
    for segment in (0, 2, 4):
        bench.send(segment * 1448, 1448)

    assert bench.acks() == [1448, 1448, 1448]
    assert bench.sent[-1].sacks == ((5792, 7240), (2896, 4344))


def test_what_comes_twice_is_told_first() -> None:
    # RFC 2883, section 4
    bench = Bench()
    for segment in (0, 2, 0):
        bench.send(segment * 1448, 1448)

    assert bench.sent[-1].sacks == ((0, 1448), (2896, 4344))


def test_packets_that_come_while_the_process_reads_have_one_ack() -> None:
    bench = Bench()
    bench.sock.sk_lock.own()
    for segment in range(0, 8, 2):
        bench.send(segment * 1448, 2 * 1448)
    before = bench.acks()
    bench.sock.sk_lock.release()

    assert (before, bench.acks()) == ([], [8 * 1448])


def test_three_duplicate_acks_go_at_once_and_further_ones_are_compressed() -> None:
    # __tcp_ack_snd_check(): TCP_FASTRETRANS_THRESH, as an older sender needs three; the
    # others wait for 1 ms or rtt / 20. No quick ACKs here: they go with a window that
    # grows.
    bench = Bench(rcvbuf=20_000)
    for seq in range(0, 24 * 1448, 1448):
        bench.send(seq, 1448)
        bench.cpu.run()
    bench.sock.rcv_ssthresh = bench.sock.window_clamp
    before = len(bench.acks())
    for seq in range(25 * 1448, 33 * 1448, 1448):
        bench.send(seq, 1448)
    at_once = len(bench.acks()) - before
    bench.cpu.run()

    assert (at_once, len(bench.acks()) - before) == (3, 4)


def test_a_lone_segment_waits_for_40_ms_once_quick_acks_are_spent() -> None:
    bench = Bench(rcvbuf=20_000)
    for seq in range(0, 24 * 1448, 1448):
        bench.send(seq, 1448)
        bench.cpu.run()
    before, start = len(bench.acks()), bench.cpu.clock
    bench.send(24 * 1448, 1448)
    at_once = len(bench.acks()) - before
    bench.cpu.run()

    assert (at_once, len(bench.acks()) - before) == (0, 1)
    assert 39 * MS <= bench.cpu.clock - start <= 41 * MS


def test_a_fin_is_answered_by_a_fin() -> None:
    bench = Bench()
    fin = Packet(0, 100, 1, 52)
    fin.fin = True
    bench.receiver.receive(fin)
    bench.cpu.run()

    assert [packet.fin for packet in bench.sent] == [False, True]
