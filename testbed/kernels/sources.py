"""Where a kernel's source is, and which source it is: apt's, a tarball, or a tree.

The identity is cheap, as it is worked out for every run: a package's version, a
tarball's hash (remembered), the names, sizes and times of a tree's files.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.errors import CommandError, SpecError, Unavailable
from testbed.files import read_json, sha256, write_whole
from testbed.process import run
from testbed.spec.kernel import Kernel
from testbed.user import cache_dir

APT_SOURCES = Path("/usr/src")
_TIMEOUT_S = 30.0

#: What a build leaves in a tree without a .cmd file beside it.
_LEFT_BEHIND = (".o", ".a", ".ko", ".mod", ".order", ".symvers", ".orig", ".rej")
_GENERATED = re.compile(r"include/(generated|config)|arch/\w+/include/generated")

#: The names with a dot in front that a kernel's source has (its own .gitignore's list).
_DOT_SOURCES = (
    *(".clang-format", ".clippy.toml", ".cocciconfig", ".editorconfig", ".kunitconfig"),
    *(".gitattributes", ".gitignore", ".get_maintainer.ignore", ".mailmap"),
    *(".rustfmt.toml", ".yamllint"),
)

_GIT_ENV = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}

Stamp = tuple[int, int]  # size, mtime_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A kernel's source.

    label: what it is, for people.  digest: what it is, for comparing.  slug: a folder
    name of its own.  files: of a tree, what is to be copied.  commit: what git calls
    the state of a tree, "" where it has none.
    """

    path: Path
    label: str
    digest: str
    slug: str
    files: Mapping[str, Stamp] = field(default_factory=dict)
    commit: str = ""


def find_source(kernel: Kernel, apt_sources: Path = APT_SOURCES) -> Source:
    """Return the source to build the kernel from.

    Raises Unavailable when apt's is not installed, SpecError when the user's is none.
    """
    if kernel.source is not None:
        return _user_source(kernel.source)
    if kernel.package is None:
        raise SpecError(f"kernel {kernel.name} names no package and no source")
    path = apt_sources / f"{kernel.package}.tar.xz"
    if not path.is_file():
        raise Unavailable(
            f"the source of kernel {kernel.name}, {path}, is not installed",
            remedy=f"apt-get install {kernel.package}, or where apt does not have it "
            "give a tree or a tarball: kernel build --source",
        )
    version = _package_version(kernel.package)
    label = f"{kernel.package} {version or _tarball_sha256(path)}"
    return Source(path=path, label=label, digest=label, slug=kernel.package)


def _user_source(given: Path) -> Source:
    path = given.expanduser().resolve()
    if not path.exists():
        raise SpecError(f"there is no kernel tree or tarball {given}")
    slug = f"{path.name}-{sha256(os.fsencode(path))[:12]}"
    if path.is_file():
        digest = _tarball_sha256(path)
        label = f"{path} sha256 {digest[:12]}"
        return Source(path=path, label=label, digest=digest, slug=slug)
    if not is_kernel_tree(path):
        raise SpecError(
            f"{given} is neither a kernel tree (with arch/um) nor a tarball"
        )
    files = dict(sorted(list_tree(path)))
    digest = sha256(json.dumps(files).encode(errors="surrogateescape"))
    commit = _git_describe(path)
    label = f"{path}{commit and f' git {commit}'} files {digest[:12]}"
    return Source(
        path=path, label=label, digest=digest, slug=slug, files=files, commit=commit
    )


def linux_version(source: Path) -> tuple[int, int] | None:
    """Return the version of a tree, or the one that a tarball's name tells, if any."""
    makefile = source.expanduser() / "Makefile"
    if makefile.is_file():
        text = makefile.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^VERSION = (\d+)\nPATCHLEVEL = (\d+)$", text, re.M)
    else:
        found = re.search(r"(?:^|\D)(\d+)\.(\d+)", source.name)
    return (int(found[1]), int(found[2])) if found else None


def is_kernel_tree(path: Path) -> bool:
    """Tell whether the folder holds a Linux source with User-Mode Linux in it."""
    return (path / "Kbuild").is_file() and (path / "arch" / "um" / "Kconfig").is_file()


def list_tree(root: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the path and stamp of each source file of a tree, and nothing built in it.

    kbuild writes a .NAME.cmd file beside each NAME it makes; a folder that holds a
    .config was built into (O=); other names with a dot in front are notes and git's.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as found:
            entries = {entry.name: entry for entry in found}
        if folder and ".config" in entries:
            continue
        for name, entry in entries.items():
            path = f"{folder}/{name}" if folder else name
            dotted = name.startswith(".") and name not in _DOT_SOURCES
            if dotted or f".{name}.cmd" in entries:
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _GENERATED.fullmatch(path):
                    folders.append(path)
            elif not name.endswith(_LEFT_BEHIND):
                status = entry.stat(follow_symlinks=False)
                yield path, (status.st_size, status.st_mtime_ns)


def _package_version(package: str) -> str:
    """Return the version dpkg has of an installed package, or "" when it has none."""
    argv = (
        "dpkg-query",
        "--show",
        "--showformat=${db:Status-Status} ${Version}",
        package,
    )
    try:
        status, _, version = run(argv, timeout_s=_TIMEOUT_S).strip().partition(" ")
    except (CommandError, Unavailable):
        return ""
    return version if status == "installed" else ""


def _git_describe(tree: Path) -> str:
    """Return what git calls the commit of a tree, "-dirty" if it was changed, or ""."""
    if not (tree / ".git").exists():
        return ""
    describe = ("describe", "--always", "--tags", "--abbrev=12")
    # Not describe's own --dirty: it would write into the user's index.
    status = ("status", "--porcelain", "--untracked-files=no")
    try:
        commit, changed = (
            run(("git", "-C", str(tree), *each), timeout_s=_TIMEOUT_S, env=_GIT_ENV)
            for each in (describe, status)
        )
    except (CommandError, Unavailable):
        return ""
    return commit.strip() + ("-dirty" if changed.strip() else "")


def _tarball_sha256(path: Path) -> str:
    """Return the file's SHA-256, remembered for as long as size and time stay."""
    status = path.stat()
    known = f"{path} {status.st_size} {status.st_mtime_ns}"
    memory = cache_dir() / "sha256.json"
    remembered = read_json(memory)
    digest = remembered.get(known)
    if not isinstance(digest, str):
        digest = sha256(path.read_bytes())
        with contextlib.suppress(OSError):  # it only saves time
            write_whole(memory, json.dumps({**remembered, known: digest}).encode())
    return digest
