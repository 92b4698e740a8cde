"""Which packets belong to a flow, where its bytes stand, and what its mss is."""

import numpy as np
import pytest

from testbed.trace.mss import infer_mss
from testbed.trace.trace import Flow, MssSource
from tests.trace.craft import (
    FIN,
    MS,
    RST,
    SYN,
    TIMESTAMPS,
    Talk,
    mss_option,
)

SACK = bytes.fromhex("0101050a0000000100000002")
WSCALE_7 = bytes.fromhex("01030307")
WSCALE_2 = bytes.fromhex("01030302")


def test_a_flow_is_named_by_its_direction() -> None:
    trace = Talk().handshake().client(length=1, ack=0).trace()

    assert trace.flow == Flow("10.0.0.1", 40000, "10.0.0.2", 80)


def test_a_direction_without_payload_has_no_trace() -> None:
    assert Talk().handshake().traces() == ()


def test_traces_come_in_the_order_of_their_first_packets() -> None:
    talk = Talk().handshake().server(length=10, ack=0).client(length=10, ack=10)

    assert [trace.flow.sport for trace in talk.traces()] == [40000, 80]


def test_sequence_0_is_the_first_byte_after_the_syn() -> None:
    talk = Talk().handshake().client(seq=0, length=10, ack=0).server(ack=10)

    trace = talk.trace()

    assert trace.seq.tolist() == [0]
    assert trace.ack.tolist() == [0, 10]
    assert trace.start_known
    assert trace.syn_time_ns == 0
    assert trace.time_ns.tolist() == [3 * MS]


def test_the_syn_ack_tells_where_a_flow_starts_whose_syn_was_missed() -> None:
    talk = Talk().server(flags=SYN, seq=-1, ack=0).client(seq=400, length=10, ack=0)

    trace = talk.trace()

    assert trace.seq.tolist() == [400]
    assert trace.start_known


def test_without_a_syn_sequence_0_is_the_first_byte_seen() -> None:
    talk = Talk().client(seq=5000, length=10, ack=0).client(seq=4990, length=10, ack=0)
    talk.server(ack=5010)

    trace = talk.trace()

    assert trace.seq.tolist() == [0, -10]
    assert trace.ack.tolist() == [10]
    assert not trace.start_known
    assert trace.start_ns == 0


def test_the_sequence_field_may_wrap_again_and_again() -> None:
    talk = Talk(client_isn=2**32 - 2).handshake()
    gigabyte = 2**30
    talk.client(seq=0, length=1000, ack=0).client(seq=gigabyte, length=1000, ack=0)
    talk.client(seq=2 * gigabyte, length=1000, ack=0)
    talk.client(seq=3 * gigabyte, length=1000, ack=0)
    talk.client(seq=4 * gigabyte, length=1000, ack=0)
    talk.client(seq=5 * gigabyte, length=1000, ack=0)

    assert talk.trace().seq.tolist() == [count * gigabyte for count in range(6)]


def test_the_same_syn_again_is_the_same_flow() -> None:
    talk = Talk().client(flags=SYN, seq=-1).client(flags=SYN, seq=-1)
    talk.server(flags=SYN, seq=-1, ack=0).client(length=10, ack=0)

    assert talk.trace().syn_time_ns == 0


def test_the_same_syn_after_a_fin_is_still_the_same_flow() -> None:
    talk = Talk().handshake().client(length=10, flags=FIN, ack=0)
    talk.client(flags=SYN, seq=-1).client(length=10, ack=0)

    assert talk.trace().seq.tolist() == [0, 0]


@pytest.mark.parametrize(
    "closing", [pytest.param(FIN, id="fin"), pytest.param(RST, id="rst")]
)
def test_a_new_isn_after_the_end_is_a_new_flow(closing: int) -> None:
    talk = (
        Talk().handshake().client(length=10, ack=0).client(seq=10, flags=closing, ack=0)
    )
    again = talk.with_isns(70_000, 90_000)
    again.handshake().client(length=20, ack=0).server(ack=20)

    first, second = again.traces()

    assert first.length.tolist() == [10]
    assert second.length.tolist() == [20]
    assert second.seq.tolist() == [0]
    assert second.ack.tolist() == [0, 20]
    assert second.syn_time_ns == 5 * MS


def test_a_syn_with_a_new_isn_in_an_open_connection_starts_nothing() -> None:
    talk = Talk().handshake().client(length=10, ack=0)
    talk.with_isns(70_000, 4_999).client(flags=SYN, seq=-1)
    talk.client(seq=10, length=10, ack=0)

    assert talk.trace().seq.tolist() == [0, 10]


def test_a_syn_ack_after_a_reset_belongs_to_the_syn_it_answers() -> None:
    talk = Talk().client(flags=SYN, seq=-1).server(flags=RST, seq=-1)
    talk.server(flags=SYN, seq=-1, ack=0).client(length=10, ack=0)

    assert talk.trace().syn_time_ns == 0


