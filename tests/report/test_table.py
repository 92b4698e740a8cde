from dataclasses import replace
from pathlib import Path

import pytest
from report.builders import all_void, half_void, in_real_time, printed, result
from rich.console import Console

from testbed.predicted import Unreached
from testbed.report.table import verdict_table
from testbed.spec.experiment import Scale


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """Return the table of a result by the width of what it is shown on."""
    shown = result(tmp_path_factory.mktemp("run"))
    return {width: printed(shown, width=width) for width in (80, 120)}


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
        pytest.param("77 654 321", id="a-large-prediction"),
    ],
)
def test_no_claimed_or_measured_figure_is_cut(
    figure: str, width: int, tables: dict[int, str]
) -> None:
    assert figure in tables[width]


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
        pytest.param("before 599 601 601 reproduced", id="claimed-measured-predicted"),
        pytest.param("before 100.00% 50 50 0.00% 0.00% none", id="match"),
        pytest.param("after 0.00% 10 20 100.00% 100.00% #0", id="no-match"),
        pytest.param("kernel 10 000 B from byte 0 at 40.000 ms", id="kernel's-packet"),
        pytest.param("model 5 000 B from byte 0 at 40.000 ms", id="model's-packet"),
        pytest.param("autosize 75.0% 0.0%", id="attribution"),
    ],
)
def test_the_table_says(words: str, width: int, tables: dict[int, str]) -> None:
    assert words in " ".join(tables[width].split())


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


def test_rules_are_compared_with_the_kernels_where_it_tells_them(
    tmp_path: Path,
) -> None:
    plain = result(tmp_path)
    first = replace(plain.runs[0], attribution={"autosize": 0.9, "tsq": 0.1})

    shown = " ".join(printed(replace(plain, runs=(first, plain.runs[1]))).split())

    assert "data packets cut by kernel model model" in shown
    assert "autosize 90.0% 75.0% 0.0%" in shown
    assert "tsq 10.0% 0.0% 0.0%" in shown


def test_a_variant_that_the_model_does_not_reach_is_said(tmp_path: Path) -> None:
    plain = result(tmp_path)
    gone = Unreached(variant="after", why="the model does not reach [loss]")

    shown = printed(replace(plain, predictions={**plain.predictions, "after": gone}))

    assert "after: the model does not reach [loss]" in shown
    assert "after first differs" not in shown


def test_where_the_model_reaches_nothing_there_is_no_table_of_it(
    tmp_path: Path,
) -> None:
    plain = result(tmp_path)
    gone = {name: Unreached(variant=name, why="too far") for name in plain.predictions}

    shown = printed(replace(plain, predictions=gone))

    assert "before: too far" in shown
    assert "match" not in shown


def test_any_number_of_variants_fits_80_columns(tmp_path: Path) -> None:
    plain = result(tmp_path, claims=())
    names = [f"variant-number-{at}" for at in range(7)]
    runs = [
        replace(plain.runs[0], run=replace(plain.runs[0].run, variant=name))
        for name in names
    ]
    told = {
        name: replace(plain.predictions["after"], variant=name)  # type: ignore[type-var]
        for name in names
    }

    shown = printed(replace(plain, runs=tuple(runs), predictions=told))

    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("data packets cut by") == 3


def test_several_results_have_their_claims_in_one_table(tmp_path: Path) -> None:
    one = result(tmp_path)
    other = replace(one, experiment=replace(one.experiment, name="another"))

    shown = printed(one, other)

    assert shown.count("claimed") == 1
    assert shown.count("12 345 678") == 2
    assert shown.count("1 of 4 claims reproduced") == 2
    assert "send_gap" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_quick_run_says_so(tmp_path: Path) -> None:
    whole = result(tmp_path)
    quick = replace(whole, experiment=replace(whole.experiment, scale=Scale.QUICK))

    assert "run --full" in printed(quick)
    assert "run --full" not in printed(whole)


@each_width
def test_a_ratio_stands_below_the_values_with_its_interval(
    width: int, tmp_path: Path
) -> None:
    shown = printed(in_real_time(tmp_path), width=width)

    assert "ratio 1.44 1.35 - 95% 1.09 to 1.74" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= width


def test_where_nothing_was_captured_there_is_no_table_of_packets_nor_of_matches(
    tmp_path: Path,
) -> None:
    plain = result(tmp_path)
    runs = tuple(replace(each, trace=None, metrics={}) for each in plain.runs)

    gone = {
        name: replace(plain.predicted(name), match=None) for name in plain.variants()
    }
    shown = printed(replace(plain, runs=runs, predictions=gone))

    for head in ("p99", "model against kernel"):
        assert head in printed(plain)
        assert head not in shown
    assert "cut by" in shown


def test_a_ratio_of_few_repeats_has_no_interval(tmp_path: Path) -> None:
    plain = in_real_time(tmp_path)
    (verdict,) = plain.verdicts
    assert verdict.ratio is not None
    few = replace(verdict, ratio=replace(verdict.ratio, interval=None))

    shown = printed(replace(plain, verdicts=(few,)))

    assert "ratio 1.44 1.35 -" in " ".join(shown.split())
    assert "95%" not in shown
