import pytest

from testbed.model.packet import Packet
from tests.model.scenarios import MS, MSS, RMEM, ReceiverBench


def test_the_syn_ack_offers_half_the_buffer_in_whole_segments() -> None:
    assert [packet.window for packet in ReceiverBench().sent] == [65_160]


def test_a_packet_of_several_segments_has_one_ack() -> None:
    bench = ReceiverBench()
    bench.send(0, 5 * MSS)
    bench.cpu.run()

    assert bench.acks() == [5 * MSS]


def test_the_first_windows_are_the_kernels() -> None:
    bench = ReceiverBench()
    for seq in range(0, 4 * 2896, 2896):
        bench.send(seq, 2896)
        bench.cpu.run()

    assert [packet.window for packet in bench.sent[1:]] == [69888, 75776, 81536, 87296]


def test_single_segments_are_acknowledged_at_once_at_first() -> None:
    bench = ReceiverBench()
    bench.send(0, MSS)
    bench.send(MSS, MSS)

    assert bench.acks() == [MSS, 2896]


def test_what_lies_beyond_a_gap_is_told_by_a_sack_block() -> None:
    # RFC 2018, section 4: the block that has changed last comes first.
    bench = ReceiverBench()
    for segment in (0, 2, 4):
        bench.send(segment * MSS, MSS)

    assert bench.acks() == [MSS, MSS, MSS]
    assert bench.sent[-1].sacks == ((5792, 7240), (2896, 4344))


def test_what_comes_twice_is_told_first() -> None:
    # RFC 2883, section 4
    bench = ReceiverBench()
    for segment in (0, 2, 0):
        bench.send(segment * MSS, MSS)

    assert bench.sent[-1].sacks == ((0, MSS), (2896, 4344))


def test_packets_that_come_while_the_process_reads_have_one_ack() -> None:
    bench = ReceiverBench()
    bench.sock.sk_lock.own()
    for segment in range(0, 8, 2):
        bench.send(segment * MSS, 2 * MSS)
    before = bench.acks()
    bench.sock.sk_lock.release()

    assert (before, bench.acks()) == ([], [8 * MSS])


def test_three_duplicate_acks_go_at_once_and_further_ones_are_compressed() -> None:
    # __tcp_ack_snd_check(): TCP_FASTRETRANS_THRESH, as an older sender needs three; the
    # others wait for 1 ms or rtt / 20. No quick ACKs here: they go with a window that
    # grows.
    bench = ReceiverBench(rcvbuf=20_000)
    for seq in range(0, 24 * MSS, MSS):
        bench.send(seq, MSS)
        bench.cpu.run()
    bench.sock.rcv_ssthresh = bench.sock.window_clamp
    before = len(bench.acks())
    for seq in range(25 * MSS, 33 * MSS, MSS):
        bench.send(seq, MSS)
    at_once = len(bench.acks()) - before
    bench.cpu.run()

    assert (at_once, len(bench.acks()) - before) == (3, 4)


def test_a_lone_segment_waits_for_40_ms_once_quick_acks_are_spent() -> None:
    bench = ReceiverBench(rcvbuf=20_000)
    for seq in range(0, 24 * MSS, MSS):
        bench.send(seq, MSS)
        bench.cpu.run()
    before, start = len(bench.acks()), bench.cpu.clock
    bench.send(24 * MSS, MSS)
    at_once = len(bench.acks()) - before
    bench.cpu.run()

    assert (at_once, len(bench.acks()) - before) == (0, 1)
    assert 39 * MS <= bench.cpu.clock - start <= 41 * MS


@pytest.mark.parametrize(
    ("silence_ms", "at_once"),
    [pytest.param(200, 0, id="rto"), pytest.param(202, 1, id="beyond-rto")],
)
def test_after_a_silence_beyond_rto_a_lone_segment_is_acknowledged_at_once(
    silence_ms: int, at_once: int
) -> None:
    bench = ReceiverBench(rcvbuf=20_000)
    for seq in range(0, 24 * MSS, MSS):
        bench.send(seq, MSS)
        bench.cpu.run()
    before = len(bench.acks())
    bench.cpu.spend(bench.sock.lrcvtime_ms * MS + silence_ms * MS - bench.cpu.clock)
    bench.send(24 * MSS, MSS)

    assert len(bench.acks()) - before == at_once


def test_a_fin_is_answered_by_a_fin() -> None:
    bench = ReceiverBench()
    fin = Packet(0, 100, 1, 52)
    fin.fin = True
    bench.receiver.receive(fin)
    bench.cpu.run()

    assert [packet.fin for packet in bench.sent] == [False, True]


# Gaps


def test_a_packet_from_beyond_a_gap_is_sacked_at_once() -> None:
    bench = ReceiverBench()
    bench.send_segments(0, 2)

    assert bench.acks() == [MSS, MSS]
    assert bench.last_sacks() == [(2, 3)]


def test_a_filled_gap_is_acknowledged_at_once() -> None:
    # RFC 5681, section 4.2.
    bench = ReceiverBench()
    bench.send_segments(0, 2, 3, 1)

    assert bench.acks()[-1] == 4 * MSS
    assert bench.last_sacks() == []


def test_even_if_that_is_less_than_a_segment() -> None:
    bench = ReceiverBench()
    bench.send(100, 100)
    bench.sock.quick, bench.sock.ato = 0, 40
    bench.send(0, 100)

    assert bench.acks() == [0, 200]


def test_of_two_gaps_the_second_stays() -> None:
    bench = ReceiverBench()
    bench.send_segments(0, 2, 4, 1)

    assert bench.acks()[-1] == 3 * MSS
    assert bench.last_sacks() == [(4, 5)]


