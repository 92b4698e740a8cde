"""Files that are whole or absent, and the lock that lets one build run at a time."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

_BLOCK = 512  # what stat(2) counts st_blocks in


def sha256(data: bytes) -> str:
    """Return the SHA-256 of data, in hex."""
    return hashlib.sha256(data).hexdigest()


def write_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that a reader, or a crash, finds the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".testbed-tmp")
    try:
        temporary.write_bytes(data)
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_or_none(path: Path) -> bytes | None:
    """Return what the file holds; None when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_json(path: Path) -> dict[str, object]:
    """Return the object a file of ours holds; an empty one when absent or damaged."""
    try:
        value = json.loads(read_or_none(path) or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def remove(path: Path) -> None:
    """Remove a folder with all it holds, or a file, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Give an empty folder of that name; nothing is left of it afterwards.

    A fixed name, used under a lock: what a killed process left there goes first.
    """
    remove(path)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        remove(path)


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file; on_wait is called, with whose it is, if that takes a wait.

    The kernel drops the lock when its holder dies, so a wait ends with the holder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        if not _take(file.fileno()):
            file.seek(0)
            on_wait(f"another testbed, process {file.read().strip() or 'unknown'}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


@contextlib.contextmanager
def free_to_change(path: Path) -> Iterator[bool]:
    """Hold the lock file if nobody else does, and tell whether that is so."""
    with path.open("a+", encoding="utf-8") as file:
        yield _take(file.fileno())


@contextlib.contextmanager
def shared(path: Path) -> Iterator[None]:
    """Keep a lock file from being held, together with others who do.

    Raises FileNotFoundError when what it locks is gone.
    """
    with path.open("r", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        if path.stat().st_ino != os.fstat(file.fileno()).st_ino:
            raise FileNotFoundError(path)
        yield


def disk_bytes(root: Path) -> int:
    """Return what a folder takes of the disk, with all below it; what vanishes is 0."""
    total = 0
    folders = [root]
    while folders:
        with contextlib.suppress(FileNotFoundError), os.scandir(folders.pop()) as found:
            for entry in found:
                total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
    return total


def _take(descriptor: int) -> bool:
    """Take the lock if it is free, and tell whether it was."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
