"""What the model is told of a variant, and what it says it does not reach."""

import pytest
from builders import a_variant

from testbed.errors import SpecError
from testbed.model.settings import LateTx, check, late_tx_of

MS = 1_000_000


def late(**switches: str) -> dict[str, str]:
    """Return switches that make the sender's device complete late."""
    given = {"late_tx_device": "h1-eth0"} | switches
    return {f"veth.{name}": value for name, value in given.items()}


def test_a_device_completes_promptly_unless_it_is_named() -> None:
    assert late_tx_of(a_variant()) is None
    assert late_tx_of(a_variant(switches={"veth.late_tx_ms": "5"})) is None


def test_a_late_device_has_the_patchs_defaults() -> None:
    variant = a_variant(switches=late())

    assert late_tx_of(variant) == LateTx(delay=100 * MS, ring=16)


def test_a_late_device_has_the_switches_it_was_given() -> None:
    variant = a_variant(switches=late(late_tx_ms="5", late_tx_ring="4"))

    assert late_tx_of(variant) == LateTx(delay=5 * MS, ring=4)


def test_completion_before_the_persist_timer_is_reached() -> None:
    check(a_variant(switches=late(late_tx_ms="280")))  # two RTTs of 40 ms, and 200 ms


@pytest.mark.parametrize(
    ("switches", "what"),
    [
        pytest.param(late(late_tx_ms="281"), "persist timer", id="too-late"),
        pytest.param(late(late_tx_device="r-eth1"), "elsewhere", id="router"),
    ],
)
def test_late_completion_that_is_not_modelled_is_an_error(
    switches: dict[str, str], what: str
) -> None:
    with pytest.raises(SpecError, match=what):
        check(a_variant(switches=switches))
