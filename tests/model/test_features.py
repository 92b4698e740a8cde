import pytest
from builders import a_variant

from testbed.errors import SpecError
from testbed.model.features import COMMITS, Defer, Features, Sizing, Tsq, features_of


def test_6_12_is_the_kernel_as_it_is() -> None:
    assert features_of(a_variant(kernel="6.12")) == Features()


def test_packets_do_not_grow_in_6_1() -> None:
    assert not features_of(a_variant(kernel="6.1")).grow


def test_the_switch_sizes_at_sendmsg_time() -> None:
    switched = a_variant(switches={"tcp.sendmsg_autosize": "1"})

    assert features_of(switched) == Features(
        sizing=Sizing.SENDMSG, grow=False, tsq=Tsq.SENDMSG
    )


def test_a_switch_that_is_off_changes_nothing() -> None:
    off = a_variant(switches={"tcp.sendmsg_autosize": "0"})

    assert features_of(off) == Features()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"kernel": "2.6"}, id="kernel"),
        pytest.param({"switches": {"tcp.other": "1"}}, id="switch"),
    ],
)
def test_what_is_not_modelled_is_an_error(given: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=r"model"):
        features_of(a_variant(**given))


def test_every_feature_names_what_brought_it() -> None:
    assert set(COMMITS) == {
        *(*Sizing, *Defer, *Tsq),
        *("grow", "stretch_acks", "skb_overhead"),
    }
