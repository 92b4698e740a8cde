"""Built kernels, kept by what they were built from.

<cache>/kernels/<key>/ holds `linux` (the executable), `kernel.json` (its identity) and
`config`; it appears whole or not at all. Nothing here builds.
"""

import dataclasses
import json
import os
import shutil
from pathlib import Path

from testbed.files import locked, read_json, scratch
from testbed.spec.kernel import BuiltKernel, KernelIdentity
from testbed.user import cache_dir

FORMAT_VERSION = 1


def find(key: str) -> BuiltKernel | None:
    """Return the kernel kept under that key; None when there is no whole one."""
    return _read(_kernels() / key)


def list_built() -> tuple[BuiltKernel, ...]:
    """Return every kernel in the cache, by name, then by key."""
    if not _kernels().is_dir():
        return ()
    entries = sorted(_kernels().glob("[!.]*"))
    found = [_read(entry) for entry in entries]
    built = [kernel for kernel in found if kernel is not None]
    return tuple(sorted(built, key=lambda kernel: kernel.identity.name))


def install(
    key: str, *, image: Path, config: Path, identity: KernelIdentity
) -> BuiltKernel:
    """Move a built image into the cache under that key, and return it from there."""
    entry = _kernels() / key
    with (
        locked(_kernels() / ".lock", lambda _holder: None),
        scratch(_kernels() / ".incoming") as incoming,
    ):
        shutil.copyfile(image, incoming / "linux")
        (incoming / "linux").chmod(0o755)
        shutil.copyfile(config, incoming / "config")
        about = {"format": FORMAT_VERSION, "identity": dataclasses.asdict(identity)}
        (incoming / "kernel.json").write_text(json.dumps(about, indent=2) + "\n")
        _reach_the_disk(incoming / "linux")
        if entry.exists():  # damaged, or find() would have answered with it
            shutil.rmtree(entry)
        incoming.rename(entry)
    return BuiltKernel(image=entry / "linux", identity=identity)


def _kernels() -> Path:
    return cache_dir() / "kernels"


def _read(entry: Path) -> BuiltKernel | None:
    image = entry / "linux"
    about = read_json(entry / "kernel.json")
    fields = about.get("identity")
    if about.get("format") != FORMAT_VERSION or not isinstance(fields, dict):
        return None
    names = {field.name for field in dataclasses.fields(KernelIdentity)}
    if set(fields) != names or not os.access(image, os.X_OK):
        return None
    patches = tuple(str(patch) for patch in fields.pop("patches"))
    return BuiltKernel(image=image, identity=KernelIdentity(**fields, patches=patches))


def _reach_the_disk(path: Path) -> None:
    """Flush a file, so that after a power cut the name does not outlive the bytes."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
