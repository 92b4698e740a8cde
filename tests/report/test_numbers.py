import pytest

from testbed.report import numbers


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        pytest.param(None, "ns", "-", id="nothing"),
        pytest.param(0, "ns", "0 ns", id="no-time"),
        pytest.param(7, "ns", "7 ns", id="ns"),
        pytest.param(16.0, "ns", "16 ns", id="whole-ns"),
        pytest.param(6250, "ns", "6.25 us", id="us"),
        pytest.param(40_017_000, "ns", "40.0 ms", id="ms"),
        pytest.param(999_700, "ns", "1.00 ms", id="rounded-up-to-the-next-unit"),
        pytest.param(325_118_208, "ns", "325 ms", id="below-a-second"),
        pytest.param(12.5e9, "ns", "12.5 s", id="s"),
        pytest.param(-5000, "ns", "-5.00 us", id="negative"),
        pytest.param(44_220_000, "bit/s", "44.2 Mbit/s", id="mbit"),
        pytest.param(96_300_000_000, "bit/s", "96.3 Gbit/s", id="gbit"),
        pytest.param(123_456_000_000, "bit/s", "123 Gbit/s", id="hundreds"),
        pytest.param(0, "bit/s", "0 bit/s", id="no-rate"),
        pytest.param(2896, "bytes", "2 896 B", id="bytes-are-exact"),
        pytest.param(65160.4, "bytes", "65 160 B", id="a-mean-of-bytes"),
        pytest.param(1397, "packets", "1 397", id="a-count"),
        pytest.param(2.4077, "segments", "2.41", id="a-mean"),
        pytest.param(7.0, "segments", "7", id="a-whole-mean"),
    ],
)
def test_an_amount_is_written_with_its_unit(
    value: float | None, unit: str, shown: str
) -> None:
    assert numbers.amount(value, unit) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(0, "0", id="zero"),
        pytest.param(999, "999", id="three-digits"),
        pytest.param(12345678, "12 345 678", id="no-digit-is-lost"),
        pytest.param(576.5, "576.5", id="a-mean-of-repeats"),
        pytest.param(1234.56, "1 234.6", id="a-large-mean"),
        pytest.param(0.01234, "0.0123", id="small"),
        pytest.param(float("inf"), "inf", id="infinite"),
    ],
)
def test_a_count_keeps_every_digit_before_the_point(value: float, shown: str) -> None:
    assert numbers.count(value) == shown


def test_a_change_is_relative_to_the_claim() -> None:
    assert numbers.change(600, 576) == "-4.0%"


@pytest.mark.parametrize(
    ("claimed", "measured"),
    [pytest.param(0, 5, id="of-nothing"), pytest.param(5, None, id="to-nothing")],
)
def test_a_change_that_has_no_size_is_not_written(
    claimed: float, measured: float | None
) -> None:
    assert numbers.change(claimed, measured) == numbers.NOTHING


def test_a_share_of_nothing_is_not_written() -> None:
    assert numbers.share(0, 0) == numbers.NOTHING


def test_a_share_is_in_percent() -> None:
    assert numbers.share(537, 574) == "93.6%"


def test_one_thing_is_not_plural() -> None:
    assert numbers.plural(1, "patch", "patches") == "1 patch"
    assert numbers.plural(2000, "patch", "patches") == "2 000 patches"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        pytest.param((), "", id="none"),
        pytest.param(("a",), "a", id="one"),
        pytest.param(("a", "b"), "a and b", id="two"),
        pytest.param(("a", "b", "c"), "a, b and c", id="three"),
    ],
)
def test_words_are_listed(words: tuple[str, ...], shown: str) -> None:
    assert numbers.listed(words) == shown
