"""Merge two sets of changed files over the files they both started from."""

from collections.abc import Iterable
from pathlib import Path

from testbed.errors import TestbedError
from testbed.files import read_or_none, remove, write_whole
from testbed.process import stream

_TIMEOUT_S = 60.0


class Conflict(TestbedError):
    """Both sides changed the same lines. paths: of which files."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"conflicts in {', '.join(paths)}")
        self.paths = paths


def merge(base: Path, ours: Path, theirs: Path, paths: Iterable[str]) -> Path:
    """Bring what theirs changed into ours, file by file; return ours.

    A file that is absent on a side was removed there. Raises Conflict when lines, or
    the removal and a change, are in each other's way; ours is then of no use.
    """
    conflicts = [
        path for path in sorted(paths) if not _merged(base, ours, theirs, path)
    ]
    if conflicts:
        raise Conflict(tuple(conflicts))
    return ours


def _merged(base: Path, ours: Path, theirs: Path, path: str) -> bool:
    """Merge one file into ours; tell whether that went without conflict."""
    old, mine, yours = (read_or_none(each / path) for each in (base, ours, theirs))
    if yours in (old, mine):
        return True
    if mine == old:
        if yours is None:
            remove(ours / path)
        else:
            write_whole(ours / path, yours, mode=(theirs / path).stat().st_mode & 0o777)
        return True
    if None in (old, mine, yours):
        return False
    # It rewrites the first of the three, whatever bytes are in it.
    argv = (
        "git",
        "merge-file",
        "--quiet",
        *(str(each / path) for each in (ours, base, theirs)),
    )
    return stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S).status == 0
