"""What inspect tells of a flow beyond the metrics of a Trace, computed by hand."""

import struct
from itertools import accumulate, pairwise

import pytest

from testbed.trace.inspection import FlowReport, Inspection, inspect_bytes
from testbed.trace.reading import Options
from testbed.trace.vantage import Vantage
from tests.trace.craft import FIN, MS, RST, SYN, TIMESTAMPS, Talk, mss_option


def inspected(talk: Talk, **options: object) -> Inspection:
    return inspect_bytes(talk.written(), "x", Options(**options))


def only(talk: Talk, **options: object) -> FlowReport:
    (report,) = inspected(talk, **options).flows
    return report


def sack(*blocks: tuple[int, int], isn: int = 999) -> bytes:
    """Return a SACK option; blocks in relative sequence numbers of the client."""
    edges = [isn + 1 + edge for block in blocks for edge in block]
    size = 2 + 4 * len(edges)
    return b"\1\1" + struct.pack(f">BB{len(edges)}I", 5, size, *edges)


def at(talk: Talk, *times_ns: int) -> Talk:
    """Give the packets of a conversation other times."""
    frames = zip(times_ns, talk.packets, strict=True)
    talk.packets[:] = [(time_ns, *rest) for time_ns, (_, *rest) in frames]
    return talk


def with_ttls(talk: Talk, client: int, server: int) -> Talk:
    """Give the packets of both sides the TTLs with which they pass."""
    for row, (time_ns, frame, wire) in enumerate(talk.packets):
        ttl = client if frame[26:30] == bytes([10, 0, 0, 1]) else server
        patched = frame[:22] + bytes([ttl]) + frame[23:]
        talk.packets[row] = (time_ns, patched, wire)
    return talk


def test_flows_come_in_the_order_of_their_first_packets() -> None:
    talk = Talk().handshake().server(length=10, ack=0).client(length=10, ack=10)

    flows = inspected(talk).flows

    assert [report.flow.sport for report in flows] == [40000, 80]
    assert flows.ranked("order") == range(2)


def test_flows_are_ranked_by_bytes() -> None:
    talk = Talk().handshake().client(length=10, ack=0).server(length=900, ack=10)

    assert inspected(talk).flows.ranked("bytes") == [1, 0]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param("1", [0], id="number"),
        pytest.param("2", [], id="no-such-number"),
        pytest.param("0", [], id="numbers-start-at-1"),
        pytest.param("10.0.0.2", [0], id="address"),
        pytest.param("10.0.0.2:80", [0], id="address-and-port"),
        pytest.param("10.0.0.2:81", [], id="other-port"),
    ],
)
def test_a_flow_is_found_by_number_or_address(text: str, rows: list[int]) -> None:
    talk = Talk().handshake().client(length=10, ack=0)

    assert inspected(talk).flows.matching(text) == rows


def test_bytes_seen_twice_are_duplicates() -> None:
    talk = Talk().handshake().client(length=3000, ack=0)
    talk.client(seq=1000, length=1000, ack=0).client(seq=2500, length=1000, ack=0)

    report = only(talk)

    assert report.duplicate_bytes == 1000 + 500
    assert report.retransmits == 1
    assert (report.packets, report.bytes) == (3, 5000)


def test_a_packet_that_fills_a_gap_is_late_and_repeats_nothing() -> None:
    talk = Talk().handshake().client(length=1000, ack=0)
    talk.client(seq=2000, length=1000, ack=0).client(seq=1000, length=1000, ack=0)

    report = only(talk)

    assert (report.late, report.reordered) == (1, 1)
    assert report.duplicate_bytes == 0
    assert report.retransmits == 1


def test_a_gap_older_than_3_ms_was_filled_by_a_retransmission() -> None:
    talk = Talk().client(length=1000, ack=0).client(seq=2000, length=1000, ack=0)
    talk.client(seq=1000, length=1000, ack=0)

    report = only(at(talk, 0, MS, 4 * MS))

    assert (report.late, report.reordered) == (1, 0)


def test_a_gap_filled_from_both_ends_is_filled_once() -> None:
    talk = Talk().handshake().client(seq=3000, length=1000, ack=0)
    talk.client(seq=0, length=1000, ack=0).client(seq=2000, length=1000, ack=0)
    talk.client(seq=0, length=4000, ack=0)

    report = only(talk)

    assert report.late == 3
    assert report.duplicate_bytes == 3000


