from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from report.builders import result, trace

from testbed.export.formats import FORMATS, FilesFormat
from testbed.export.xplot import xplot_text

MS = 1_000_000


def test_a_packet_is_a_line_between_two_arrows() -> None:
    text = xplot_text(trace([(40 * MS, 0, 2000)]), "a\ntitle")

    assert text.splitlines() == [
        *("timeval double", "title", "a title"),
        *("xlabel", "time", "ylabel", "sequence number"),
        *("white", "darrow 0.040000000 0", "uarrow 0.040000000 2000"),
        *("line 0.040000000 0 0.040000000 2000", "green", "yellow", "go"),
    ]


def test_what_is_sent_again_is_red() -> None:
    again = trace([(MS, 0, 1000), (2 * MS, 0, 1000), (3 * MS, 1000, 1000)])

    colours = [
        line for line in xplot_text(again, "").splitlines() if line in ("white", "red")
    ]

    assert colours == ["white", "red", "white"]


def test_acks_and_the_window_are_stairs() -> None:
    text = xplot_text(trace([], [(MS, 0, 5000), (2 * MS, 1000, 5000)]), "")

    assert (
        "line 0.001000000 0 0.002000000 0\nline 0.002000000 0 0.002000000 1000" in text
    )
    assert "line 0.002000000 5000 0.002000000 6000" in text


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.integers(0, 10**9), st.integers(1, 65535))
    )
)
def test_every_line_is_a_command_of_xplot(packets: list[tuple[int, int, int]]) -> None:
    known = {"white", "red", "green", "yellow", "darrow", "uarrow", "line", "go"}

    body = xplot_text(trace(sorted(packets), packets), "t").splitlines()[7:]

    assert {line.split()[0] for line in body} <= known


def test_there_is_a_file_for_each_voice(tmp_path: Path) -> None:
    xplot = FORMATS["xplot"]
    assert isinstance(xplot, FilesFormat)

    names = [name for name, _content in xplot.files([result(tmp_path)])]

    assert names == [
        "tso-before-1.xpl",
        "tso-before-1-model.xpl",
        "tso-after-1.xpl",
        "tso-after-1-model.xpl",
    ]
