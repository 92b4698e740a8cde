import pytest

from testbed.model.rtx_queue import fragment, mark_lost, segments, trim_head
from tests.model.scenarios import MSS, a_sender, lose, marks, send_again


@pytest.mark.parametrize(
    ("length", "segs"), [(0, 1), (1, 1), (MSS, 1), (MSS + 1, 2), (10 * MSS, 10)]
)
def test_a_packet_has_as_many_segments_as_it_needs(length: int, segs: int) -> None:
    assert segments(length, MSS) == segs


def test_a_lost_packet_is_counted_once() -> None:
    sock = a_sender(3)
    mark_lost(sock, sock.rtx_queue[0])
    mark_lost(sock, sock.rtx_queue[0])

    assert (marks(sock), sock.lost_out, sock.lost) == (["L"], 3, 3)


def test_what_has_arrived_cannot_be_lost() -> None:
    sock = a_sender(3)
    sock.rtx_queue[0].sacked = True
    mark_lost(sock, sock.rtx_queue[0])

    assert (marks(sock), sock.lost_out) == (["S"], 0)


def test_a_lost_retransmission_is_a_loss_more_but_not_a_packet_more() -> None:
    sock = a_sender(3)
    lose(sock, 0)
    send_again(sock, 0)
    mark_lost(sock, sock.rtx_queue[0])

    assert marks(sock) == ["L"]
    assert (sock.lost_out, sock.retrans_out, sock.lost) == (3, 0, 3)


def test_both_halves_of_a_cut_packet_are_what_it_was() -> None:
    sock = a_sender(5)
    lose(sock, 0)
    send_again(sock, 0)
    rest = fragment(sock, sock.rtx_queue[0], 2 * MSS, MSS)

    assert marks(sock) == ["LR", "LR"]
    assert (rest.seq, rest.length, rest.pcount) == (2 * MSS, 3 * MSS, 3)
    assert (rest.ever_retrans, rest.tstamp_ns) == (True, sock.rtx_queue[0].tstamp_ns)


def test_a_fin_stays_behind_the_payload() -> None:
    sock = a_sender(5)
    sock.rtx_queue[0].fin = True
    rest = fragment(sock, sock.rtx_queue[0], 2 * MSS, MSS)

    assert (sock.rtx_queue[0].fin, rest.fin, rest.end_seq) == (False, True, 5 * MSS + 1)


def test_a_cut_within_a_segment_makes_one_segment_more() -> None:
    sock = a_sender(2)
    lose(sock, 0)
    fragment(sock, sock.rtx_queue[0], MSS + 100, MSS)

    assert (sock.packets_out, sock.lost_out) == (3, 3)


def test_a_second_buffer_is_charged_for() -> None:
    sock = a_sender(2)
    before = sock.sk_wmem_queued
    fragment(sock, sock.rtx_queue[0], MSS, MSS)

    assert sock.sk_wmem_queued == before + 832


@pytest.mark.parametrize(
    ("packet", "una", "gone"),
    [
        pytest.param(5, 2 * MSS, 2, id="two-segments"),
        pytest.param(5, 2 * MSS + 1, 2, id="and-a-byte"),
        pytest.param(5, MSS - 1, 0, id="not-quite-one"),
        pytest.param(1, MSS - 1, 0, id="one-stays-one"),
    ],
)
def test_the_acknowledged_head_of_a_packet_goes(
    packet: int, una: int, gone: int
) -> None:
    sock = a_sender(packet)
    sock.snd_una = una
    before = sock.sk_wmem_queued

    assert trim_head(sock, sock.rtx_queue[0], MSS) == gone
    assert (sock.rtx_queue[0].seq, before - sock.sk_wmem_queued) == (una, una)
