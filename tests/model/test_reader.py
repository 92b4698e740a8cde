"""The receiving process: tcp_recvmsg(), and the memory that reading fast earns."""

import pytest

from testbed.model.packet import Packet
from tests.model.scenarios import MS, MSS, ReceiverBench


def test_a_process_reads_all_there_is() -> None:
    bench = ReceiverBench()
    bench.send(0, 20 * MSS)
    bench.send(20 * MSS, 20 * MSS)
    bench.cpu.run()

    assert bench.sock.copied_seq == 40 * MSS
    assert (bool(bench.sock.queue), bench.sock.queue.memory) == (False, 0)


def test_a_process_reads_again_after_256_kb() -> None:
    bench = ReceiverBench()
    for place in range(10):
        bench.send(place * 30 * MSS, 30 * MSS)
    bench.cpu.run()

    assert bench.sock.copied_seq == 300 * MSS


def test_a_process_does_not_read_before_softirqs_are_done() -> None:
    bench = ReceiverBench()
    bench.send(0, 20 * MSS)

    assert bench.sock.copied_seq == 0


def test_a_process_closes_once_after_the_fin() -> None:
    bench = ReceiverBench()
    bench.send(0, MSS, fin=True)
    bench.cpu.run()
    bench.send(0, MSS, fin=True)
    bench.cpu.run()

    assert [packet.fin for packet in bench.sent[1:]].count(True) == 1


def test_reading_fast_earns_memory_for_twice_as_much_and_its_growth() -> None:
    # tcp_rcv_space_adjust(): 20 segments in a round trip, where 10 were expected:
    # 2 * 20 + 16 segments, and twice that again, at 248 parts of 256.
    bench = ReceiverBench()
    bench.sock.rtt_us = 1000 << 3
    bench.cpu.spend(2 * MS)
    bench.send(0, 20 * MSS)
    bench.cpu.run()

    assert bench.sock.rcvbuf == (3 * 56 * MSS << 8) // 248
    assert bench.sock.rcvq_space == 20 * MSS


def test_within_a_round_trip_nothing_is_earned() -> None:
    bench = ReceiverBench()
    bench.sock.rtt_us = 3000 << 3
    bench.cpu.spend(2 * MS)
    bench.send(0, 20 * MSS)
    bench.cpu.run()

    assert bench.sock.rcvbuf == 131_072


def test_a_slower_round_trip_takes_nothing_back() -> None:
    bench = ReceiverBench()
    bench.sock.rtt_us = 1000 << 3
    bench.cpu.spend(2 * MS)
    bench.send(0, 2 * MSS)
    bench.cpu.run()

    assert bench.sock.rcvq_space == 10 * MSS


def test_a_set_buffer_stays_as_it_is() -> None:
    bench = ReceiverBench(rcvbuf=65_536)
    bench.sock.rtt_us = 1000 << 3
    bench.cpu.spend(2 * MS)
    bench.send(0, 20 * MSS)
    bench.cpu.run()

    assert bench.sock.rcvbuf == 131_072


def test_memory_ends_with_tcp_rmem() -> None:
    bench = ReceiverBench()
    bench.sock.rtt_us, bench.sock.rcvbuf_max = 1000 << 3, 140_000
    bench.cpu.spend(2 * MS)
    bench.send(0, 20 * MSS)
    bench.cpu.run()

    assert bench.sock.rcvbuf == 140_000


@pytest.mark.parametrize(
    ("room", "told"),
    [
        pytest.param(5, True, id="more-than-twice-as-much"),
        pytest.param(3, False, id="less"),
    ],
)
def test_a_window_that_reading_doubles_is_told(room: int, *, told: bool) -> None:
    # As __tcp_cleanup_rbuf() does; 2 segments are left of the window.
    bench = ReceiverBench()
    bench.send(0, 18 * MSS)
    sock, sent = bench.sock, len(bench.sent)
    sock.scheduled = False
    sock.rcv_wup, sock.rcv_wnd, sock.rcv_ssthresh = 0, 20 * MSS, room * MSS
    bench.cpu.run()

    assert len(bench.sent) - sent == int(told)


@pytest.mark.parametrize("psh", [True, False])
def test_a_segment_with_psh_is_acknowledged_once_it_is_read(*, psh: bool) -> None:
    # ICSK_ACK_PUSHED, tcp_measure_rcv_mss(): more may not come soon.
    bench = ReceiverBench()
    sock, packet = bench.sock, Packet(0, MSS, 1, 52)
    sock.rcv_mss, sock.ato, sock.rcv_ssthresh = MSS, 40, 1 << 30
    packet.psh = psh
    bench.receiver.receive(packet)
    before, start = len(bench.acks()), bench.cpu.clock
    bench.cpu.run()

    assert (before, bench.acks()) == (0, [MSS])
    assert (bench.cpu.clock - start < MS) == psh  # else it waits for a timer


def test_a_short_segment_is_acknowledged_once_it_is_read() -> None:
    # ICSK_ACK_PUSHED: the sender may wait for it.
    bench = ReceiverBench()
    sock = bench.sock
    sock.rcv_mss, sock.ato, sock.rcv_ssthresh = MSS, 40, 1 << 30
    bench.send(0, 500)
    before, start = len(bench.acks()), bench.cpu.clock
    bench.cpu.run()

    assert (before, bench.acks()) == (0, [500])
    assert bench.cpu.clock - start < MS
