"""Apply one patch to a folder of files with patch(1), and say why where it does not."""

import re
from pathlib import Path

from testbed.errors import TestbedError
from testbed.kernels.patches import Patch
from testbed.process import stream

_TIMEOUT_S = 60.0
_FILE = re.compile(r"(?:patching|checking) file (?P<file>.+?)(?: \(.*)?$")
_FAILED = re.compile(r"Hunk #(\d+) FAILED at (\d+)")
_REVERSED = "Reversed (or previously applied) patch detected"
_NO_FILE = "can't find file to patch"
_REFUSED = (_REVERSED, _NO_FILE, "malformed patch", "No such file", "not supported")


class Rejected(TestbedError):
    """A patch does not apply. reasons: a line a file or hunk.  remedy: what helps."""

    def __init__(self, patch: str, output: str, remedy: str) -> None:
        super().__init__(f"{patch}: {failures(output)}")
        self.patch = patch
        self.reasons = failures(output)
        self.remedy = remedy


def apply(patch: Patch, folder: Path, *, exactly: bool = False) -> None:
    """Apply a patch to the files in a folder; raise Rejected if it does not.

    exactly: every line of context has to be there, as git has it. A patch that was
    made for another version may go in elsewhere without a word otherwise.
    """
    status, output = _run(patch, folder, "--fuzz=0" if exactly else "--fuzz=2")
    if status == 0:
        return
    remedy = "bring it up to this source, or give the one it was made for by --source"
    if _REVERSED in output:
        remedy = "leave it out: the source has that change already"
    elif _NO_FILE in output:
        remedy = "give the source it was made for by --source"
    elif exactly and _run(patch, folder, "--fuzz=2", "--dry-run")[0] == 0:
        remedy = (
            "see whether the place is right, and make it anew for this source: only "
            "lines around the change differ (`patch -p1` takes it with a fuzz of 2)"
        )
    raise Rejected(patch.name, output, remedy)


def _run(patch: Patch, folder: Path, *options: str) -> tuple[int, str]:
    file = folder.with_name("applying.patch")
    argv = (
        *("patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch"),
        *("--reject-file=-", f"--input={file}", *options),
    )
    try:
        file.write_bytes(patch.data)
        done = stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S, cwd=folder)
    finally:
        file.unlink(missing_ok=True)
    return done.status, done.output


def failures(output: str) -> tuple[str, ...]:
    """Name the kernel files and hunks that patch(1) says it could not apply."""
    file = "?"
    found = []
    for line in output.splitlines():
        if match := _FILE.match(line):
            file = match["file"]
        elif match := _FAILED.match(line):
            found.append(f"{file}: hunk #{match[1]}, at line {match[2]}")
        elif any(reason in line for reason in _REFUSED):
            found.append(f"{file}: {line.strip()}")
        elif match := re.match(r"\|\+\+\+ (\S+)", line):  # after "can't find file"
            found.append(f"{match[1]}: this kernel has no such file")
    return tuple(found or output.strip().splitlines())
