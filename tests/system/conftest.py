"""A real kernel for the tests that boot one: built on first use, then cached."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.kernels.resolve import resolve
from testbed.machine.machine import Job, Outcome
from testbed.machine.uml import UmlMachine
from testbed.process import Stop
from testbed.spec.kernel import Arch, BuiltKernel

CHECKOUT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def kernel() -> BuiltKernel:
    """Return the registered 6.12 kernel, built now if it never was."""
    return resolve("6.12", lambda _told: None)


@pytest.fixture(scope="session")
def bzimage() -> BuiltKernel:
    """Return the same kernel as a bzImage, built now if it never was."""
    return resolve("6.12", lambda _told: None, Arch.X86_64)


@pytest.fixture
def guest(
    kernel: BuiltKernel, tmp_path: Path
) -> Callable[..., tuple[Outcome, list[str]]]:
    """Return a function that runs a command in a guest: its outcome and its lines.

    The command's folder is tmp_path/"share".
    """
    folder = tmp_path / "share"
    folder.mkdir()

    def run(*argv: str, deadline_s: float = 60) -> tuple[Outcome, list[str]]:
        lines: list[str] = []
        job = Job(
            argv=argv,
            folder=folder,
            env={"PYTHONPATH": str(CHECKOUT), "PYTHON": sys.executable},
            deadline_s=deadline_s,
        )
        return UmlMachine().run(kernel, job, lines.append, Stop()), lines

    return run
