"""How far things are, on a terminal and in a pipe."""

from io import StringIO
from pathlib import Path

import pytest
from builders import a_run, a_workload
from rich.console import Console

from testbed.kernels.progress import Progress
from testbed.lab.sofar import SoFar
from testbed.progress import share_done, watching
from testbed.store import Run

SENT = (
    SoFar(since=100_000_000, bytes=1_000_000, packets=80),
    SoFar(since=200_000_000, bytes=1_500_000, packets=1200),
)


def phase(told: SoFar) -> str:
    return told.line().removeprefix("lab: ")


def run_of(folder: Path) -> Run:
    return a_run(folder / "an-experiment" / "id" / "before" / "1")


def told(console: Console) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined]


def pipe() -> Console:
    return Console(file=StringIO(), width=80)


def terminal() -> Console:
    return Console(file=StringIO(), width=200, force_terminal=True)


def test_in_a_pipe_each_phase_is_a_line(tmp_path) -> None:
    console = pipe()
    with watching(console) as watch:
        for each in ("boot", "network", "network", "whole"):
            watch.run(run_of(tmp_path), each)

    assert told(console).splitlines() == [
        "an-experiment before #1: boot",
        "an-experiment before #1: network",
        "an-experiment before #1: whole",
    ]


def test_in_a_pipe_traffic_is_told_of_now_and_then(tmp_path) -> None:
    console = pipe()
    with watching(console) as watch:
        for each in SENT:
            watch.run(run_of(tmp_path), phase(each))

    assert told(console).splitlines() == [
        "an-experiment before #1: traffic 100 ms, 80.0 Mbit/s, 80 packets"
    ]


def test_on_a_terminal_a_run_has_one_line_with_what_it_does(tmp_path) -> None:
    console = terminal()
    with watching(console) as watch:
        watch.run(run_of(tmp_path), "boot")
        for each in SENT:
            watch.run(run_of(tmp_path), phase(each))

    drawn = [line for line in told(console).splitlines() if "an-experiment" in line]
    assert "an-experiment before #1" in drawn[-1]
    assert "traffic 200 ms, 40.0 Mbit/s, 1 200 packets" in drawn[-1]
    assert "boot" not in drawn[-1]


def test_a_build_is_told_of_at_every_tenth() -> None:
    console = pipe()
    with watching(console) as watch:
        for done in (0, 1, 2, 25, 100):
            step = Progress(phase="compile", done=done, total=100, detail="a.c")
            watch.kernel("6.12", step)

    lines = told(console).splitlines()
    assert [line.partition(";")[0] for line in lines] == [
        "kernel 6.12: compile 0%",
        "kernel 6.12: compile 20%",
        "kernel 6.12: compile 100%",
    ]
    assert "left" in lines[1]


def test_a_sweep_is_told_of_point_by_point() -> None:
    console = pipe()
    with watching(console) as watch:
        watch.sweep(1, 3, "1 were finished before")
        watch.sweep(2, 3, "10ms: whole")

    first, second = told(console).splitlines()
    assert first == "point 1 of 3: 1 were finished before"
    assert second.startswith("point 2 of 3: 10ms: whole; about 0:00:0")


@pytest.mark.parametrize("console", [pipe(), terminal()], ids=["pipe", "terminal"])
def test_nothing_is_told_when_quiet(console, tmp_path) -> None:
    with watching(console, quiet=True) as watch:
        watch.run(run_of(tmp_path), "boot")
        watch.run(run_of(tmp_path), phase(SENT[0]))
        watch.sweep(1, 2, "whole")
        watch.kernel("6.12", Progress(phase="compile", done=1, total=2, detail="a.c"))

    assert told(console) == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_an_interrupt_says_where_the_runs_are(quiet, tmp_path) -> None:
    console = pipe()

    def interrupted() -> None:
        with watching(console, quiet=quiet) as watch:
            watch.run(run_of(tmp_path), "boot")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    where = tmp_path / "an-experiment" / "id"
    assert f"testbed: what was recorded is in {where}\n" in told(console)


@pytest.mark.parametrize(
    ("workload", "share"),
    [
        pytest.param(a_workload(bytes=2_000_000), 0.5, id="bytes"),
        pytest.param(a_workload(bytes=500_000, flows=4), 0.5, id="of-each-flow"),
        pytest.param(a_workload(bytes=None, duration=400_000_000), 0.25, id="time"),
        pytest.param(a_workload(bytes=1000), 1.0, id="no-more-than-all"),
    ],
)
def test_the_share_done_is_of_the_bytes_or_the_time(workload, share) -> None:
    assert share_done(SENT[0], workload) == share
