"""Patch files as data: which kernel files each one touches. Nothing is applied here."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from testbed.errors import SpecError
from testbed.kernels.mailbox import diffs

_GIT_HEADER = re.compile(r"diff --git a/(\S+) b/(\S+)$")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch: its file's name, its text, and the kernel files it touches, sorted."""

    name: str
    data: bytes
    touches: tuple[str, ...]


def read_patches(path: Path) -> tuple[Patch, ...]:
    """Read the patches of a file: a diff, a mail, or a mailbox with a series.

    Raises SpecError when it is none of these, or not the whole of one.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SpecError(f"cannot read the patch {path}: {error.strerror}") from error
    return tuple(
        Patch(
            name=f"{path.name} {title}".strip(),
            data=text,
            touches=touched_files(
                text.decode("utf-8", errors="replace"), f"{path} {title}".strip()
            ),
        )
        for title, text in diffs(data, str(path))
    )


def touched_files(text: str, where: str) -> tuple[str, ...]:
    """Return the files that a diff reads, writes, makes or removes, sorted.

    where: names the text in the SpecError that a cut or unsafe diff raises.
    """
    # Not splitlines(): kernel sources have form feeds within their lines.
    lines = [line.rstrip("\r") for line in text.split("\n")]
    names: set[str] = set()
    at = 0
    while at < len(lines):
        if match := _GIT_HEADER.match(lines[at]):
            names |= {match[1], match[2]}
        elif lines[at].startswith("--- ") and _starts(lines, at + 1, "+++ "):
            names |= {_name(lines[at], where), _name(lines[at + 1], where)}
            at = _skip_hunks(lines, at + 2, where)
            continue
        at += 1
    names.discard("")
    if not names:
        raise SpecError(f"{where} holds no diff")
    for name in names:
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise SpecError(f"{where} touches {name}, outside of the kernel's tree")
    return tuple(sorted(names))


def _skip_hunks(lines: list[str], at: int, where: str) -> int:
    """Return the index after the hunks that start at `at`.

    Hunks are counted out, as their lines may look like the next file's header.
    """
    while at < len(lines) and (match := _HUNK.match(lines[at])):
        start = at
        old, new = int(match[1] or "1"), int(match[2] or "1")
        at += 1
        while (old or new) and at < len(lines):
            sign = lines[at][:1] or " "  # mailers strip the blank of an empty line
            old -= sign in " -"
            new -= sign in " +"
            if sign not in " -+\\":
                break
            at += 1
        if old or new:
            raise SpecError(
                f"{where}, line {start + 1}: the hunk is cut short or mangled"
            )
    return at


def _starts(lines: list[str], at: int, prefix: str) -> bool:
    return at < len(lines) and lines[at].startswith(prefix)


def _name(line: str, where: str) -> str:
    """Take the file's name from a --- or +++ line: /dev/null is "", a/ or b/ goes."""
    name = line[4:].partition("\t")[0].strip()
    if name == "/dev/null":
        return ""
    _prefix, slash, rest = name.partition("/")
    if not slash or not rest:
        raise SpecError(
            f"{where}: {name!r} has no a/ or b/ before the path (patch -p1)"
        )
    return rest
