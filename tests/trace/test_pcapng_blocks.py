"""Blocks that tell of a capture: sections, interfaces, what was lost, at any number."""

import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.errors import CaptureError
from testbed.trace import read_pcapng
from testbed.trace.walk import walk_pcapng
from tests.trace.junk import Junk
from tests.trace.plain_pcapng import told_by
from tests.trace.reads import records
from tests.trace.test_pcapng import block, enhanced, interface, option, section

MOST = 65_536
MANY = 20_000
SEEDS = st.integers(0, 2**32)


def lost(order: str, number: int, options: bytes) -> bytes:
    return block(order, 5, struct.pack(order + "III", number, 0, 0) + options)


DROPS = option(">", 5, b"\x07")


def junk(seed: int) -> bytes:
    """Return a file; the seed is all that makes it."""
    return Junk(Random(seed)).written()  # noqa: S311  # it is told by its seed


def same(data: bytes, most: int = 1 << 30) -> bool:
    """Say whether a file reads as the plain reader has it."""
    account = told_by(data)
    try:
        read = records(data, most=most)
    except CaptureError as error:  # not even the first section header can be read
        return account.warnings == [str(error)]
    columns = (read.time_ns, read.frames, read.wire, read.link, read.direction)
    assert list(zip(*columns, strict=True)) == account.packets
    assert read.told.warnings == account.warnings
    assert read.told.skipped == account.skipped
    assert read.told.vantage == account.vantage
    assert read.told.dropped == account.dropped
    skipped = sum(account.skipped.values())
    return read.told.packets == len(account.packets) + skipped


@settings(max_examples=400)
@given(seed=SEEDS)
def test_any_blocks_say_what_a_plain_reader_has_them_say(seed: int) -> None:
    assert same(junk(seed))


@given(seed=SEEDS, most=st.integers(1, 200))
def test_they_say_it_in_pieces_of_any_size(seed: int, most: int) -> None:
    assert same(junk(seed), most)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_first_interfaces_of_a_section_count_and_those_after_do_not(
    order: str,
) -> None:
    last = interface(order, option(order, 9, b"\x09"))
    file = section(order) + interface(order) * (MOST - 1) + last * 3

    read = records(file + enhanced(order, 7, MOST - 1) + enhanced(order, 7, MOST))

    assert read.time_ns == [7]
    assert read.told.skipped == {
        "packet of an interface after the first 65536": 1,
    }


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(section("<") + interface("<") * MANY, id="interfaces"),
        pytest.param(section(">") + lost(">", 0, DROPS) * MANY, id="statistics"),
        pytest.param(section("<") * MANY, id="sections"),
        pytest.param((section("<") + section(">")) * (MANY // 2), id="byte-orders"),
    ],
)
def test_no_block_takes_a_turn_of_python_s(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks = []

    def walk(*arguments: object) -> object:
        walks.append(arguments)
        return walk_pcapng(*arguments)

    monkeypatch.setattr(read_pcapng, "walk_pcapng", walk)

    assert records(data).told.warnings == []
    assert len(walks) < 5


def test_the_next_section_counts_its_interfaces_anew() -> None:
    full = section("<") + interface("<") * (MOST + 1)

    read = records(full + section("<") + enhanced("<", 1) + interface("<"))

    assert read.told.skipped == {"packet of an unknown interface": 1}


def test_what_was_lost_counts_once_for_each_interface_of_each_section() -> None:
    first = lost("<", 0, option("<", 5, b"\x09")) + lost(
        "<", 0, option("<", 5, b"\x03")
    )
    other = lost("<", MOST - 1, option("<", 5, b"\x01") + option("<", 7, b"\x10"))
    beyond = lost("<", MOST, option("<", 5, b"\xff"))

    read = records((section("<") + first + other + beyond) * 2)

    assert read.told.dropped == 2 * (3 + 1 + 16)


def test_losses_that_no_64_bits_hold_are_added_up() -> None:
    every = block("<", 5, bytes(12) + struct.pack("<HHQ", 5, 8, 2**64 - 1))

    read = records((section("<") + every) * 5)

    assert read.told.dropped == 5 * (2**64 - 1)


def test_the_vantage_is_that_of_the_first_interface_of_all() -> None:
    named = interface("<", option("<", 3, b"one")) + interface(
        "<", option("<", 3, b"2")
    )

    assert (
        records(section("<") + section(">") + section("<") + named).told.vantage
        == "one"
    )
    assert records(section("<") + interface("<") + named).told.vantage == ""
