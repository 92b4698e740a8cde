"""The command line: what it prints where, and its exit codes."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from builders import BUILT, IDENTITY, a_claim, an_experiment
from fakes import FakeMachine
from keeping import put, recipe

from testbed import pipeline
from testbed.cli import report
from testbed.cli import run as verb
from testbed.cli.kernel import add_kernel, recipe_of
from testbed.cli.main import main
from testbed.errors import SpecError, Unavailable
from testbed.kernels.cache import list_built, remove
from testbed.pipeline import Plan, record
from testbed.progress import ConsoleWatch, watching
from testbed.report import drawn
from testbed.report.drawn import Drawn
from testbed.report.result import Result
from testbed.spec.experiment import Experiment

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _quiet_host(monkeypatch) -> None:
    """Begin on a host that is quiet, whatever else it does."""
    monkeypatch.setattr(verb, "require_quiet", lambda: None)


@pytest.fixture
def stored(tmp_path) -> Path:
    """Return the folder of a stored run whose one claim is not reproduced."""
    plan = Plan(
        machine=FakeMachine(), seed=1, repeats=1, out=tmp_path, command="run it"
    )
    experiment = an_experiment(a_claim({"before": 10, "after": 20}))
    watch = ConsoleWatch.__new__(ConsoleWatch)
    watch.run = lambda _run, _phase: None  # type: ignore[method-assign]
    return record(experiment, {"6.12": BUILT}, plan, watch)


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """Have reports without pictures, and predicted by threads: both sooner there.

    For tests that look at neither the page nor the processes.
    """

    def plain(result: Result) -> Drawn:
        return Drawn(result=result, figures=(), live=None, moments=())

    monkeypatch.setattr(drawn, "draw", plain)
    monkeypatch.setattr(report, "Workers", ThreadPoolExecutor)


def test_a_stored_run_is_reported_without_a_kernel(stored, capsys) -> None:
    status = main(["report", str(stored)])

    assert status == 1
    told = capsys.readouterr()
    assert "not reproduced" in told.out
    assert "model against kernel" in told.out
    assert "an-experiment before #1: model" in told.err
    assert (stored / "report.html").exists()


@pytest.mark.usefixtures("undrawn")
def test_json_is_the_only_thing_on_stdout(stored, capsys) -> None:
    main(["report", str(stored), "--json"])

    answer = json.loads(capsys.readouterr().out)
    assert answer["format"] == 1
    assert [run["variant"] for run in answer["runs"]] == ["before", "after"]
    assert answer["runs"][0]["counters"]["sender"] == {"TcpOutSegs": 10}
    assert answer["runs"][0]["metrics"]["tso_size"] == {
        "unit": "bytes",
        "n": 1,
        "mean": 100.0,
        "p50": 100.0,
        "p90": 100.0,
        "p99": 100.0,
        "max": 100.0,
    }
    assert answer["claims"][0]["claimed"] == {"before": 10.0, "after": 20.0}
    assert answer["claims"][0]["measured"] == {"before": 10.0, "after": 10.0}
    assert answer["claims"][0]["model"] == {"before": 5.0, "after": 5.0}
    assert answer["runs"][0]["model"]["packets"] == {"measured": 1, "predicted": 1}
    assert answer["claims"][0]["verdict"] == "not reproduced"


@pytest.mark.usefixtures("undrawn")
def test_a_text_format_is_the_only_thing_on_stdout(stored, capsys) -> None:
    status = main(["report", str(stored), "--format", "ktap"])

    assert status == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "KTAP version 1"
    assert told[-1] == "not ok 1 an-experiment"


@pytest.mark.usefixtures("undrawn")
def test_a_text_format_can_go_to_a_file(stored, tmp_path, capsys) -> None:
    file = tmp_path / "results.xml"

    main(["report", str(stored), "--format", "junit", "--out", str(file)])

    assert capsys.readouterr().out == ""
    assert file.read_text().startswith("<?xml")


@pytest.mark.usefixtures("undrawn")
def test_a_format_of_files_prints_where_they_are(stored, tmp_path, capsys) -> None:
    folder = tmp_path / "plots"

    main(["report", str(stored), "--format", "xplot", "--out", str(folder)])

    told = capsys.readouterr().out.splitlines()
    assert sorted(told) == sorted(map(str, folder.iterdir()))
    assert told


@pytest.mark.usefixtures("undrawn")
def test_several_runs_are_reported_on_one_page(stored, tmp_path, capsys) -> None:
    both = [str(stored), str(stored)]

    assert main(["report", *both, "--out", str(tmp_path)]) == 1
    assert (tmp_path / "report.html").exists()
    assert capsys.readouterr().out.count("experiment an-experiment") == 2


@pytest.mark.parametrize(
    ("argv", "status", "complaint"),
    [
        pytest.param(
            ["run", "nonesuch"], 2, "there is no experiment 'nonesuch'", id="experiment"
        ),
        pytest.param(["run", "no.yaml"], 2, "no.yaml: No such file", id="file"),
        pytest.param(
            ["run", "--set", "path.rtt=3"], 2, "is not a time", id="bad-setting"
        ),
        pytest.param(
            ["run", "--kernel", "9.99"], 2, "there is no kernel '9.99'", id="kernel"
        ),
        pytest.param(
            ["run", "--kernel", "before=6.12", "--kernel", "aftr=6.1"],
            2,
            "has no variant 'aftr'; it has before, after",
            id="variant-of-a-kernel",
        ),
        pytest.param(
            ["run", "--kernel", "6.12+none.patch"],
            2,
            "'none.patch' is no patch file",
            id="patch",
        ),
        pytest.param(
            ["kernel", "build", "--source", "/nowhere"],
            2,
            "there is no kernel tree or tarball /nowhere",
            id="source",
        ),
        pytest.param(
            ["kernel", "build", "--cache-limit", "much"],
            2,
            "--cache-limit: 'much' is not a size",
            id="cache-limit",
        ),
        pytest.param(
            ["kernel", "remove", "mine"],
            2,
            "there is no 'mine' in the cache",
            id="gone",
        ),
        pytest.param(
            ["model", "refine-tso-autosizing", "--variant", "x"],
            2,
            "no variant 'x'; known: before, after",
            id="variant",
        ),
        pytest.param(
            ["model", "refine-tso-autosizing", "--set", "workload.congestion=bbr"],
            2,
            "the model does not reach the congestion control bbr",
            id="beyond-the-model",
        ),
        pytest.param(
            ["model", "refine-tso-autosizing", "--set", "workload.flows=2"],
            2,
            "the model does not reach many flows",
            id="many-flows-beyond-the-model",
        ),
        pytest.param(["report", "/nowhere"], 2, "no runs here", id="run"),
        pytest.param(["kernel", "build", "9.99"], 2, "9.99", id="kernel-to-build"),
    ],
)
def test_a_mistake_is_one_message_and_an_exit_code(
    tmp_path, monkeypatch, capsys, argv, status, complaint
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert main(argv) == status
    told = capsys.readouterr()
    assert complaint in " ".join(told.err.split())
    assert told.out == ""
    assert not (tmp_path / "captures").exists()


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["run", "--repeat", "0"], id="no-repeat"),
        pytest.param(["run", "--repeat", "many"], id="repeat-in-words"),
        pytest.param(["run", "--repeat", "1001"], id="more-repeats-than-any-use"),
        pytest.param(["run", "--repeat", "9" * 5000], id="endless-repeat"),
        pytest.param(["run", "--seed", "-1"], id="negative-seed"),
        pytest.param(["run", "--seed", str(1 << 32)], id="seed-beyond-32-bits"),
        pytest.param(["run", "--machine", "toaster"], id="machine"),
        pytest.param(["dance"], id="verb"),
        pytest.param([], id="nothing"),
    ],
)
def test_bad_usage_exits_with_2(argv, capsys) -> None:
    with pytest.raises(SystemExit) as error:
        main(argv)

    assert error.value.code == 2
    assert "usage: testbed" in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_a_defect_never_looks_like_a_verdict(stored, capsys) -> None:
    (stored / "before" / "1" / "counters.json").write_text("[]")

    assert main(["report", str(stored)]) == 4
    assert "defect of testbed" in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_a_narrow_terminal_crops_no_digit(stored, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")

    main(["report", str(stored)])

    assert "not reproduced" in capsys.readouterr().out


def test_the_model_answers_without_a_kernel(capsys) -> None:
    assert main(["model", "refine-tso-autosizing", "--variant", "after"]) == 0

    shown = capsys.readouterr().out
    assert "1 385" in shown
    assert "cut by autosize" in shown


def test_the_models_json_has_counters_metrics_and_attribution(capsys) -> None:
    assert main(["model", "refine-tso-autosizing", "--json"]) == 0

    before, after = json.loads(capsys.readouterr().out)["predictions"]
    assert before["counters"]["sender"]["IpOutRequests"] == 575
    assert after["counters"]["sender"]["IpOutRequests"] == 178
    assert after["metrics"]["tso_segs"]["n"] == 175
    assert sum(after["attribution"].values()) == pytest.approx(1)
    assert after["match"] is None


@pytest.mark.parametrize(
    ("argv", "clock", "repeats", "captured"),
    [
        pytest.param([], "virtual", 1, True, id="virtual-time"),
        pytest.param(["--machine", "uml-real"], "real", 5, False, id="real-time"),
        pytest.param(
            ["--machine", "uml-real", "--repeat", "2", "--set", "capture=true"],
            *("real", 2, True),
            id="as-the-user-says",
        ),
    ],
)
def test_real_time_takes_repeats_and_no_capture(
    argv, clock, repeats, captured, monkeypatch
) -> None:
    asked: list[tuple[Experiment, Plan]] = []

    def refuse(experiment, _kernels, plan, _watch, _stop=None) -> Path:
        asked.append((experiment, plan))
        raise Unavailable("no machine", remedy="none")

    monkeypatch.setattr(pipeline, "build_kernels", lambda *_asked: {})
    monkeypatch.setattr(pipeline, "record", refuse)

    assert main(["run", "big-tcp", *argv]) == 3

    ((experiment, plan),) = asked
    assert (plan.machine.clock, plan.repeats) == (clock, repeats)
    assert [each.capture for each in experiment.variants] == [captured] * 2


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        pytest.param(["--machine", "uml-real"], 1, id="real-time"),
        pytest.param(["--machine", "uml-real", "--force-load"], 0, id="forced"),
        pytest.param([], 0, id="virtual-time"),
    ],
)
def test_only_real_time_asks_whether_the_host_is_quiet(
    argv, asked, monkeypatch, capsys
) -> None:
    times: list[int] = []

    def busy() -> None:
        times.append(1)
        raise Unavailable("this host is busy", remedy="wait")

    def refuse(*_asked: object) -> None:
        raise Unavailable("no kernel", remedy="none")

    monkeypatch.setattr(verb, "require_quiet", busy)
    monkeypatch.setattr(pipeline, "build_kernels", refuse)

    assert main(["run", "big-tcp", *argv]) == 3

    assert len(times) == asked
    assert ("this host is busy" in capsys.readouterr().err) == bool(asked)


@pytest.mark.parametrize("more", ["--ktap", "--kselftest"])
def test_what_programs_read_is_of_one_machine(more, capsys) -> None:
    argv = ["run", "big-tcp", "--machine", "uml", "--machine", "uml-real", more]

    assert main(argv) == 2

    assert "give KTAP, JUnit and kselftest one machine" in capsys.readouterr().err


def test_machines_side_by_side_have_a_column_each_and_refusals_a_remedy(
    monkeypatch, tmp_path, capsys
) -> None:
    def of(name: str) -> FakeMachine:
        machine = FakeMachine(name=name)
        if name == "qemu-icount":
            machine.fails = frozenset({"before"})
        if name == "host":
            error = Unavailable("no netem", remedy="get netem")
            monkeypatch.setattr(machine, "check", partial(fail, error))
        return machine

    def fail(error: Unavailable, _experiment: Experiment) -> None:
        raise error

    machines = {name: of(name) for name in ("uml", "qemu", "qemu-icount", "host")}
    monkeypatch.setattr(verb, "MACHINES", machines)
    monkeypatch.setattr(verb, "Workers", ThreadPoolExecutor)
    monkeypatch.setattr(pipeline, "resolve", lambda _name, _watch, _arch: BUILT)
    given = [word for name in machines for word in ("--machine", name)]

    status = main(["run", "refine-tso-autosizing", *given, "--out", str(tmp_path)])

    assert status == 4
    shown = capsys.readouterr().out
    assert re.search(r"claimed +uml +qemu +spread", shown)
    assert "machine host: no netem\n  to fix it: get netem" in shown
    assert "machine qemu-icount: the guest panicked" in shown


def test_a_user_who_is_not_root_is_told_how_to_run_on_the_host(
    monkeypatch, tmp_path, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert main(["run", "big-tcp", "--machine", "host"]) == 3

    assert "sudo python -m testbed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_clean_says_what_it_did(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert main(["clean", "--run", "a-run"]) == 0

    assert capsys.readouterr().out == "nothing is held by a-run\n"


def test_list_names_what_there_is(capsys) -> None:
    assert main(["list"]) == 0

    shown = capsys.readouterr().out
    assert "refine-tso-autosizing" in shown
    assert "long_haul" in shown
    assert "ack_stretch" in shown
    assert "uml-real" in shown


def test_kernel_list_needs_nothing_built(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert main(["kernel", "list"]) == 0
    assert "(not built)" in capsys.readouterr().out


def test_kernel_list_shows_what_a_kernel_is_made_of_and_the_cache(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TESTBED_CACHE_LIMIT", "3GB")
    for name in ("my.patch", "ours.patch"):
        (tmp_path / name).touch()
    made_of = recipe(
        "mine",
        patches=(tmp_path / "ours.patch",),
        user_patches=(tmp_path / "my.patch",),
    )
    named = replace(
        IDENTITY, name="mine", patches=("ours 12", "my.patch 34"), commit="v6.12-3-gabc"
    )
    put("key", tmp_path, identity=named, made_of=made_of)

    assert main(["kernel", "list"]) == 0

    shown = capsys.readouterr().out
    (line,) = (each for each in shown.splitlines() if each.startswith("mine"))
    row = line.split("  ")
    assert [each.strip() for each in row if each][:6] == [
        *(
            "mine",
            "6.12.117",
            "um",
            "v6.12-3-gabc",
            "1 and my.patch 34",
            "cdcdcdcdcdcd",
        ),
    ]
    assert " MB of 3.0 GB (TESTBED_CACHE_LIMIT, or kernel build" in shown


def test_kernel_remove_says_what_went(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    put("key", tmp_path, "mine")

    assert main(["kernel", "remove", "mine"]) == 0

    assert capsys.readouterr().out == "removed the kernel mine, 0.0 MB\n"
    assert list_built() == ()


def test_a_run_keeps_its_kernels_in_the_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = put("key", tmp_path, "6.12")
    gone: list[bool] = []

    def recording(*_arguments) -> Path:
        gone.append(remove(built.image.parent))
        raise SpecError("that is all")

    monkeypatch.setattr(pipeline, "build_kernels", lambda *_arguments: {"6.12": built})
    monkeypatch.setattr(pipeline, "record", recording)

    assert main(["run", "refine-tso-autosizing", "--out", str(tmp_path)]) == 2
    assert gone == [False]
    assert remove(built.image.parent)


@pytest.mark.parametrize(
    ("argv", "name", "files"),
    [
        pytest.param([], "6.12", [], id="nothing"),
        pytest.param(["6.1", "--name", "x"], "x", [], id="name"),
        pytest.param(
            ["--patch", "a", "--patch", "b"], "6.12+a+b", ["a", "b"], id="two"
        ),
        pytest.param(["--source", "linux-7.4.tar.xz"], "7.3", [], id="tarball"),
        pytest.param(["--source", "net-next"], "6.12", [], id="unknown-version"),
    ],
)
def test_a_kernel_to_build_is_named_after_what_is_in_it(
    argv, name, files, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    add_kernel(parser)

    kernel = recipe_of(parser.parse_args(["build", *argv]))

    assert kernel.name == name
    assert [path.name for path in kernel.user_patches] == files


def test_a_pipe_gets_plain_lines_of_progress(capsys) -> None:
    from rich.console import Console  # noqa: PLC0415  # after capsys has taken stderr

    from testbed.kernels.progress import Progress  # noqa: PLC0415

    with watching(Console(stderr=True)) as watch:
        for done in (0, 50, 51, 100):
            told = Progress(phase="compile", done=done, total=100, detail="tcp.o")
            watch.kernel("6.12", told)

    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("; about")[0] for line in lines] == [
        "kernel 6.12: compile 0%",
        "kernel 6.12: compile 50%",
        "kernel 6.12: compile 100%",
    ]


def as_a_background_job() -> None:
    # Whatever this test was started under, such as nohup.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_cleanly(tmp_path, sent) -> None:
    program = (
        "import sys, time; import testbed.pipeline as pipeline\n"
        "def wait(*_): print('ready', flush=True); time.sleep(60)\n"
        "pipeline.build_kernels = wait; from testbed.cli.main import main\n"
        "sys.exit(main(['run']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_a_background_job,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.05)
        process.send_signal(sent)
        _out, told = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "interrupted" in told
    assert "Traceback" not in told


MAIL = CHECKOUT / "tests" / "mail" / "quoted.txt"


def test_claims_prints_a_draft_and_tells_what_it_did_not_understand(capsys) -> None:
    status = main(["claims", str(MAIL)])

    assert status == 0
    told = capsys.readouterr()
    assert "metric: TcpOutSegs" in told.out
    assert told.err == (
        f"{MAIL}:18: not understood: (sizes end at 20000000/1024/4096 -> 4 segments)\n"
    )


def test_claims_writes_a_new_file_and_never_over_one(tmp_path, capsys) -> None:
    out = tmp_path / "mine.yaml"

    first = main(["claims", str(MAIL), "--out", str(out)])
    drafted = out.read_text()
    out.write_text("mine")
    second = main(["claims", str(MAIL), "--out", str(out)])

    assert (first, second) == (0, 2)
    assert "metric: TcpOutSegs" in drafted
    assert out.read_text() == "mine"
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{out} exists; it is not overwritten" in told.err


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        pytest.param("nonesuch.txt", "No such file", id="no-file"),
        pytest.param(".", "Is a directory", id="a-folder"),
        pytest.param("README.md", "no tested section: looked for", id="no-mail"),
    ],
)
def test_claims_refuses_what_is_no_mail(name, complaint, capsys) -> None:
    status = main(["claims", str(CHECKOUT / name)])

    assert status == 2
    assert complaint in capsys.readouterr().err
