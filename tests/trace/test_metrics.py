"""Each definition of a metric against values computed by hand; mss 1000 throughout."""

import numpy as np
import pytest

from testbed.errors import SpecError
from testbed.trace.measurement import Summary
from testbed.trace.metrics import METRICS, measure
from testbed.trace.trace import Flow, Trace
from tests.trace.craft import ACK, FIN, MS, RST, SYN, TIMESTAMPS, Talk, mss_option

FLOW = Flow("10.0.0.1", 40000, "10.0.0.2", 80)
NOTHING = np.zeros(0, np.int64)


def samples(talk: Talk, metric: str) -> list[int]:
    return METRICS[metric].measure(talk.trace()).samples.tolist()


def test_tso_size_is_the_payload_of_each_data_packet() -> None:
    talk = (
        Talk().handshake().client(length=3000, ack=0).client(seq=3000, length=1, ack=0)
    )

    assert samples(talk, "tso_size") == [3000, 1]


def test_a_retransmission_has_a_tso_size_too() -> None:
    talk = Talk().handshake().client(length=3000, ack=0).client(length=1000, ack=0)

    assert samples(talk, "tso_size") == [3000, 1000]


@pytest.mark.parametrize(
    ("length", "segments"),
    [
        pytest.param(1, 1, id="a-byte"),
        pytest.param(1000, 1, id="one-full-segment"),
        pytest.param(1001, 2, id="a-byte-more"),
        pytest.param(45_000, 45, id="many-full-segments"),
    ],
)
def test_tso_segs_is_the_payload_in_segments_rounded_up(
    length: int, segments: int
) -> None:
    talk = Talk().handshake().client(length=length, ack=0)

    assert samples(talk, "tso_segs") == [segments]


def test_ack_stretch_counts_the_segments_each_ack_adds() -> None:
    talk = Talk().handshake().client(length=5500, ack=0)
    talk.server(ack=2000).server(ack=2001).server(ack=5500)

    assert samples(talk, "ack_stretch") == [2, 1, 4]


def test_duplicate_and_old_acks_are_no_stretch_samples() -> None:
    talk = Talk().handshake().client(length=3000, ack=0)
    talk.server(ack=2000).server(ack=2000).server(ack=1000).server(ack=3000)

    assert samples(talk, "ack_stretch") == [2, 1]


def test_an_ack_of_only_the_syn_is_no_stretch_sample() -> None:
    talk = Talk().handshake().client(length=1000, ack=0).server(ack=0)

    assert samples(talk, "ack_stretch") == []


def test_an_ack_of_only_the_fin_is_no_stretch_sample() -> None:
    talk = Talk().handshake().client(length=1000, ack=0).server(ack=1000)
    talk.client(seq=1000, flags=FIN, ack=0).server(ack=1001)

    assert samples(talk, "ack_stretch") == [1]


def test_the_fin_does_not_make_a_full_segment_two() -> None:
    talk = Talk().handshake().client(length=1000, flags=FIN, ack=0).server(ack=1001)

    assert samples(talk, "ack_stretch") == [1]


def test_an_ack_that_rides_on_data_counts() -> None:
    talk = Talk().handshake().client(length=2000, ack=0).server(length=700, ack=2000)

    client, server = talk.traces()

    assert METRICS["ack_stretch"].samples(client).tolist() == [2]
    assert METRICS["tso_size"].samples(server).tolist() == [700]


def test_a_packet_without_the_ack_flag_acknowledges_nothing() -> None:
    talk = Talk().handshake().client(length=2000, ack=0)
    talk.server(ack=2000)
    time_ns, frame, wire = talk.packets.pop()
    talk.packets.append((time_ns, frame[:47] + b"\0" + frame[48:], wire))

    assert samples(talk, "ack_stretch") == []


def test_a_reset_that_carries_the_ack_flag_acknowledges() -> None:
    talk = Talk().handshake().client(length=2000, ack=0).server(flags=RST, ack=2000)

    assert samples(talk, "ack_stretch") == [2]


def test_the_first_ack_of_a_flow_without_a_syn_is_only_where_the_next_starts() -> None:
    talk = (
        Talk().client(seq=7000, length=1000, ack=0).client(seq=8000, length=1000, ack=0)
    )
    talk.server(ack=8000).server(ack=9000)

    assert samples(talk, "ack_stretch") == [1]


def test_ack_stretch_does_not_see_the_sequence_wrap() -> None:
    talk = Talk(client_isn=2**32 - 1500).handshake()
    talk.client(length=1000, ack=0).client(seq=1000, length=2000, ack=0)
    talk.server(ack=1000).server(ack=3000)

    assert samples(talk, "ack_stretch") == [1, 2]
    assert samples(talk, "retransmits") == [0]


def test_ack_gap_is_the_time_between_acks_that_advance() -> None:
    talk = Talk().handshake().client(length=3000, ack=0)
    talk.server(ack=1000).server(ack=1000).server(ack=3000)

    assert samples(talk, "ack_gap") == [2 * MS]


def test_send_gap_is_the_time_between_data_packets() -> None:
    talk = Talk().handshake().client(length=1000, ack=0).server(ack=1000)
    talk.client(seq=1000, length=1000, ack=0).client(seq=2000, length=1000, ack=0)

    assert samples(talk, "send_gap") == [2 * MS, MS]


def test_retransmits_counts_packets_wholly_at_or_below_the_highest_sequence() -> None:
    talk = Talk().handshake()
    talk.client(length=1000, ack=0).client(seq=1000, length=1000, ack=0)
    talk.client(length=1000, ack=0).client(seq=500, length=1500, ack=0)

    assert samples(talk, "retransmits") == [2]