def test_what_a_process_reads_ends_before_a_gap() -> None:
    bench = ReceiverBench()
    bench.send_segments(0, 2)
    bench.cpu.run()

    assert bench.sock.copied_seq == MSS


def test_a_fin_beyond_a_gap_waits() -> None:
    bench = ReceiverBench()
    bench.send(MSS, MSS, fin=True)
    bench.cpu.run()
    before = bench.sock.fin
    bench.send_segments(0)
    bench.cpu.run()

    assert (before, bench.sock.fin) == (False, True)
    assert bench.acks()[-1] == 2 * MSS + 1


def test_a_gap_grows_the_window_too() -> None:
    # tcp_data_queue_ofo() calls tcp_grow_window() where there is SACK.
    bench = ReceiverBench()
    bench.sock.rcv_ssthresh = 20_000
    bench.send_segments(2)

    assert bench.sock.rcv_ssthresh == 20_000 + 2 * MSS


@pytest.mark.parametrize(
    ("ssthresh", "growth"),
    [
        pytest.param(RMEM[2] // 4, 2 * MSS, id="less"),
        pytest.param(RMEM[2] // 2 + 256, 0, id="more"),
    ],
)
def test_beyond_half_of_tcp_rmem_a_gap_grows_it_if_overhead_is_small(
    ssthresh: int, growth: int
) -> None:
    # __tcp_grow_window(): a buffer of its own, and its overhead with it.
    bench = ReceiverBench()
    sock = bench.sock
    sock.rcvbuf, sock.window_clamp, sock.rcv_mss = 4 * RMEM[2], 2 * RMEM[2], MSS
    sock.ratio, sock.rcv_ssthresh = 255, ssthresh * 255 // 256
    before = sock.rcv_ssthresh
    # Of the length that it has learnt of: the ratio stays.
    bench.send(3 * MSS, MSS)

    assert sock.rcv_ssthresh - before == growth


def test_a_packet_beyond_a_gap_tells_how_long_segments_are() -> None:
    bench = ReceiverBench()
    bench.send_segments(2)

    assert bench.sock.rcv_mss == MSS


def test_a_buffer_beyond_a_gap_is_charged_for_after_the_window_has_grown() -> None:
    # tcp_data_queue_ofo(): skb_set_owner_r() comes last.
    bench = ReceiverBench()
    sock = bench.sock
    sock.rcv_mss, sock.window_clamp, sock.rcv_ssthresh = MSS, 1 << 20, 64_500
    bench.send_segments(2)

    assert sock.rcv_ssthresh == 65_536


def test_the_timestamp_of_a_packet_beyond_a_gap_is_not_echoed() -> None:
    # RFC 7323, section 4.3.
    bench = ReceiverBench()
    bench.send_segments(0)
    packet = Packet(2 * MSS, MSS, 1, 52)
    packet.tsval = 77
    bench.receiver.receive(packet)

    assert bench.sent[-1].tsecr == 0


def test_waiting_acks_go_before_a_block_that_they_would_not_tell() -> None:
    bench = ReceiverBench()
    bench.send_segments(0)
    bench.sock.rcv_ssthresh, bench.sock.quick = 1 << 30, 0  # no growth, no quick ACK
    bench.send_segments(2, 4, 4, 4, 4)
    before = len(bench.sent)
    bench.send_segments(6)

    assert [packet.ack for packet in bench.sent[before:]] == [MSS]
    assert bench.last_sacks() == [(4, 5), (2, 3)]


# Duplicates


def test_what_comes_twice_is_told_at_once() -> None:
    # RFC 2883, section 4.
    bench = ReceiverBench()
    bench.send_segments(0, 1, 2)
    bench.cpu.run()
    bench.send_segments(1)

    assert bench.acks()[-1] == 3 * MSS
    assert bench.last_sacks() == [(1, 2)]


def test_what_comes_twice_is_told_once() -> None:
    bench = ReceiverBench()
    bench.send_segments(0, 1, 0, 2)

    assert bench.last_sacks() == []


def test_what_comes_twice_in_part_is_told_and_the_rest_taken() -> None:
    bench = ReceiverBench()
    bench.send(0, 2 * MSS)
    bench.send(MSS, 2 * MSS)
    bench.cpu.run()

    assert bench.sock.copied_seq == 3 * MSS
    assert (MSS, 2 * MSS) in bench.sent[-1].sacks


def test_what_comes_twice_beyond_a_gap_is_told_before_its_block() -> None:
    bench = ReceiverBench()
    bench.send(2 * MSS, 2 * MSS)
    bench.send(3 * MSS, MSS)

    assert bench.last_sacks() == [(3, 4), (2, 4)]


def test_a_duplicate_begins_quick_acks() -> None:
    # tcp_enter_quickack_mode(): the sender may be in need of them.
    bench = ReceiverBench()
    bench.send_segments(0)
    bench.sock.quick, bench.sock.ato = 0, 80
    bench.send_segments(0)

    assert (bench.sock.quick, bench.sock.ato) == (15, 40)


@pytest.mark.parametrize(
    ("window", "quick"), [(100 * MSS, 16), (10 * MSS, 5), (MSS, 2)]
)
def test_quick_acks_are_for_half_a_window_of_segments(window: int, quick: int) -> None:
    # tcp_incr_quickack(); the first is spent on the duplicate.
    bench = ReceiverBench()
    bench.send_segments(0)
    bench.sock.quick, bench.sock.rcv_wnd = 0, window
    bench.send_segments(0)

    assert bench.sock.quick == quick - 1
