"""A folder as a reader of the documents has it: a checkout, and files of their own."""

import shlex
import shutil
from pathlib import Path

from documents import CHECKOUT, TESTBED

_RUNS = "captures/refine-tso-autosizing"
_STORED = CHECKOUT / "captures/reference/stored-format-1"


def lay_out(folder: Path) -> Path:
    """Put into a folder what documented commands name; return it."""
    for name in ("testbed", "topologies", "docs", "README.md"):
        (folder / name).symlink_to(CHECKOUT / name)
    shutil.copytree(CHECKOUT / "captures/reference", folder / "captures/reference")
    shutil.copytree(_STORED, folder / _RUNS)
    shutil.copy(CHECKOUT / "tests/mail/thread.txt", folder / "tested.mbox")
    shutil.copy(CHECKOUT / "tests/system/tsq.patch", folder / "my.patch")
    copied = CHECKOUT / "testbed/experiments/refine-tso-autosizing.yaml"
    shutil.copy(copied, folder / "mine.yaml")
    return folder


def arguments_of(command: str) -> list[str]:
    """Return a documented command's words behind `python3 -m testbed`, if it is one.

    <run-id> is the run that lies on the desk.
    """
    (run_id,) = (each.name for each in _STORED.iterdir())
    words = shlex.split(command.replace("<run-id>", run_id))
    start = shlex.split(TESTBED)
    return words[len(start) :] if words[: len(start)] == start else []