def test_a_packet_with_one_new_byte_is_no_retransmission() -> None:
    talk = Talk().handshake().client(length=1000, ack=0).client(length=1001, ack=0)

    assert samples(talk, "retransmits") == [0]


def test_a_late_packet_counts_as_a_retransmission() -> None:
    talk = (
        Talk()
        .handshake()
        .client(seq=1000, length=1000, ack=0)
        .client(length=1000, ack=0)
    )

    assert samples(talk, "retransmits") == [1]


def test_retransmits_add_up_over_the_flows() -> None:
    talk = Talk().handshake().client(length=1000, ack=0).client(length=1000, ack=0)

    measured = measure(["retransmits"], [talk.trace(), talk.trace()])

    assert measured["retransmits"].samples.tolist() == [2]


def test_rtt_runs_from_a_data_packet_to_the_first_ack_of_its_last_byte() -> None:
    talk = Talk().handshake()
    talk.client(length=1000, ack=0).client(seq=1000, length=1000, ack=0)
    talk.server(ack=1999).server(ack=2000).server(ack=2000)

    assert samples(talk, "rtt") == [2 * MS, 2 * MS]


def test_rtt_says_nothing_of_data_sent_twice() -> None:
    talk = Talk().handshake()
    talk.client(length=1000, ack=0).client(seq=1000, length=1000, ack=0)
    talk.client(seq=2000, length=1000, ack=0).client(seq=1500, length=500, ack=0)
    talk.server(ack=3000)

    assert samples(talk, "rtt") == [4 * MS, 2 * MS]


def test_rtt_says_nothing_of_data_never_acknowledged() -> None:
    talk = (
        Talk().handshake().client(length=1000, ack=0).client(seq=1000, length=1, ack=0)
    )
    talk.server(ack=1000)

    assert samples(talk, "rtt") == [2 * MS]


def test_throughput_runs_from_the_syn_to_the_ack_of_the_last_byte() -> None:
    talk = Talk().handshake().client(length=2000, ack=0).server(ack=1000)
    talk.server(ack=2000).server(ack=2000)

    assert samples(talk, "throughput") == [2000 * 8 * 1000 // 5]


def test_throughput_needs_no_handshake() -> None:
    talk = Talk().client(seq=500, length=2000, ack=0).server(ack=2500)

    assert samples(talk, "throughput") == [2000 * 8 * 1000]


def test_throughput_counts_each_byte_once_and_only_when_acknowledged() -> None:
    talk = Talk().handshake().client(length=2000, ack=0).client(length=2000, ack=0)
    talk.client(seq=2000, length=2000, ack=0).server(ack=2000)

    assert samples(talk, "throughput") == [2000 * 8 * 1000 // 6]


@pytest.mark.parametrize("metric", ["throughput", "ack_stretch", "ack_gap", "rtt"])
def test_data_that_nobody_acknowledged_gives_no_samples(metric: str) -> None:
    talk = Talk().client(length=2000, ack=0).client(seq=2000, length=1, ack=0)

    assert samples(talk, metric) == []


@pytest.mark.parametrize("metric", sorted(METRICS.keys() - {"retransmits"}))
def test_an_empty_trace_has_statistics_of_nothing(metric: str) -> None:
    empty = Trace(
        flow=FLOW,
        mss=1000,
        time_ns=NOTHING,
        seq=NOTHING,
        length=NOTHING,
        ack_time_ns=NOTHING,
        ack=NOTHING,
        ack_window=NOTHING,
    )

    summary = METRICS[metric].measure(empty).summary()

    assert summary == Summary(n=0, mean=None, p50=None, p90=None, p99=None, max=None)


def test_measuring_no_traces_gives_statistics_of_nothing() -> None:
    assert measure(["tso_size"], [])["tso_size"].summary() == Summary(n=0)


def test_measure_pools_the_samples_of_all_traces() -> None:
    one = Talk().handshake().client(length=1000, ack=0).trace()
    other = Talk().handshake().client(length=3000, ack=0).trace()

    measured = measure(["tso_size", "tso_segs"], [one, other])

    assert measured["tso_size"].samples.tolist() == [1000, 3000]
    assert measured["tso_segs"].samples.tolist() == [1, 3]
    assert measured["tso_segs"].unit == "segments"


def test_an_unknown_metric_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(SpecError, match="'goodput' is not a metric; known are thr"):
        measure(["goodput"], [])


def test_option_bytes_of_data_packets_make_segments_smaller() -> None:
    talk = Talk().handshake(mss_option(1012), mss_option(1460))
    talk.client(length=3000, ack=0, options=TIMESTAMPS).server(ack=3000)

    assert samples(talk, "tso_segs") == [3]
    assert samples(talk, "ack_stretch") == [3]


def test_payload_on_a_syn_is_data_from_sequence_0() -> None:
    talk = Talk().client(flags=SYN, seq=-1, length=600, options=mss_option(1000))
    talk.server(flags=SYN, seq=-1, ack=600, options=mss_option(1000))
    talk.client(seq=600, length=1000, ack=0).server(ack=1600)

    assert talk.trace().seq.tolist() == [0, 600]
    assert samples(talk, "ack_stretch") == [1, 1]
    assert samples(talk, "retransmits") == [0]


@pytest.mark.parametrize(
    "flags", [pytest.param(SYN, id="syn-ack"), pytest.param(RST | ACK, id="rst")]
)
def test_payload_on_other_control_packets_is_data_too(flags: int) -> None:
    talk = Talk().client(flags=SYN, seq=-1, options=mss_option(1000))
    talk.server(flags=flags, seq=-1, ack=0, length=300)

    assert samples(talk, "tso_size") == [300]
