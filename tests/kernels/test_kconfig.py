from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import SpecError
from testbed.kernels.kconfig import (
    Refused,
    explain,
    parse_config,
    refused,
    render_config,
)

names = st.from_regex(r"CONFIG_[A-Z0-9_]+", fullmatch=True)
values = st.sampled_from(["y", "n", "m", "0x10", "1000", '""', '"fd:0,fd:1"'])

KCONFIG = """
config NET
\tbool "Networking"

config TUNNEL
\tbool "A tunnel"
\tdepends on NET && FOO
\tdepends on !BAR

config HZ
\tint
\tdefault 100

choice
	prompt "Which"

	config LEFT
		bool "Left" if NET=y

	config RIGHT
		bool "Right"
endchoice

menuconfig VENDOR
\tbool "Vendor"
"""


@given(st.dictionaries(names, values))
def test_options_written_are_read_back(options: dict[str, str]) -> None:
    assert parse_config(render_config(options), "here") == options


@given(st.text())
def test_any_text_is_options_or_a_spec_error(text: str) -> None:
    try:
        options = parse_config(text, "here")
    except SpecError:
        return
    assert all(name.startswith("CONFIG_") for name in options)


@given(st.dictionaries(names, values))
def test_a_configuration_refuses_nothing_of_itself(options: dict[str, str]) -> None:
    assert refused(options, options) == ()


def test_comments_and_unset_options_are_understood() -> None:
    text = "# a comment\n\nCONFIG_A=y\n# CONFIG_B is not set\n"

    assert parse_config(text, "here") == {"CONFIG_A": "y", "CONFIG_B": "n"}


def test_a_later_line_wins() -> None:
    assert parse_config("CONFIG_A=y\nCONFIG_A=n\n", "here") == {"CONFIG_A": "n"}


def test_a_strange_line_is_named_by_number() -> None:
    with pytest.raises(SpecError, match="frag, line 2: 'NET=y' is no option"):
        parse_config("CONFIG_A=y\nNET=y\n", "frag")


def test_an_absent_option_reads_back_as_n() -> None:
    asked = {"CONFIG_A": "n", "CONFIG_B": "y", "CONFIG_HZ": "1000"}

    assert refused(asked, {"CONFIG_HZ": "100"}) == (
        Refused(name="CONFIG_B", asked="y", got="n"),
        Refused(name="CONFIG_HZ", asked="1000", got="100"),
    )


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        pytest.param("TUNNEL", "y", "depends on NET && FOO && !BAR", id="dependency"),
        pytest.param("TUN", "y", "has no option of that name", id="unknown"),
        pytest.param("HZ", "y", "cannot be set by hand", id="no-prompt"),
        pytest.param("NET", "n", "selects it", id="selected"),
        pytest.param("RIGHT", "y", "another one of it was taken", id="choice"),
        pytest.param("VENDOR", "y", "a menu around it is off", id="menu"),
    ],
)
def test_a_refused_option_comes_with_the_likely_reason(
    name: str, asked: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "net" / "Kconfig"
    path.parent.mkdir()
    path.write_text(KCONFIG)
    option = Refused(name=f"CONFIG_{name}", asked=asked, got="?")

    text = explain(option, [path], tmp_path)

    assert f"CONFIG_{name}: asked for {asked}, got ?" in text
    assert told in text


def test_a_refused_option_is_found_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "Kconfig").write_text(KCONFIG)
    option = Refused(name="CONFIG_TUNNEL", asked="y", got="n")

    assert "(Kconfig:5)" in explain(option, [tmp_path / "Kconfig"], tmp_path)
