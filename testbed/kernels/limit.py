"""How large the cache may grow, and what goes first when it does.

Counted are the built kernels (some MB each) and the build folders, one a source, which
are two GB and only save time. What was used least recently goes first, whichever of the
two it is; never what a run or a build is using.
"""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import PlacedError, SpecError, Unavailable
from testbed.files import (
    disk_bytes,
    free_to_change,
    read_or_none,
    remove,
    write_whole,
)
from testbed.kernels import cache
from testbed.kernels.folder import BuildFolder
from testbed.units import parse_size
from testbed.user import cache_dir

#: Ten sources.
DEFAULT_BYTES = 20 << 30
VARIABLE = "TESTBED_CACHE_LIMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something in the cache.

    kind: "kernel" or "build folder".  size: bytes of disk.  used_ns: since the epoch.
    """

    kind: str
    name: str
    path: Path
    size: int
    used_ns: int


def limit_bytes(given: str | None = None) -> int:
    """Return the limit: as given, else as the environment says, else the default.

    Raises SpecError when either is no size.
    """
    text = given or os.environ.get(VARIABLE)
    if not text:
        return DEFAULT_BYTES
    try:
        return parse_size(text)
    except SpecError as error:
        where = "--cache-limit" if given else VARIABLE
        raise PlacedError(f"{where}: {error}") from error


def items() -> tuple[Item, ...]:
    """Return all that the limit counts, what was used least recently first."""
    kernels = [
        Item(
            kind="kernel",
            name=each.name,
            path=each.folder,
            size=each.size,
            used_ns=each.used_ns,
        )
        for each in cache.entries()
    ]
    folders = [
        Item(
            kind="build folder",
            name=root.name,
            path=root,
            size=_folder_bytes(root),
            used_ns=_used_ns(root),
        )
        for root in sorted(builds_dir().glob("*"))
        if (root / "tree").is_dir()
    ]
    return tuple(sorted((*kernels, *folders), key=lambda item: item.used_ns))


def make_room(
    limit: int, keep: Collection[Path], on_removed: Callable[[Item], None]
) -> int:
    """Remove items until no more than limit bytes are left; return how many are.

    keep: paths that stay.  What is in use stays too, so more may be left.
    """
    found = items()
    total = sum(item.size for item in found)
    for item in found:
        if total <= limit:
            break
        if item.path not in keep and remove_item(item):
            total -= item.size
            on_removed(item)
    return total


def remove_item(item: Item) -> bool:
    """Remove one item unless it is in use; tell whether it went."""
    if item.kind == "kernel":
        return cache.remove(item.path)
    lock = item.path / "lock"
    with free_to_change(lock) as free:
        if free:
            for path in item.path.iterdir():
                if path != lock:  # whoever waits for it holds this very file
                    remove(path)
    return free


def remove_named(name: str) -> tuple[Item, ...]:
    """Remove every kernel, or the build folder, of that name; return them.

    Raises SpecError when there is none, Unavailable when one is in use.
    """
    found = [item for item in items() if item.name == name]
    if not found:
        known = ", ".join(dict.fromkeys(item.name for item in items())) or "nothing"
        raise SpecError(f"there is no {name!r} in the cache; there is: {known}")
    for item in found:
        if not remove_item(item):
            raise Unavailable(
                f"the {item.kind} {name} is in use",
                remedy="wait for the run or the build that uses it, or end that",
            )
    return tuple(found)


def builds_dir() -> Path:
    """Return the folder that the build folders are in; it need not exist yet."""
    return cache_dir() / "build"


def _folder_bytes(root: Path) -> int:
    """Return what a build folder takes, measured again only after a whole build.

    There are 90,000 files in it, and what one rebuild changes is not worth the time.
    """
    note = BuildFolder(root=root).size_note
    known = read_or_none(note)
    if known is None:
        known = str(disk_bytes(root)).encode()
        write_whole(note, known)
    return int(known)


def _used_ns(root: Path) -> int:
    note = BuildFolder(root=root).used_note
    return (note if note.exists() else root).stat().st_mtime_ns