def test_more_gaps_than_are_remembered_do_no_harm() -> None:
    talk = Talk().handshake()
    for gap in range(400):
        talk.client(seq=2000 * gap, length=1000, ack=0)
    talk.client(seq=2000 * 398 + 1000, length=1000, ack=0)

    report = only(talk)

    assert report.late == 1
    assert report.duplicate_bytes == 0


def test_packets_close_together_are_a_burst() -> None:
    talk = Talk()
    for number in range(5):
        talk.client(seq=1000 * number, length=1000, ack=0)
    times = (0, 20_000, 40_000, 100_000, 110_000)

    report = only(at(talk, *times))

    assert (report.burst.n, report.burst.mean, report.burst.max) == (2, 2.5, 3)
    assert (report.burst_gap.n, report.burst_gap.mean) == (1, 60_000)


def test_the_pace_is_a_bursts_bytes_over_the_time_to_the_next() -> None:
    talk = Talk().client(length=1000, ack=0).client(seq=1000, length=250, ack=0)

    report = only(at(talk, 0, 100_000))

    assert report.pace.n == 1
    assert report.pace.mean == report.pace.p50 == 80_000_000
    assert "pace" not in report.quantile_error


def test_of_many_paces_quantiles_are_within_a_64th() -> None:
    talk = Talk()
    gaps_us = [100 + number for number in range(400)]
    for number in range(len(gaps_us) + 1):
        talk.client(seq=1000 * number, length=1000, ack=0)

    report = only(at(talk, *(1000 * us for us in accumulate(gaps_us, initial=0))))

    assert report.quantile_error["pace"] == 1 / 64
    assert report.pace.n == 400
    assert report.pace.p50 == pytest.approx(8e9 / 300, rel=1 / 64)
    assert report.pace.max == 80_000_000


def test_what_is_one_burst_can_be_chosen() -> None:
    talk = Talk().client(length=1000, ack=0).client(seq=1000, length=250, ack=0)

    assert only(talk, burst_ns=MS).burst.n == 1


def test_duplicate_acks_are_those_of_rfc_5681() -> None:
    talk = Talk().handshake().client(length=3000, ack=0)
    talk.server(ack=1000).server(ack=1000).server(ack=1000)
    talk.server(ack=1000, window=400).server(length=5, ack=1000, window=400)
    talk.server(ack=3000, window=400).server(ack=3000, window=400)

    assert inspected(talk).flows[0].dup_acks == 2


def test_zero_windows_are_counted() -> None:
    talk = Talk().handshake().client(length=3000, ack=0)
    talk.server(ack=3000, window=0).server(ack=3000, window=0).server(ack=3000)
    talk.server(ack=3000, window=0, flags=RST)

    assert only(talk).zero_windows == 2


def test_sacked_bytes_are_counted_once() -> None:
    talk = Talk().handshake().client(length=9000, ack=0)
    talk.server(ack=1000, options=sack((3000, 4000)))
    talk.server(ack=1000, options=sack((3000, 5000)))
    talk.server(ack=1000, options=sack((7000, 8000), (3000, 5000)))

    report = only(talk)

    assert report.sacked_bytes == 3000
    assert report.dsacks == 0


def test_a_block_below_the_ack_or_within_the_next_is_a_dsack() -> None:
    talk = Talk().handshake().client(length=9000, ack=0)
    talk.server(ack=2000, options=sack((0, 1000)))
    talk.server(ack=2000, options=sack((5000, 6000), (4000, 7000)))

    report = only(talk)

    assert report.dsacks == 2
    assert report.sacked_bytes == 3000


def test_blocks_of_bytes_never_sent_are_junk() -> None:
    talk = Talk().handshake().client(length=1000, ack=0)
    talk.server(ack=0, options=sack((500, 5000)))

    assert only(talk).sacked_bytes == 0


@pytest.mark.parametrize(
    ("lengths", "visible"),
    [
        pytest.param([2000], True, id="one-large-packet"),
        pytest.param([1000] * 10, False, id="ten-full-segments"),
        pytest.param([1000] * 9, None, id="too-few"),
        pytest.param([10] * 50, None, id="small-writes"),
    ],
)
def test_a_capture_shows_tso_or_was_taken_after_it(lengths, visible) -> None:
    talk = Talk().handshake()
    for number, length in enumerate(lengths):
        talk.client(seq=sum(lengths[:number]), length=length, ack=0)

    assert only(talk).tso_visible is visible


