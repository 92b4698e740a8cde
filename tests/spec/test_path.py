"""Paths: half the delay each way, the bottleneck towards the receiver."""

import pytest

from testbed.errors import SpecError
from testbed.spec.path import (
    Path,
    parse_path,
    router_mtu,
    towards_receiver,
    towards_sender,
)

LONG = Path(rtt=40_000_001, rate=10**9, queue=1000, loss=0.01)


def test_the_bottleneck_faces_the_receiver() -> None:
    port = towards_receiver(LONG)

    assert port.kind == "netem"
    assert port.options == {
        "delay": 20_000_000,
        "loss": 0.01,
        "rate": 10**9,
        "limit": 1000,
    }


def test_the_two_halves_of_the_delay_add_up_to_the_rtt() -> None:
    there, back = towards_receiver(LONG), towards_sender(LONG)

    assert there.options["delay"] + back.options["delay"] == LONG.rtt


def test_nothing_is_lost_on_the_way_back() -> None:
    assert "loss" not in towards_sender(LONG).options


def test_tbf_holds_the_rate_behind_a_netem_that_only_delays() -> None:
    path = Path(rtt=100_000, rate=10**9, queue=100, shaper="tbf")
    netem, tbf = towards_receiver(path).chain()

    assert "rate" not in netem.options
    assert tbf.kind == "tbf"
    assert tbf.options["limit"] == 100 * 1500


@pytest.mark.parametrize("shaper", ["tbf", "htb"])
def test_a_path_with_nothing_but_a_rate_is_its_shaper_both_ways(shaper) -> None:
    path = Path(rtt=0, rate=10**9, queue=100, shaper=shaper)

    for port in (towards_receiver(path), towards_sender(path)):
        assert port.kind == shaper
        assert port.options["rate"] == 10**9


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(Path(rtt=0, rate=10**9, queue=9), id="netem-alone"),
        pytest.param(Path(rtt=1, rate=10**9, queue=9, shaper="tbf"), id="delay"),
        pytest.param(
            Path(rtt=0, rate=10**9, queue=9, shaper="tbf", loss=0.1), id="loss"
        ),
    ],
)
def test_what_only_netem_does_takes_netem(path) -> None:
    assert towards_receiver(path).kind == towards_sender(path).kind == "netem"


def test_marks_face_the_receiver_alone() -> None:
    path = Path(
        rtt=0,
        rate=10**9,
        queue=9,
        shaper="htb",
        discipline="fq_codel",
        ce_threshold=50_000,
    )

    assert [each.kind for each in towards_receiver(path).chain()] == ["htb", "fq_codel"]
    assert [each.kind for each in towards_sender(path).chain()] == ["htb", "pfifo"]


def test_htb_has_the_queue_that_was_asked_for_below_it() -> None:
    path = Path(rtt=100_000, rate=10**9, queue=100, shaper="htb", discipline="fq_codel")

    assert [each.kind for each in towards_receiver(path).chain()] == [
        "netem",
        "htb",
        "fq_codel",
    ]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        pytest.param({"rtt": "1ms", "queue": 9}, "a path needs rate", id="no-rate"),
        pytest.param(
            {"rtt": "1ms", "rate": 0, "queue": 9}, "rate is from", id="zero-rate"
        ),
        pytest.param(
            {"rtt": "1ms", "rate": "1gbit", "queue": 0}, "above 0", id="no-queue"
        ),
        pytest.param(
            {"rtt": "100s", "rate": "1gbit", "queue": 9}, "rtt is from", id="long-rtt"
        ),
        pytest.param(
            {"rtt": "1ms", "rate": "1gbit", "queue": 9, "loss": "100%"},
            "loss is from",
            id="all-lost",
        ),
        pytest.param(
            {"rtt": "1ms", "rate": "1gbit", "queue": 9, "mtu": 68},
            "mtu is from 1280",
            id="small-mtu",
        ),
        pytest.param(
            {"rtt": "1ms", "rate": "1gbit", "queue": 9, "bw": 1},
            "a path has no 'bw'; it has: rtt, rate",
            id="unknown-key",
        ),
        pytest.param(
            {"rtt": "1ms", "rate": "1gbit", "queue": 9, "discipline": "fq_codel"},
            "fq_codel needs the shaper htb",
            id="discipline-without-shaper",
        ),
        pytest.param(
            {
                "rtt": "1ms",
                "rate": "1gbit",
                "queue": 9,
                "shaper": "htb",
                "ce_threshold": "50us",
            },
            "ce_threshold needs the shaper htb with fq_codel",
            id="marks-without-fq-codel",
        ),
    ],
)
def test_a_path_that_cannot_be_built_is_refused(values, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        parse_path(values)


def test_marks_are_fq_codels_below_htb() -> None:
    path = parse_path(
        {
            "rtt": "50us",
            "rate": "10gbit",
            "queue": 1000,
            "shaper": "htb",
            "discipline": "fq_codel",
            "ce_threshold": "50us",
        }
    )
    *_others, queue = towards_receiver(path).chain()

    assert queue.kind == "fq_codel"
    assert queue.options == {"limit": 1000, "ce_threshold": 50_000}


@pytest.mark.parametrize(
    ("sizes", "more"),
    [
        pytest.param({}, 0, id="as-the-kernel-has-them"),
        pytest.param({"gso_max_size": 65536}, 0, id="64-kb"),
        pytest.param({"gso_max_size": 185_000}, 8, id="big-tcp"),
    ],
)
def test_a_router_of_big_tcp_has_room_for_its_header(sizes, more) -> None:
    path = parse_path({"rtt": "1ms", "rate": "1gbit", "queue": 9, "link_sizes": sizes})

    assert router_mtu(path) == path.mtu + more
