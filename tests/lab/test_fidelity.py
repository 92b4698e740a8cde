"""Whether a path is the one asked for: what is sent, and how far off it may be."""

from dataclasses import replace

import pytest

from testbed.lab.fidelity import (
    EXACT,
    REAL,
    Asked,
    Seen,
    WaySeen,
    asked_of,
    describe_path,
    rate_seen,
    train_of,
    wrongs,
)
from testbed.spec.path import Path, towards_receiver

LONG = Path(rtt=40_000_000, rate=10**9, queue=1000)
ASKED = asked_of(LONG, EXACT)


def perfect(asked: Asked) -> Seen:
    ways = []
    for way in (asked.there, asked.back):
        assert way.train is not None
        spread = way.train.gap_ns * (way.train.packets - 1)
        ways.append(
            WaySeen(delay_ns=way.delay_ns, spread_ns=spread, packets=way.train.packets)
        )
    return Seen(there=ways[0], back=ways[1], held=None)


def seen_there(asked: Asked, **given: int | None) -> Seen:
    seen = perfect(asked)
    return replace(seen, there=replace(seen.there, **given))  # type: ignore[arg-type]


def test_a_delay_has_half_the_rtt_and_what_its_own_bytes_take() -> None:
    # 60 bytes at 1 Gbit/s, Ethernet's header among them, take 480 ns.
    assert (ASKED.there.delay_ns, ASKED.there.serial_ns) == (20_000_480, 480)
    assert (ASKED.back.delay_ns, ASKED.back.serial_ns) == (20_000_480, 480)


def test_a_bucket_lets_a_small_packet_through_at_once() -> None:
    asked = asked_of(replace(LONG, shaper="htb"), EXACT)

    assert (asked.there.delay_ns, asked.there.serial_ns) == (20_000_000, 0)


def test_the_odd_nanosecond_of_an_rtt_is_on_the_way_back() -> None:
    asked = asked_of(replace(LONG, rtt=41), EXACT)

    assert (asked.there.delay_ns, asked.back.delay_ns) == (20 + 480, 21 + 480)


def test_a_train_has_packets_as_large_as_udp_lets_them_be() -> None:
    train = train_of(towards_receiver(LONG), LONG, EXACT)

    assert train is not None
    assert (train.lead, train.packets, train.refill_ns) == (0, 16, 0)
    assert train.payload * train.segments == 1472 * 44
    assert train.gap_ns == 44 * 1514 * 8


def test_slow_paths_have_single_packets_and_few_of_them() -> None:
    slow = replace(LONG, rate=100_000)

    train = train_of(towards_receiver(slow), slow, EXACT)

    assert train is not None
    assert (train.segments, train.packets) == (1, 8)
    assert train.packets * train.gap_ns <= 1_000_000_000


def test_a_train_fits_the_queue() -> None:
    short = replace(LONG, queue=5)

    train = train_of(towards_receiver(short), short, REAL)

    assert train is not None
    assert train.packets == 5


@pytest.mark.parametrize("path", [replace(LONG, queue=1), replace(LONG, rate=10_000)])
def test_what_cannot_hold_a_train_or_takes_too_long_has_none(path) -> None:
    assert train_of(towards_receiver(path), path, EXACT) is None


@pytest.mark.parametrize("shaper", ["tbf", "htb"])
def test_a_trains_lead_empties_the_bucket(shaper) -> None:
    path = replace(LONG, shaper=shaper, burst=256 * 1024)

    train = train_of(towards_receiver(path), path, EXACT)

    assert train is not None
    assert train.lead * train.segments * 1514 > 256 * 1024
    assert train.refill_ns == 256 * 1024 * 8


def test_a_bucket_that_takes_long_to_fill_is_left_full() -> None:
    path = replace(LONG, shaper="tbf", rate=100_000)

    assert train_of(towards_receiver(path), path, EXACT) is None


def test_a_packet_is_no_larger_than_a_bucket() -> None:
    path = replace(LONG, shaper="tbf", burst=4000)

    train = train_of(towards_receiver(path), path, EXACT)

    assert train is not None
    assert train.segments == 2


@pytest.mark.parametrize("bounds", [EXACT, REAL])
def test_a_path_as_asked_for_has_nothing_wrong(bounds) -> None:
    asked = asked_of(LONG, bounds)

    assert wrongs(asked, perfect(asked), 1000, bounds) == ()


