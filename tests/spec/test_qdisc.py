"""Qdiscs: the tc command lines they become, and the difference read back."""

import pytest

from testbed.errors import SpecError
from testbed.spec.qdisc import (
    Qdisc,
    differences,
    parse_classes,
    parse_qdisc,
    tc_commands,
)

NETEM = Qdisc(
    kind="netem",
    options={"delay": 20_000_000, "rate": 10**9, "limit": 1000, "loss": 0.001},
)
SHAPED = Qdisc(
    kind="netem",
    options={"delay": 5_000, "limit": 10},
    child=Qdisc(
        kind="htb",
        options={"rate": 10**9, "burst": 262144},
        child=Qdisc(kind="fq_codel", options={"limit": 100, "ecn": 1}),
    ),
)
#: tc -j qdisc show dev r-eth1 (iproute2-6.1.0, Linux 6.12.117), shortened.
NETEM_SHOWN = [
    {
        "kind": "netem",
        "handle": "10:",
        "root": True,
        "options": {
            "limit": 1000,
            "delay": {"delay": 0.02, "jitter": 0, "correlation": 0},
            "loss-random": {"loss": 0.001, "correlation": 0},
            "rate": {"rate": 125000000, "packetoverhead": 0},
        },
    }
]
#: tc class show dev d0 (iproute2-6.1.0, Linux 6.12.117), handles changed.
CLASSES = """\
class netem 10:1 parent 10: leaf 20:
class htb 10:1 root leaf 30: prio 0 rate 1Gbit ceil 1Gbit burst 262000b cburst 262000b
"""


def test_one_qdisc_is_one_command() -> None:
    assert tc_commands("r-eth1", NETEM) == (
        tuple(
            "tc qdisc replace dev r-eth1 root handle 10: netem delay 20000.000us "
            "rate 1000000000bit limit 1000 loss 0.100000%".split()
        ),
    )


def test_a_chain_hangs_each_on_the_class_of_the_one_above() -> None:
    assert [" ".join(words) for words in tc_commands("d", SHAPED)] == [
        "tc qdisc replace dev d root handle 10: netem delay 5.000us limit 10",
        "tc qdisc replace dev d parent 10:1 handle 20: htb default 1",
        "tc class replace dev d parent 20: classid 20:1 htb "
        "rate 1000000000bit burst 262144",
        "tc qdisc replace dev d parent 20:1 handle 30: fq_codel limit 100 ecn",
    ]


def test_what_tc_shows_as_asked_makes_no_difference() -> None:
    assert differences(NETEM, NETEM_SHOWN, []) == ()


def test_a_qdisc_that_is_not_there_is_a_difference() -> None:
    assert differences(Qdisc(kind="fq"), NETEM_SHOWN, []) == (
        ("qdisc 10:", "fq", "netem"),
    )


def test_an_option_that_did_not_take_is_a_difference() -> None:
    wanted = Qdisc(kind="netem", options={"delay": 30_000_000, "limit": 1000})

    assert differences(wanted, NETEM_SHOWN, []) == (
        ("netem delay", 30_000_000, 20_000_000.0),
    )


def test_an_option_tc_does_not_show_is_a_difference() -> None:
    shown = [{"kind": "fq", "handle": "10:", "options": {"limit": 10000}}]

    assert differences(Qdisc(kind="fq", options={"maxrate": 800}), shown, []) == (
        ("fq maxrate", 800, None),
    )


def test_the_options_of_htb_are_read_from_its_class() -> None:
    htb = Qdisc(kind="htb", options={"rate": 10**9})
    qdiscs = [{"kind": "htb", "handle": "10:", "options": {"default": "0x1"}}]

    assert differences(htb, qdiscs, parse_classes(CLASSES)) == ()
    assert differences(htb, qdiscs, ()) == (("htb rate", 10**9, None),)


def test_classes_are_read_in_base_units() -> None:
    assert parse_classes(CLASSES) == (
        {"handle": "10:1", "rate": 10**9, "burst": 262000, "cburst": 262000},
    )


@pytest.mark.parametrize(
    ("qdisc", "shown"),
    [
        pytest.param(
            Qdisc(kind="netem", options={"delay": 25_000}),
            {"delay": {"delay": 0.000024}},
            id="netem-ticks",
        ),
        pytest.param(
            Qdisc(kind="tbf", options={"burst": 262144}),
            {"burst": 262125},
            id="tbf-burst",
        ),
        # At 100 Gbit/s 262144 bytes are 20.97 us, of which tc shows 19.
        pytest.param(
            Qdisc(kind="tbf", options={"rate": 10**11, "burst": 262144}),
            {"rate": 12_500_000_000, "burst": 237500},
            id="tbf-burst-at-a-high-rate",
        ),
        pytest.param(
            Qdisc(kind="fq_codel", options={"ce_threshold": 50_000}),
            {"ce_threshold": 49},
            id="codel-ce-threshold",
        ),
        pytest.param(
            Qdisc(kind="fq_codel", options={"interval": 100_000_000}),
            {"interval": 99999},
            id="codel-interval",
        ),
    ],
)
def test_what_tc_rounds_is_no_difference(qdisc, shown) -> None:
    line = {"kind": qdisc.kind, "handle": "10:", "options": shown}

    assert differences(qdisc, [line], ()) == ()


def test_yaml_may_name_a_qdisc_or_give_it_options() -> None:
    assert parse_qdisc("fq") == Qdisc(kind="fq")
    assert parse_qdisc({"fq": {"flow_limit": 200, "maxrate": "1gbit"}}) == Qdisc(
        kind="fq", options={"flow_limit": 200, "maxrate": 10**9}
    )


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param("cake", "there is no qdisc 'cake' here; known: fq", id="kind"),
        pytest.param({"fq": {"x": 1}}, "fq has no 'x'; it has: limit", id="option"),
        pytest.param({"fq": {"limit": "1s"}}, "is not a count", id="value"),
        pytest.param({"fq": 5}, "no mapping of options", id="options"),
        pytest.param({"fq": {}, "tbf": {}}, "is no qdisc", id="two-kinds"),
        pytest.param(7, "is no qdisc", id="number"),
    ],
)
def test_a_qdisc_that_is_none_is_refused(value, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        parse_qdisc(value)
