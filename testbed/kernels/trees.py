"""Bring a source into its build folder: unpack a tarball, or copy a tree.

A user's tree is only read. What is copied of it gets a new time of its own, as make
must see a file that was replaced by an older one.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from testbed.errors import BuildError, SpecError
from testbed.files import read_json, read_or_none, remove, scratch, write_whole
from testbed.kernels.folder import BuildFolder, forget_configuration_if_changed
from testbed.kernels.progress import Counter, OnProgress
from testbed.kernels.sources import Source, Stamp, is_kernel_tree
from testbed.process import stream

#: 6.12 takes 1.7 GB unpacked; objects and what later patches add need the rest.
NEEDED_BYTES = 3_500_000_000
_UNPACK_TIMEOUT_S = 1800.0
#: Measured: linux-source-6.12.tar.xz unpacks to 10.4 times its size. For progress only.
_EXPANSION = 10
_CHECKPOINT_RECORDS = 1000
_RECORD_BYTES = 10240  # tar's
_COPY_REPORT = 500  # files between two reports


def bring(source: Source, folder: BuildFolder, on_progress: OnProgress) -> None:
    """Make folder.tree hold the source, apart from what patching.sync() did to it."""
    if source.files:
        if folder.tree.is_dir() and folder.listing.is_file():
            _refresh(source, folder, on_progress)
        else:
            _start_over(folder)
            _copy_all(source, folder, on_progress)
    elif read_or_none(folder.source_note) != source.digest.encode():
        _start_over(folder)
        _unpack(source, folder, on_progress)
        write_whole(folder.source_note, source.digest.encode())


def release(folder: BuildFolder) -> str:
    """Return the version that the source's Makefile gives, such as 6.12.117."""
    text = folder.original("Makefile").read_text(encoding="utf-8", errors="replace")
    parts = [
        match[1] if (match := re.search(rf"^{name} =[ \t]*(\S+)$", text, re.M)) else ""
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL", "EXTRAVERSION")
    ]
    return ".".join(part for part in parts[:3] if part) + parts[3]


def _start_over(folder: BuildFolder) -> None:
    folder.source_note.unlink(missing_ok=True)
    for path in folder.root.iterdir():
        if path != folder.lock:
            remove(path)
    free = shutil.disk_usage(folder.root).free
    if free < NEEDED_BYTES:
        raise BuildError(
            f"{folder.root} has {free / 1e9:.1f} GB free; "
            f"a kernel build needs {NEEDED_BYTES / 1e9:.1f} GB",
            remedy="free some, or set XDG_CACHE_HOME to a folder on a larger disk",
        )


def _unpack(source: Source, folder: BuildFolder, on_progress: OnProgress) -> None:
    size = source.path.stat().st_size * _EXPANSION
    counter = Counter("unpack", size, on_progress)
    counter.step(source.path.name, by=0)

    def on_line(line: str) -> None:
        if "checkpoint" in line:
            counter.step(source.path.name, by=_CHECKPOINT_RECORDS * _RECORD_BYTES)

    with scratch(folder.root / "unpacking") as unpacking:
        argv = unpack_argv(source.path, unpacking)
        done = stream(argv, on_line, timeout_s=_UNPACK_TIMEOUT_S)
        if done.status != 0:
            told = [
                line for line in done.output.splitlines() if "checkpoint" not in line
            ]
            raise BuildError(
                f"cannot unpack {source.path}: {' '.join(told) or 'tar was stopped'}",
                remedy="fetch it again (apt-get install --reinstall for a package)",
            )
        top = _top(unpacking)
        if top is None:
            raise SpecError(f"{source.path} holds no kernel source (with arch/um)")
        top.rename(folder.tree)
    counter.finish(source.path.name)


def unpack_argv(tarball: Path, into: Path) -> tuple[str, ...]:
    """Build the tar command that unpacks a tarball of any compression."""
    return (
        *("tar", "--extract", f"--file={tarball}", f"--directory={into}"),
        *("--no-same-owner", f"--checkpoint={_CHECKPOINT_RECORDS}"),
        "--checkpoint-action=echo=checkpoint",
    )


def _top(unpacked: Path) -> Path | None:
    """Find the tree in what was unpacked: itself, or its only folder."""
    candidates = [unpacked, *unpacked.iterdir()]
    return next((path for path in candidates if is_kernel_tree(path)), None)


def _copy_all(source: Source, folder: BuildFolder, on_progress: OnProgress) -> None:
    with scratch(folder.root / "copying") as copying:
        _copy(source, source.files, lambda path: copying / path, on_progress)
        copying.rename(folder.tree)
    _write_listing(folder, source.files)


def _refresh(source: Source, folder: BuildFolder, on_progress: OnProgress) -> None:
    """Copy what changed since the last time, into the pristine files where patched."""
    before = _read_listing(folder)
    changed = [path for path in source.files if before.get(path) != source.files[path]]
    gone = before.keys() - source.files.keys()
    if not changed and not gone:
        return
    forget_configuration_if_changed(folder, {*changed, *gone})
    # Until all is copied, the listing claims nothing about the files in question.
    kept = {path: before[path] for path in before if path not in set(changed)}
    _write_listing(folder, kept)
    for path in sorted(gone):
        remove(folder.original(path))
        remove(folder.tree / path)
    for path in changed:
        if (folder.created / path).is_file():  # a patch made it; now the source has it
            write_whole(folder.pristine / path, b"")
            remove(folder.created / path)
    _copy(source, changed, folder.original, on_progress)
    _write_listing(folder, source.files)


def _copy(
    source: Source,
    paths: Iterable[str],
    place: Callable[[str], Path],
    on_progress: OnProgress,
) -> None:
    wanted = tuple(paths)
    counter = Counter("copy", len(wanted), on_progress)
    for number, path in enumerate(wanted, 1):
        try:
            _copy_file(source.path / path, place(path))
            status = (source.path / path).lstat()
        except FileNotFoundError:
            status = None
        if not status or (status.st_size, status.st_mtime_ns) != source.files[path]:
            raise BuildError(
                f"{source.path / path} changed while it was being copied",
                remedy="run the command again",
            )
        if number % _COPY_REPORT == 0:
            counter.step(path, by=_COPY_REPORT)
    counter.finish(source.path.name)


def _copy_file(source: Path, target: Path) -> None:
    """Copy one file or symbolic link, leaving a target that is the same untouched."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        remove(target)
        target.symlink_to(source.readlink())
        return
    if target.is_symlink():
        target.unlink()
    content = source.read_bytes()
    if read_or_none(target) != content:
        target.write_bytes(content)
    target.chmod(source.stat().st_mode & 0o777 | 0o600)


def _read_listing(folder: BuildFolder) -> dict[str, Stamp]:
    listing: dict[str, Stamp] = {}
    for path, stamp in read_json(folder.listing).items():
        if isinstance(stamp, list):
            listing[path] = (int(stamp[0]), int(stamp[1]))
    return listing


def _write_listing(folder: BuildFolder, files: Mapping[str, Stamp]) -> None:
    text = json.dumps(dict(files))
    write_whole(folder.listing, text.encode())