@pytest.mark.parametrize(
    ("client", "server", "vantage"),
    [
        pytest.param(64, 60, Vantage.SENDER, id="data-has-crossed-no-router"),
        pytest.param(57, 128, Vantage.RECEIVER, id="acks-have-not"),
        pytest.param(63, 63, Vantage.MIDDLE, id="both-have"),
    ],
)
def test_the_ttl_tells_the_vantage(client: int, server: int, vantage: Vantage) -> None:
    talk = Talk().handshake().client(length=1, ack=0)

    report = only(with_ttls(talk, client, server))

    assert (report.vantage, report.vantage_source) == (vantage, "ttl")


@pytest.mark.parametrize(
    ("times", "vantage"),
    [
        pytest.param((0, 40, 41, 42), Vantage.SENDER, id="the-syn-ack-took-long"),
        pytest.param((0, 1, 41, 42), Vantage.RECEIVER, id="the-ack-took-long"),
        pytest.param((0, 20, 40, 41), Vantage.MIDDLE, id="both-did"),
    ],
)
def test_without_routers_the_handshake_tells_the_vantage(times, vantage) -> None:
    talk = Talk().handshake().client(length=1, ack=0)

    report = only(at(talk, *(MS * time for time in times)))

    assert (report.vantage, report.vantage_source) == (vantage, "handshake")


def test_the_server_of_a_handshake_is_its_datas_sender_at_the_other_end() -> None:
    talk = Talk().handshake().server(length=1, ack=0)

    report = only(at(talk, 0, 40 * MS, 41 * MS, 42 * MS))

    assert report.vantage is Vantage.RECEIVER


def test_without_evidence_the_vantage_is_unknown() -> None:
    assert only(Talk().client(length=1, ack=0)).vantage is Vantage.UNKNOWN


def test_data_on_a_syn_counts() -> None:
    talk = Talk().client(flags=SYN, seq=-1, length=500, options=mss_option(1000))
    talk.server(flags=SYN, seq=-1, ack=500).client(seq=500, length=100, ack=0)

    report = only(talk)

    assert (report.packets, report.bytes) == (2, 600)
    assert (report.ack_stretch.n, report.ack_stretch.max) == (1, 1)


def test_data_on_a_reset_counts() -> None:
    talk = Talk().handshake().client(length=500, ack=0, flags=RST)

    assert only(talk).bytes == 500


def test_data_before_the_first_byte_is_no_retransmission_of_the_syn() -> None:
    talk = Talk().handshake().client(seq=-4, length=2, ack=0)
    talk.client(seq=-2, length=2, ack=0).client(seq=-4, length=2, ack=0)

    assert only(talk).retransmits == 1


def test_quantiles_are_exact_for_thousands_of_packets_and_close_beyond() -> None:
    talk = Talk(packets=[])
    times = []
    for number in range(5000):
        talk.client(seq=number, length=1, ack=0)
        times.append(30_000 * number + 3 * number * number)

    report = only(at(talk, *times))

    gaps = sorted(after - before for before, after in pairwise(times))
    assert report.send_gap.n == 4999
    assert report.send_gap.mean == pytest.approx(sum(gaps) / 4999)
    assert report.send_gap.max == gaps[-1]
    assert report.send_gap.p50 == pytest.approx(gaps[2499], rel=1 / 1024)
    assert report.quantile_error["send_gap"] == 1 / 1024


def test_a_frugal_pool_keeps_means_and_maxima_exact() -> None:
    talk = Talk(packets=[])
    for number in range(300):
        talk.client(seq=number * 2000, length=1 + number, ack=0)

    report = only(talk, budget=0)

    assert (report.tso_size.n, report.tso_size.max) == (300, 300)
    assert report.tso_size.mean == 150.5
    assert report.tso_size.p50 == pytest.approx(150, rel=1 / 16)


def test_data_of_which_no_ack_is_ever_seen_does_not_pile_up() -> None:
    talk = Talk()
    for number in range(1000):
        talk.client(seq=number * 1000, length=1000)

    assert only(talk).rtt_missed == 1000 - 256


def test_a_port_used_again_without_end_is_one_flow_at_a_time() -> None:
    talk = Talk(packets=[])
    for attempt in range(50):
        again = talk.with_isns(1000 * attempt, 5)
        again.client(flags=SYN, seq=-1, options=TIMESTAMPS)
        again.server(flags=RST, seq=-1, ack=0)
    again.client(flags=FIN, length=7)

    assert only(talk).bytes == 7
