"""The commands of README and docs/ that boot a kernel, as they stand there."""

from pathlib import Path

import pytest
from commands import run_testbed
from desk import arguments_of, lay_out
from documented import COMMANDS, Boots
from documents import DOCUMENTS, examples, says

pytestmark = pytest.mark.guest

OUTPUTS = {
    each.command: each.output
    for document in DOCUMENTS
    for each in examples(document)
    if each.output
}


@pytest.fixture(scope="module")
def desk(kernel, tmp_path_factory) -> Path:
    return lay_out(tmp_path_factory.mktemp("desk"))


@pytest.mark.parametrize(
    "command", [each for each, how in COMMANDS.items() if isinstance(how, Boots)]
)
def test_a_documented_command_does_what_the_document_says(command: str, desk) -> None:
    how = COMMANDS[command]
    assert isinstance(how, Boots)

    done = run_testbed(*arguments_of(command), cwd=desk)

    assert done.returncode == how.status, done.stderr
    assert says(done.stdout + done.stderr, OUTPUTS.get(command, "")), done.stdout
