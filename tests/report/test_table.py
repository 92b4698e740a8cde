from dataclasses import replace
from pathlib import Path

import pytest
from report.builders import all_void, half_void, printed, result
from rich.console import Console

from testbed.report.table import verdict_table

each_width = pytest.mark.parametrize("width", [80, 120])


@each_width
@pytest.mark.parametrize(
    "figure",
    [
        pytest.param("599", id="claimed"),
        pytest.param("601", id="measured"),
        pytest.param("12 345 678", id="a-large-claim"),
        pytest.param("87 654 321", id="a-large-measurement"),
        pytest.param("44.2 Mbit/s", id="a-claimed-rate"),
        pytest.param("6.20 Mbit/s", id="a-measured-rate"),
        pytest.param("+610.0%", id="a-difference"),
    ],
)
def test_no_claimed_or_measured_figure_is_cut(
    figure: str, width: int, tmp_path: Path
) -> None:
    assert figure in printed(result(tmp_path), width=width)


@each_width
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("tcp: a [bold]patch[/bold]", id="subject"),
        pytest.param("605ad7f184b6, v3.19", id="commit"),
        pytest.param("kernel 6.12.117 (build id abababababab, 1 patch)", id="kernel"),
        pytest.param("machine uml, virtual clock", id="machine"),
        pytest.param("IpOutRequests", id="metric"),
        pytest.param("sender, packets", id="host-and-unit"),
        pytest.param("receiver, segments", id="the-other-host"),
        pytest.param("not reproduced", id="verdict"),
        pytest.param("1 of 4 claims reproduced; 2 direction only", id="summary"),
        pytest.param("delayed ACKs", id="why"),
    ],
)
def test_the_table_says(words: str, width: int, tmp_path: Path) -> None:
    assert words in " ".join(printed(result(tmp_path), width=width).split())


def test_a_pipe_is_sent_no_control_codes(tmp_path: Path) -> None:
    assert "\x1b" not in printed(result(tmp_path))


def test_nothing_is_wider_than_the_terminal(tmp_path: Path) -> None:
    assert max(map(len, printed(result(tmp_path)).splitlines())) <= 80


def test_verdicts_are_coloured_where_there_is_colour(tmp_path: Path) -> None:
    console = Console(width=80, force_terminal=True, color_system="standard")

    with console.capture() as captured:
        console.print(verdict_table([result(tmp_path)]))

    assert "\x1b[1;32mreproduced" in captured.get()


@pytest.mark.parametrize(
    "row",
    [
        pytest.param("before 50 2 000 B 2 000 B", id="tso_size"),
        pytest.param("after 10 10 10 10 10 10", id="tso_segs"),
        pytest.param("before 50 2 2 2 2 2", id="ack_stretch"),
        pytest.param("after 9 1.00 ms 1.00 ms", id="send_gap"),
    ],
)
def test_the_packets_of_each_variant_are_summed_up(row: str, tmp_path: Path) -> None:
    assert row in " ".join(printed(result(tmp_path)).split())


def test_a_void_run_is_shown_with_its_reason(tmp_path: Path) -> None:
    shown = printed(half_void(tmp_path))

    assert "void: after, repeat 1: the capture lost 12 packets" in shown
    assert "void: no verdict" in shown


def test_an_experiment_that_is_all_void_has_no_packets(tmp_path: Path) -> None:
    shown = printed(all_void(tmp_path))

    assert "void: before, repeat 1: the machine hung" in shown
    assert "tso_size" not in shown


def test_no_claims_are_said_to_be_none(tmp_path: Path) -> None:
    assert "no claim was made" in printed(result(tmp_path, claims=()))


def test_no_results_are_said_to_be_none() -> None:
    assert printed() == "nothing was run\n"


def test_markup_in_a_subject_is_text(tmp_path: Path) -> None:
    plain = result(tmp_path, claims=())
    patch = replace(plain.experiment.patch, subject="[red]x")

    shown = printed(replace(plain, experiment=replace(plain.experiment, patch=patch)))

    assert "[red]x" in shown
