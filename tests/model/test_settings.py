"""What the model takes of a variant, and what it refuses as the kernel would."""

import pytest
from builders import a_variant

from testbed.errors import SpecError
from testbed.model import cpu
from testbed.model.features import Features
from testbed.model.late_tx import LateTx, late_tx_of
from testbed.model.settings import check, tuning_of
from testbed.model.simulate import simulate
from testbed.spec.path import Path
from testbed.spec.settings import HostSettings
from tests.model.scenarios import FQ, a_stream

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


def test_a_path_without_netem_is_not_reached() -> None:
    bare = Path(rtt=0, rate=10**9, queue=100, shaper="tbf")

    with pytest.raises(SpecError, match="does not reach a path without delay"):
        check(a_variant(path=bare))


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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("net.ipv4.tcp_min_tso_segs", "0"),
        ("net.ipv4.tcp_min_tso_segs", "-1"),
        ("net.ipv4.tcp_min_tso_segs", "256"),
        ("net.ipv4.tcp_tso_rtt_log", "32"),
        ("net.ipv4.tcp_pacing_ss_ratio", "1001"),
        ("net.ipv4.tcp_autocorking", "2"),
        ("net.ipv4.tcp_wmem", "1 2"),
        ("net.ipv4.tcp_wmem", "a b c"),
        ("net.ipv4.tcp_wmem", "4096 0 4194304"),
    ],
)
def test_a_sysctl_the_kernel_would_not_take_is_refused(name: str, text: str) -> None:
    sender = HostSettings(sysctls={name: text})

    with pytest.raises(SpecError, match=name):
        tuning_of(a_variant(sender=sender))


@pytest.mark.parametrize(
    ("sizes", "family", "size"),
    [
        pytest.param({}, 4, 65536, id="the-default"),
        pytest.param({"gso_max_size": 9000}, 4, 9000, id="for-both"),
        pytest.param({"gso_max_size": 9000}, 6, 9000, id="for-both-6"),
        pytest.param(
            {"gso_max_size": 185_000}, 4, 65536, id="beyond-64-kb-for-6-alone"
        ),
        pytest.param({"gso_max_size": 185_000}, 6, 185_000, id="beyond-64-kb"),
        pytest.param(
            {"gso_max_size": 9000, "gso_ipv4_max_size": 185_000}, 4, 185_000, id="own"
        ),
    ],
)
def test_the_device_takes_so_much_in_one_packet(
    sizes: dict[str, int], family: int, size: int
) -> None:
    variant = a_stream(1000, sender=HostSettings(link_sizes=sizes), family=family)

    assert tuning_of(variant).gso_max_size == size - 193  # MAX_TCP_HEADER + 1


def test_a_packet_too_small_for_headers_is_refused() -> None:
    variant = a_stream(1000, sender=HostSettings(link_sizes={"gso_max_size": 192}))

    with pytest.raises(SpecError, match="headers"):
        tuning_of(variant)


def test_what_is_never_acknowledged_ends_with_a_reason(monkeypatch) -> None:
    assert cpu._LONGEST_NS == 1000 * 10**9
    monkeypatch.setattr(cpu, "_LONGEST_NS", 50 * 10**9)  # as telling, and sooner over
    slow = a_stream(2_000_000, sender=FQ, pacing_rate=1000, sample_every=10**9)

    with pytest.raises(SpecError, match="50 s"):
        simulate(slow, Features())
