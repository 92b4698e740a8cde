"""What every command has around it, where whoever reads stdout is gone or full."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys
from argparse import Namespace
from rich.console import Console
from testbed.cli.guarded import guarded
say = {say}
sys.exit(guarded(Namespace(command=lambda _arguments: say("told") or 0)))
"""


def _say_to(stdout: int, say: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(say=say)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )


both = pytest.mark.parametrize("say", ["print", "Console().print"])


@both
def test_a_full_disk_under_stdout_is_told_as_what_it_is(say) -> None:
    with Path("/dev/full").open("w") as full:
        answer = _say_to(full.fileno(), say)

    assert answer.returncode == 4
    assert answer.stderr == "testbed: [Errno 28] No space left on device\n"


@both
def test_a_reader_that_went_away_is_no_verdict(say) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    answer = _say_to(writing, say)
    os.close(writing)

    assert answer.returncode == 141
    assert answer.stderr == ""
