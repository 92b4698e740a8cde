"""The verb compare, on stored runs."""

import json
from pathlib import Path

import pytest
from builders import BUILT, a_claim, an_experiment
from fakes import FakeMachine

from testbed.cli.main import main
from testbed.kernels.progress import Progress
from testbed.pipeline import Plan, record
from testbed.store import Run


class SilentWatch:
    def kernel(self, name: str, progress: Progress) -> None:
        """See nothing."""

    def run(self, run: Run, phase: str) -> None:
        """See nothing."""


def stored(out: Path, seed: int) -> Path:
    plan = Plan(machine=FakeMachine(), seed=seed, repeats=1, out=out, command="run it")
    experiment = an_experiment(a_claim({"before": 10, "after": 20}))
    return record(experiment, {"6.12": BUILT}, plan, SilentWatch())


@pytest.fixture
def folders(tmp_path) -> list[str]:
    return [str(stored(tmp_path, seed)) for seed in (1, 2)]


def test_stored_runs_are_compared_without_a_kernel(folders, tmp_path, capsys) -> None:
    status = main(["compare", *folders, "--out", str(tmp_path / "page")])

    assert status == 0
    told = capsys.readouterr().out
    assert "different: seeds" in told
    assert "seeds: A 1, B 2" in told
    assert (tmp_path / "page" / "compare.html").exists()


def test_a_comparison_repeated_gives_the_same_bytes(folders, tmp_path, capsys) -> None:
    argv = ["compare", *folders, "--json", "--out", str(tmp_path)]
    answers = []
    for _time in range(2):
        main(argv)
        page = (tmp_path / "compare.html").read_bytes()
        answers.append((page, capsys.readouterr().out))

    assert answers[0] == answers[1]
    assert json.loads(answers[0][1])["format"] == 1


def test_variants_of_one_run_are_compared_by_their_folders(
    folders, tmp_path, capsys
) -> None:
    both = [f"{folders[0]}/before", f"{folders[0]}/after"]

    assert main(["compare", *both, "--out", str(tmp_path)]) == 0
    assert "before against after" in capsys.readouterr().out


def test_a_void_run_is_not_compared(folders, tmp_path, capsys) -> None:
    record = Path(folders[1]) / "after" / "1" / "run.json"
    record.write_text(record.read_text().replace('"whole"', '"void"'))

    assert main(["compare", *folders, "--out", str(tmp_path)]) == 4
    assert "is void" in capsys.readouterr().err
