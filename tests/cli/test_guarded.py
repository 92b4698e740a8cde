"""What every command has around it, where whoever reads stdout is gone or full."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.cli.main import main

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


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_an_interrupt_ends_the_wait_for_a_silent_writer(tmp_path, name) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)  # held open, and nothing is written
    program = [sys.executable, "-m", "testbed", "inspect", str(tmp_path / name)]
    with (
        pipe.open("rb") as stdin,
        subprocess.Popen(
            [*program[:-1], "-"] if name == "-" else program,
            stdin=stdin,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        ) as inspecting,
    ):
        while _threads(inspecting.pid) < 2:  # the second is the one that reads
            time.sleep(0.01)
        inspecting.send_signal(signal.SIGINT)
        told = inspecting.communicate(timeout=20)[1]
    os.close(writer)

    assert inspecting.returncode == 130
    assert told.endswith("testbed: interrupted\n")


def _threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_a_mail_without_an_end_is_refused(capsys) -> None:
    assert main(["claims", "/dev/zero"]) == 2
    assert "more than 20000000 bytes is no patch mail" in capsys.readouterr().err


def test_an_error_never_steers_the_terminal(capsys) -> None:
    assert main(["run", "big-tcp", "--set", "path.\x1b[31mred=1"]) == 2

    told = capsys.readouterr().err
    assert r"\x1b[31mred" in told
    assert "\x1b[31mred" not in told
