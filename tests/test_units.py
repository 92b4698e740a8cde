"""Units: text with a unit to base units and back, and nothing else accepted."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import SpecError
from testbed.units import (
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_share,
    parse_size,
    parse_time,
)

amounts = st.integers(min_value=0, max_value=10**18)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        pytest.param(parse_time, "40ms", 40_000_000, id="ms"),
        pytest.param(parse_time, "0.5us", 500, id="half-us"),
        pytest.param(parse_time, "1_000 ns", 1_000, id="underscore-and-space"),
        pytest.param(parse_time, 0, 0, id="bare-zero"),
        pytest.param(parse_rate, "100gbit", 100_000_000_000, id="gbit"),
        pytest.param(parse_rate, "44.22mbit", 44_220_000, id="fraction-of-mbit"),
        pytest.param(parse_size, "64KB", 65536, id="kernel-KB"),
        pytest.param(parse_size, 2_000_000, 2_000_000, id="bare-bytes"),
        pytest.param(parse_share, "15%", Fraction(15, 100), id="percent"),
        pytest.param(parse_share, "0.001%", Fraction(1, 100_000), id="small-percent"),
    ],
)
def test_text_means_base_units(parse, text, value) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "complaint"),
    [
        pytest.param(parse_time, "40", "'40' is not a time", id="no-unit"),
        pytest.param(parse_time, 40, "write it like 40ms", id="bare-number"),
        pytest.param(parse_time, "-1ms", "is not a time", id="negative"),
        pytest.param(parse_time, "0.5ns", "whole number of ns", id="below-the-base"),
        pytest.param(parse_time, "40mbit", "units: ns, us, ms, s", id="wrong-kind"),
        pytest.param(parse_time, True, "is not a time", id="boolean"),
        pytest.param(parse_time, None, "is not a time", id="nothing"),
        pytest.param(parse_rate, "1e9bit", "is not a rate", id="exponent"),
        pytest.param(parse_rate, "1gbit extra", "is not a rate", id="more-words"),
        pytest.param(parse_size, "64kb", "is not a size", id="wrong-case"),
        pytest.param(parse_size, -1, "is not a size", id="negative-bytes"),
        pytest.param(
            parse_time, "9" * 5000 + "s", "9999'... is not a time", id="endless"
        ),
        pytest.param(parse_share, "15", "is not a share", id="no-percent"),
    ],
)
def test_anything_else_is_refused_with_an_example(parse, text, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        parse(text)


@given(amounts)
def test_a_time_survives_being_written_and_read(ns: int) -> None:
    assert parse_time(format_time(ns)) == ns


@given(amounts)
def test_a_rate_survives_being_written_and_read(bits: int) -> None:
    assert parse_rate(format_rate(bits)) == bits


@given(amounts)
def test_a_size_survives_being_written_and_read(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.text())
def test_no_text_makes_a_parser_do_anything_but_answer_or_refuse(text: str) -> None:
    try:
        value = parse_time(text)
    except SpecError:
        value = 0

    assert value >= 0


def test_the_largest_whole_unit_is_written() -> None:
    assert format_time(40_000_000) == "40ms"
    assert format_time(1_500_000) == "1500us"
    assert format_rate(100_000_000_000) == "100gbit"
    assert format_size(65536) == "64KB"
    assert format_size(0) == "0B"
