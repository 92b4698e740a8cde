"""Built kernels, kept by what they were built from.

<cache>/kernels/<key>/ holds `linux` (the executable) or `bzImage`, `kernel.json` (its
identity and recipe), `config`, `recipe/` (the patches and fragments it was made of) and
`used`, whose time is when it last was; it appears whole or not at all. Nothing here
builds.
"""

import contextlib
import dataclasses
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import SpecError, Unavailable
from testbed.files import (
    disk_bytes,
    free_to_change,
    locked,
    read_json,
    scratch,
    shared,
)
from testbed.spec.codec import decode, encode
from testbed.spec.kernel import Arch, BuiltKernel, Kernel, KernelIdentity
from testbed.user import cache_dir

FORMAT_VERSION = 1
_IMAGES = {Arch.UM: "linux", Arch.X86_64: "bzImage"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A kernel in the cache. size: bytes of disk.  used_ns: when, since the epoch.

    recipe: what built it, with the copies of its patches and fragments; None for one
    of before recipes were kept.
    """

    built: BuiltKernel
    folder: Path
    used_ns: int
    recipe: Kernel | None

    @property
    def name(self) -> str:
        """What `run --kernel` calls it."""
        return self.built.identity.name

    @property
    def arch(self) -> Arch:
        """What it was built for."""
        return Arch(self.built.identity.arch)

    @property
    def size(self) -> int:
        """How many bytes of disk it takes."""
        return disk_bytes(self.folder)


def find(key: str) -> BuiltKernel | None:
    """Return the kernel kept under that key; None when there is no whole one."""
    entry = _read(kernels_dir() / key)
    return entry.built if entry else None


def entries() -> tuple[Entry, ...]:
    """Return every kernel in the cache, by name, then by key."""
    if not kernels_dir().is_dir():
        return ()
    found = [_read(folder) for folder in sorted(kernels_dir().glob("[!.]*"))]
    whole = [entry for entry in found if entry is not None]
    return tuple(sorted(whole, key=lambda entry: entry.name))


def newest(name: str, arch: Arch = Arch.UM) -> Entry | None:
    """Return the kernel of that name that was built last."""
    named = [each for each in entries() if (each.name, each.arch) == (name, arch)]
    return max(
        named, key=lambda each: each.built.image.stat().st_mtime_ns, default=None
    )


def list_built() -> tuple[BuiltKernel, ...]:
    """Return every kernel in the cache, by name, then by key."""
    return tuple(entry.built for entry in entries())


def install(
    key: str, *, image: Path, config: Path, identity: KernelIdentity, recipe: Kernel
) -> BuiltKernel:
    """Copy a built image into the cache under that key, and return it from there.

    recipe: what it was built from; its patches and fragments are copied too.
    """
    entry = kernels_dir() / key
    name = _IMAGES[recipe.arch]
    with (
        locked(kernels_dir() / ".lock", lambda _holder: None),
        scratch(kernels_dir() / ".incoming") as incoming,
    ):
        shutil.copyfile(image, incoming / name)
        (incoming / name).chmod(0o755)
        shutil.copyfile(config, incoming / "config")
        about = {
            "format": FORMAT_VERSION,
            "identity": encode(identity),
            "recipe": encode(_kept(recipe, incoming)),
        }
        (incoming / "kernel.json").write_text(json.dumps(about, indent=2) + "\n")
        (incoming / "used").touch()
        _reach_the_disk(incoming / name)
        if entry.exists():  # damaged, or find() would have answered with it
            shutil.rmtree(entry)
        incoming.rename(entry)
    return BuiltKernel(image=entry / name, identity=identity)


@contextlib.contextmanager
def using(kernels: Iterable[BuiltKernel]) -> Iterator[None]:
    """Keep kernels from being removed while the block lasts.

    Those that are not in the cache (a host's own, a distribution's) are not touched.
    Raises Unavailable when one has been removed already.
    """
    with contextlib.ExitStack() as held:
        for kernel in kernels:
            if kernels_dir() not in kernel.image.parents:
                continue
            note = kernel.image.parent / "used"
            try:
                mark_used(kernel)
                held.enter_context(shared(note))
            except FileNotFoundError as error:
                raise Unavailable(
                    f"the kernel {kernel.identity.name} was removed from the cache",
                    remedy="run the command again; it builds the kernel first",
                ) from error
        yield


def mark_used(kernel: BuiltKernel) -> None:
    """Note that the kernel is used now."""
    (kernel.image.parent / "used").touch()


def remove(folder: Path) -> bool:
    """Remove a kernel's folder unless a run is using it; tell whether it went."""
    with free_to_change(folder / "used") as free:
        if not free:
            return False
        going = folder.with_name(f".going-{folder.name}")
        shutil.rmtree(going, ignore_errors=True)  # of a removal that was cut off
        folder.rename(going)  # so that nobody finds half of it
        shutil.rmtree(going)
    return True


def kernels_dir() -> Path:
    """Return the folder that the kernels are in; it need not exist yet."""
    return cache_dir() / "kernels"


def _kept(recipe: Kernel, incoming: Path) -> Kernel:
    """Copy the files of a recipe into an entry; return the recipe with their places."""
    count = 0

    def keep(paths: Iterable[Path]) -> tuple[Path, ...]:
        nonlocal count
        kept = []
        for path in paths:
            count += 1  # two files may have one name
            place = Path("recipe") / str(count) / path.name
            (incoming / place).parent.mkdir(parents=True)
            shutil.copyfile(path, incoming / place)
            kept.append(place)
        return tuple(kept)

    return dataclasses.replace(
        recipe,
        source=recipe.source and recipe.source.expanduser().resolve(),
        patches=keep(recipe.patches),
        user_patches=keep(recipe.user_patches),
        configs=keep(recipe.configs),
    )


def _read(folder: Path) -> Entry | None:
    about = read_json(folder / "kernel.json")
    if about.get("format") != FORMAT_VERSION:
        return None
    try:
        identity = decode(KernelIdentity, about.get("identity"))
        image = folder / _IMAGES[Arch(identity.arch)]
        recipe = _recipe(folder, about)
    except (SpecError, ValueError):
        return None
    if not os.access(image, os.X_OK):
        return None
    note = folder / "used"
    used = note if note.exists() else folder / "kernel.json"
    built = BuiltKernel(image=image, identity=identity)
    return Entry(
        built=built, folder=folder, used_ns=used.stat().st_mtime_ns, recipe=recipe
    )


def _recipe(folder: Path, about: dict[str, object]) -> Kernel | None:
    if "recipe" not in about:
        return None
    kept = decode(Kernel, about["recipe"])
    return dataclasses.replace(
        kept,
        patches=tuple(folder / path for path in kept.patches),
        user_patches=tuple(folder / path for path in kept.user_patches),
        configs=tuple(folder / path for path in kept.configs),
    )


def _reach_the_disk(path: Path) -> None:
    """Flush a file, so that after a power cut the name does not outlive the bytes."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