@pytest.mark.parametrize(("off", "wrong"), [(1000, 0), (1001, 1), (-1001, 1)])
def test_in_virtual_time_a_delay_is_within_1_us(off, wrong) -> None:
    seen = seen_there(ASKED, delay_ns=20_000_480 + off)

    assert len(wrongs(ASKED, seen, 1000, EXACT)) == wrong


def test_a_wrong_delay_is_told_without_the_bytes_own_time() -> None:
    seen = seen_there(ASKED, delay_ns=25_000_480)

    assert wrongs(ASKED, seen, 1000, EXACT) == (
        "the delay to the receiver is 25 ms, not 20 ms (within 0.001 ms)",
    )


def test_a_wrong_rate_is_told_with_its_packets() -> None:
    spread = 15 * 532_928
    seen = seen_there(ASKED, spread_ns=2 * spread)

    assert wrongs(ASKED, seen, 1000, EXACT) == (
        "the rate to the receiver is 500 Mbit/s, not 1gbit: 16 packets came within "
        "15.9878 ms, not 7.99392 ms (within 0.001032 ms)",
    )


def test_on_a_fast_path_1_us_would_be_much_and_1_percent_counts() -> None:
    fast = asked_of(replace(LONG, rate=10**11, rtt=20_000), EXACT)
    assert fast.there.train is not None
    spread = fast.there.train.gap_ns * 15

    late = seen_there(fast, spread_ns=round(spread * 1.02))

    assert spread * 0.02 > 1000
    assert len(wrongs(fast, late, 1000, EXACT)) == 1


def test_in_real_time_a_rate_is_within_5_ms_and_20_percent() -> None:
    asked = asked_of(LONG, REAL)
    assert asked.there.train is not None
    spread = asked.there.train.gap_ns * 63

    assert not wrongs(
        asked, seen_there(asked, spread_ns=round(spread * 1.3)), 1000, REAL
    )
    assert wrongs(asked, seen_there(asked, spread_ns=2 * spread), 1000, REAL)


def test_what_the_processor_takes_for_a_train_is_no_fault_of_the_path() -> None:
    asked = asked_of(LONG, REAL)
    assert asked.there.train is not None
    spread = asked.there.train.gap_ns * 63
    slow = seen_there(asked, spread_ns=2 * spread, own_ns=spread)

    assert wrongs(asked, slow, 1000, REAL) == ()


def test_a_path_on_which_nothing_arrives_is_dead() -> None:
    seen = seen_there(ASKED, delay_ns=None, spread_ns=None, packets=0)

    assert wrongs(ASKED, seen, 1000, EXACT) == ("nothing arrives at the receiver",)


def test_a_train_of_which_one_packet_came_says_nothing_of_the_rate() -> None:
    seen = seen_there(ASKED, spread_ns=None, packets=1)

    assert rate_seen(ASKED.there, seen.there) is None
    assert wrongs(ASKED, seen, 1000, EXACT) == ()


def test_a_queue_is_as_long_as_tc_says_and_as_what_overflows_it_shows() -> None:
    short = replace(perfect(ASKED), held=900)

    assert wrongs(ASKED, short, 1000, EXACT) == (
        "the queue holds 900 packets, not 1000",
    )
    assert wrongs(ASKED, perfect(ASKED), 100, EXACT) == (
        "the queue's limit is 100 packets, not 1000",
    )


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(replace(LONG, loss=0.1), id="loses-some-itself"),
        pytest.param(replace(LONG, shaper="tbf"), id="bucket-before-the-queue"),
        pytest.param(replace(LONG, queue=2001), id="large"),
    ],
)
def test_a_queue_is_not_overflowed_where_that_would_not_show_its_length(path) -> None:
    assert ASKED.overflows
    assert not asked_of(path, EXACT).overflows
    assert not asked_of(LONG, REAL).overflows


def test_the_environment_has_what_was_asked_and_what_was_measured() -> None:
    told = describe_path(ASKED, replace(perfect(ASKED), held=1000), 1000)

    assert told["queue"] == {"asked": 1000, "shown": 1000, "held": 1000}
    assert told["to the receiver"]["rate"] == {"asked": 10**9, "measured": 10**9}
    assert told["to the sender"]["delay_ns"]["measured"] == 20_000_480
