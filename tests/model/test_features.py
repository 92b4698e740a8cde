from dataclasses import replace

import pytest
from builders import a_variant

from testbed.errors import SpecError
from testbed.model.features import (
    Counting,
    Defer,
    Features,
    Sizing,
    Tsq,
    features_of,
)


def test_6_12_is_the_kernel_as_it_is() -> None:
    assert features_of(a_variant(kernel="6.12")) == Features()


def test_packets_do_not_grow_in_6_1() -> None:
    assert not features_of(a_variant(kernel="6.1")).grow


def test_skbs_are_charged_a_kmalloc_head_of_512_bytes_in_6_1() -> None:
    assert features_of(a_variant(kernel="6.1")).skb_overhead == 256 + 512
    assert features_of(a_variant(kernel="6.12")).skb_overhead == 256 + 576


def test_the_switch_sizes_at_sendmsg_time() -> None:
    switched = a_variant(switches={"tcp.sendmsg_autosize": "1"})

    assert features_of(switched) == Features(
        sizing=Sizing.SENDMSG, grow=False, tsq=Tsq.SENDMSG
    )


@pytest.mark.parametrize(
    ("rule", "tsq"),
    [
        pytest.param("1", Tsq.MIN, id="as-in-3.19"),
        pytest.param("2", Tsq.MAX, id="as-the-patch-of-2019"),
    ],
)
def test_the_switch_of_small_queues_lets_no_short_queue_pass(
    rule: str, tsq: Tsq
) -> None:
    switched = a_variant(switches={"tcp_output.tsq_rule": rule})

    assert features_of(switched) == Features(tsq=tsq, short_queue_passes=False)


def test_a_switch_that_is_off_changes_nothing() -> None:
    off = a_variant(switches={"tcp.sendmsg_autosize": "0", "tcp_output.tsq_rule": "0"})

    assert features_of(off) == Features()


def test_a_switch_defers_as_v1_of_2014_did() -> None:
    switched = a_variant(
        switches={"tcp_output.defer_unsized": "1", "tcp_output.defer_far": "1"}
    )

    assert features_of(switched) == Features(defer_unsized=True, defer=Defer.ANY)


@pytest.mark.parametrize(
    ("value", "counting"),
    [
        ("0", Counting.SEGMENTS),
        ("1", Counting.ACKS),
        ("2", Counting.ACK_RATIO),
    ],
)
def test_a_switch_has_cubic_count_acks(value: str, counting: Counting) -> None:
    switched = a_variant(switches={"tcp_cubic.count_acks": value})

    assert features_of(switched) == Features(counting=counting)


def test_cubics_switch_leaves_reno_alone() -> None:
    cubic = a_variant(switches={"tcp_cubic.count_acks": "2"})
    reno = replace(cubic, workload=replace(cubic.workload, congestion="reno"))

    assert features_of(reno) == Features()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"kernel": "2.6"}, id="kernel"),
        pytest.param({"switches": {"tcp.other": "1"}}, id="switch"),
        pytest.param({"switches": {"tcp_cubic.count_acks": "3"}}, id="its-value"),
    ],
)
def test_what_is_not_modelled_is_an_error(given: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=r"model"):
        features_of(a_variant(**given))
