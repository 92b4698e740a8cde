"""Make a tree hold exactly a set of patches, by rewriting only what differs.

The tree is never patched in place. The files that patches touch are kept as the source
has them, patched in a scratch folder, and compared with the tree; so patches can be
changed, dropped and taken again in any order, and make rebuilds what changed alone.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.errors import BuildError
from testbed.files import read_or_none, remove, scratch, write_whole
from testbed.kernels.folder import BuildFolder, forget_configuration_if_changed
from testbed.kernels.patches import Patch
from testbed.process import stream

_TIMEOUT_S = 60.0
_FILE = re.compile(r"(?:patching|checking) file (?P<file>.+?)(?: \(.*)?$")
_FAILED = re.compile(r"Hunk #(\d+) FAILED at (\d+)")
_REFUSED = (
    "Reversed (or previously applied) patch detected",
    "can't find file to patch",
    "malformed patch",
    "No such file",
    "not supported",
)


def sync(folder: BuildFolder, patches: Sequence[Patch]) -> tuple[str, ...]:
    """Make the tree hold the source with these patches; return the files rewritten.

    Raises BuildError, with the tree as it was, when a patch does not apply.
    """
    touched = {path for patch in patches for path in patch.touches}
    _keep_originals(folder, touched)
    with scratch(folder.root / "patching") as work:
        _lay_out(folder, touched, work)
        for patch in patches:
            _apply(patch, work, folder.root / "applying.patch")
        wanted = {path: work / path for path in touched}
        for path in _kept(folder.pristine) | _kept(folder.created):
            wanted.setdefault(path, folder.pristine / path)
        changed = {
            path for path, source in wanted.items() if _differs(folder, path, source)
        }
        forget_configuration_if_changed(folder, changed)
        _write(folder, {path: wanted[path] for path in sorted(changed)})
    return tuple(sorted(changed))


def _keep_originals(folder: BuildFolder, touched: set[str]) -> None:
    """Copy the files no patch touched before, while the tree still has the source's."""
    for path in sorted(touched - _kept(folder.pristine) - _kept(folder.created)):
        content = read_or_none(folder.tree / path)
        if content is None:
            write_whole(folder.created / path, b"")
        else:
            mode = (folder.tree / path).stat().st_mode & 0o777
            write_whole(folder.pristine / path, content, mode=mode)


def _lay_out(folder: BuildFolder, touched: set[str], work: Path) -> None:
    for path in touched & _kept(folder.pristine):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder.pristine / path, work / path)


def _apply(patch: Patch, work: Path, file: Path) -> None:
    argv = (
        *("patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch"),
        *("--reject-file=-", f"--input={file}"),
    )
    try:
        file.write_bytes(patch.data)
        done = stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S, cwd=work)
    finally:
        file.unlink(missing_ok=True)
    if done.status != 0:
        raise BuildError(
            f"the patch {patch.name} does not apply:\n  {failures(done.output)}",
            remedy="bring the patch up to this kernel's source, or leave it out",
        )


def failures(output: str) -> str:
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
    return "\n  ".join(found) or output.strip()


def _kept(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }


def _differs(folder: BuildFolder, path: str, source: Path) -> bool:
    return read_or_none(folder.tree / path) != read_or_none(source)


def _write(folder: BuildFolder, changed: Mapping[str, Path]) -> None:
    for path, source in changed.items():
        content = read_or_none(source)
        if content is None:
            remove(folder.tree / path)
        else:
            mode = source.stat().st_mode & 0o777
            write_whole(folder.tree / path, content, mode=mode)
