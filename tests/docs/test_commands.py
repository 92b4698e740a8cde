"""Every command of README, CONTRIBUTING and docs/: run, or known why not."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from desk import arguments_of, lay_out
from documented import COMMANDS, Elsewhere, How, Quick
from documents import CHECKOUT, DOCUMENTS, TESTBED, examples, prose, says

import testbed.cli.main as command_line
from testbed.cli import report
from testbed.spec.choose import with_kernels
from testbed.spec.load import load_experiment

EXAMPLES = [each for document in DOCUMENTS for each in examples(document)]
OURS = sorted(
    {each.command.removeprefix("sudo ") for each in EXAMPLES if TESTBED in each.command}
)


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return lay_out(tmp_path)


def commands(how: type[How]) -> list[str]:
    return [command for command, each in COMMANDS.items() if isinstance(each, how)]


def test_every_documented_command_is_in_the_list_and_no_other() -> None:
    assert {each.command for each in EXAMPLES} == set(COMMANDS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_stand_in_fenced_blocks(document: Path) -> None:
    indented = re.findall(
        r"^    \$? ?(?:python3|sudo|make|cp) .*", prose(document), re.M
    )

    assert indented == []


@pytest.mark.parametrize("command", commands(Elsewhere))
def test_the_test_that_runs_a_command_exists(command: str) -> None:
    how = COMMANDS[command]
    assert isinstance(how, Elsewhere)
    file, _, name = how.test.partition("::")

    assert f"\ndef {name}(" in (CHECKOUT / file).read_text()


@pytest.mark.parametrize("command", [each for each in COMMANDS if each[:5] == "make "])
def test_make_knows_its_targets(command: str) -> None:
    target = command.split()[1]

    assert f"\n{target}:" in (CHECKOUT / "Makefile").read_text()


def test_every_option_of_the_command_line_is_documented() -> None:
    verbs = (CHECKOUT / "testbed/cli").glob("*.py")
    options = {
        name
        for verb in verbs
        for name in re.findall(r'"(--[a-z-]+)"', verb.read_text())
    }
    told = "".join(document.read_text() for document in DOCUMENTS)

    assert [name for name in sorted(options) if name not in told] == []


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("command", OURS)
def test_a_documented_command_is_one_that_the_program_takes(
    command: str, monkeypatch
) -> None:
    """Its options, the experiments it names and what it sets, without running it."""
    parsed = []
    monkeypatch.setattr(
        command_line, "guarded", lambda given: parsed.append(given) or 0
    )

    assert command_line.main(arguments_of(command.partition(" > ")[0])) == 0

    (given,) = parsed
    if isinstance(COMMANDS.get(command), Quick):
        return  # run below, some of them to show what they refuse
    for name in getattr(given, "experiments", ()):
        loaded = load_experiment(name, given.settings)
        assert with_kernels(loaded, given.kernels).variants


@pytest.mark.parametrize("command", commands(Quick))
def test_a_quick_command_does_what_the_document_says(
    command: str, desk: Path, monkeypatch, capfd
) -> None:
    how = COMMANDS[command]
    assert isinstance(how, Quick)
    # Which begin sooner, and predict the same.
    monkeypatch.setattr(report, "Workers", ThreadPoolExecutor)
    if how.alone:
        monkeypatch.setenv("XDG_CACHE_HOME", str(desk / "cache"))
    if not command.startswith(TESTBED):
        _, source, target = command.split()
        shutil.copy(desk / source, desk / target)
        return

    status = command_line.main(arguments_of(command))

    told = capfd.readouterr()
    assert status == how.status, told.err
    for each in EXAMPLES:
        if each.command == command and each.output:
            assert says(told.out + told.err, each.output), told