def test_flows_that_interleave_are_told_apart() -> None:
    one = Talk().handshake()
    other = Talk(client_port=40_001, packets=one.packets).handshake()
    one.client(length=10, ack=0)
    other.client(length=20, ack=0)
    one.client(seq=10, length=30, ack=0)

    lengths = [trace.length.tolist() for trace in one.traces()]

    assert lengths == [[10, 30], [20]]


@pytest.mark.parametrize(
    "length", [pytest.param(0, id="empty"), pytest.param(1, id="a-byte")]
)
def test_a_keepalive_is_no_data_anywhere(length: int) -> None:
    talk = Talk().handshake().client(length=1000, ack=0).server(ack=1000)
    talk.client(seq=999, length=length, ack=0).server(ack=1000)

    assert talk.trace().length.tolist() == [1000]


def test_a_byte_far_below_what_is_acknowledged_is_data_again() -> None:
    """The capture lacks what else was acknowledged."""
    talk = Talk().handshake().client(length=1000, ack=0).server(ack=5000)
    (trace,) = talk.client(seq=999, length=1, ack=0).traces()

    assert trace.length.tolist() == [1000, 1]


def test_a_flow_of_nothing_but_keepalives_has_no_trace() -> None:
    talk = Talk().handshake().client(seq=-1, length=1, ack=0).server(ack=0)

    assert talk.traces() == ()


def test_a_keepalive_is_known_by_the_ack_before_it_when_the_start_was_missed() -> None:
    talk = Talk().server(ack=1000).client(seq=999, length=1, ack=0).server(ack=1000)
    talk.client(seq=1000, length=500, ack=0)

    trace = talk.trace()

    assert trace.length.tolist() == [500]
    assert trace.seq.tolist() == [0]


def test_one_byte_not_acknowledged_yet_is_data() -> None:
    talk = Talk().handshake().client(length=1, ack=0).client(length=1, ack=0)

    assert talk.trace().length.tolist() == [1, 1]


def test_the_mss_is_the_smaller_of_the_two_syns() -> None:
    talk = Talk().handshake(mss_option(1460), mss_option(1400)).client(length=1, ack=0)

    trace = talk.trace()

    assert trace.mss == 1400
    assert trace.mss_source is MssSource.SYN


def test_one_syn_is_enough_for_the_mss() -> None:
    talk = Talk().client(flags=SYN, seq=-1, options=mss_option(1300))
    talk.client(length=1, ack=0)

    assert talk.trace().mss == 1300


def test_timestamps_on_data_packets_make_the_mss_smaller() -> None:
    talk = Talk().handshake(mss_option(1460), mss_option(1460))
    talk.client(length=1, ack=0, options=TIMESTAMPS)

    assert talk.trace().mss == 1448


def test_sack_blocks_on_a_few_data_packets_leave_the_mss_alone() -> None:
    talk = Talk().handshake(mss_option(1460), mss_option(1460))
    talk.client(seq=0, length=1, ack=0, options=TIMESTAMPS)
    talk.client(seq=1, length=1, ack=0, options=TIMESTAMPS + SACK)
    talk.client(seq=2, length=1, ack=0, options=TIMESTAMPS)

    assert talk.trace().mss == 1448


def test_without_syns_the_mss_is_inferred() -> None:
    talk = Talk().client(length=2896, ack=0).client(seq=2896, length=1448, ack=0)

    trace = talk.trace()

    assert trace.mss == 1448
    assert trace.mss_source is MssSource.INFERRED


@pytest.mark.parametrize(
    ("lengths", "mss"),
    [
        pytest.param([65160, 65160, 5000], 1448, id="super-packets-only"),
        pytest.param([2896, 2896, 2896], 1448, id="always-two"),
        pytest.param([4096, 61440, 12288, 100], 4096, id="unusual-size"),
        pytest.param([8948, 62636, 62636], 8948, id="jumbo-frames"),
        pytest.param([100, 100, 90], 536, id="small-writes"),
    ],
)
def test_the_inferred_mss_explains_most_packets(lengths: list[int], mss: int) -> None:
    assert infer_mss(*np.unique(lengths, return_counts=True)) == mss


def test_windows_are_in_bytes_when_both_syns_tell_the_scale() -> None:
    talk = Talk().handshake(mss_option(1000) + WSCALE_2, mss_option(1000) + WSCALE_7)
    talk.client(length=10, ack=0).server(ack=10, window=3)

    assert talk.trace().ack_window.tolist() == [500, 3 << 7]


def test_windows_are_not_scaled_when_one_side_did_not_offer_it() -> None:
    talk = Talk().handshake(mss_option(1000), mss_option(1000) + WSCALE_7)
    talk.client(length=10, ack=0).server(ack=10, window=3)

    assert talk.trace().ack_window.tolist() == [500, 3]
