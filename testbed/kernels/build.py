"""From a Kernel to a BuiltKernel: out of the cache, or by way of patch and make."""

import contextlib
import dataclasses
import errno
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BuildError, SpecError, Unavailable
from testbed.files import locked, sha256
from testbed.kernels import cache, patching, trees
from testbed.kernels.elf import build_id
from testbed.kernels.folder import BuildFolder
from testbed.kernels.kconfig import parse_config
from testbed.kernels.limit import VARIABLE, Item, builds_dir, limit_bytes, make_room
from testbed.kernels.make import compile_kernel, configure, kernel_release
from testbed.kernels.patches import Patch, read_patches
from testbed.kernels.progress import Phase, Progress
from testbed.kernels.sources import Source, find_source
from testbed.kernels.tools import compiler_version, require_plain_path, require_tools
from testbed.spec.kernel import Arch, BuiltKernel, Kernel, KernelIdentity
from testbed.user import cache_dir

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that a kernel is made of. options: what the merged fragments ask for."""

    kernel: Kernel
    source: Source
    patches: tuple[Patch, ...]
    user_patches: tuple[Patch, ...]
    options: dict[str, str]
    compiler: str

    @property
    def all_patches(self) -> tuple[Patch, ...]:
        """Testbed's own, then the user's."""
        return self.patches + self.user_patches

    @property
    def key(self) -> str:
        """Name the result by its ingredients: the same ones, the same kernel."""
        ingredients = (
            f"format {cache.FORMAT_VERSION}",
            f"name {self.kernel.name}",
            f"source {self.source.digest}",
            *(f"patch {sha256(each.data)}" for each in self.all_patches),
            *(f"option {name}={value}" for name, value in sorted(self.options.items())),
            f"compiler {self.compiler}",
            *_other_arch(self.kernel.arch),
        )
        return sha256("\n".join(ingredients).encode())


def _other_arch(arch: Arch) -> tuple[str, ...]:
    """Return an ingredient for any but the first there was, whose keys stay."""
    return () if arch is Arch.UM else (f"arch {arch.value}",)


def cached(kernel: Kernel) -> BuiltKernel | None:
    """Return the kernel if it is built already; None when not, or when unknowable.

    Raises SpecError when a source, patch or fragment of the kernel is wrong.
    """
    try:
        return _find(gather(kernel))
    except Unavailable:
        return None


def ensure(
    kernel: Kernel, on_progress: Callable[[Progress], None], limit: int | None = None
) -> BuiltKernel:
    """Return the kernel, built now if it is not in the cache.

    limit: bytes that the cache may grow to by that; None: as limit_bytes() says.
    Raises SpecError for what the user gave, Unavailable for what this host lacks,
    BuildError when a patch, an option or the compiler fails.
    """
    limit = limit_bytes() if limit is None else limit
    with _full_disk_named():
        recipe = gather(kernel)
        if found := _find(recipe):
            cache.mark_used(found)
            return found
        require_tools(kernel.arch)
        folder = BuildFolder(root=builds_dir() / recipe.source.slug, arch=kernel.arch)
        require_plain_path(folder.root)

        def on_wait(holder: str) -> None:
            _report(on_progress, "wait", f"{holder}, builds from this source")

        with locked(folder.lock, on_wait):
            built = _find(recipe) or _build(recipe, folder, on_progress)
            _keep_below(limit, (folder.root, built.image.parent), on_progress)
            return built


def gather(kernel: Kernel) -> Recipe:
    """Read everything the kernel is made of, and build nothing."""
    options: dict[str, str] = {}
    for path in kernel.configs:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(
                f"cannot read the config fragment {path}: {error}"
            ) from error
        options |= parse_config(text, str(path))
    return Recipe(
        kernel=kernel,
        source=find_source(kernel),
        patches=_read(kernel.patches),
        user_patches=_read(kernel.user_patches),
        options=options,
        compiler=compiler_version(),
    )


def _read(paths: Iterable[Path]) -> tuple[Patch, ...]:
    return tuple(each for path in paths for each in read_patches(path))


def _build(
    recipe: Recipe, folder: BuildFolder, on_progress: Callable[[Progress], None]
) -> BuiltKernel:
    trees.bring(recipe.source, folder, on_progress)
    folder.used_note.touch()
    _report(on_progress, "patch", f"{len(recipe.all_patches)} patches")
    against = f"Linux {trees.release(folder)} ({recipe.source.label})"
    patching.sync(folder, recipe.patches, recipe.user_patches, against)
    _report(on_progress, "configure", f"{len(recipe.options)} options")
    configure(folder, recipe.options, recipe.compiler)
    made = compile_kernel(folder, recipe.kernel.compile_steps, on_progress)
    _report(on_progress, "install", recipe.key)
    config = folder.out / ".config"
    identity = KernelIdentity(
        name=recipe.kernel.name,
        release=kernel_release(folder),
        build_id=build_id(made.elf),
        config_sha256=sha256(config.read_bytes()),
        patches=_patch_names(recipe),
        source=recipe.source.label,
        compiler=recipe.compiler,
        commit=recipe.source.commit,
        arch=recipe.kernel.arch.value,
    )
    return cache.install(
        recipe.key,
        image=made.image,
        config=config,
        identity=identity,
        recipe=recipe.kernel,
    )


def _keep_below(
    limit: int, keep: Collection[Path], on_progress: Callable[[Progress], None]
) -> None:
    """Have the cache keep to its limit, and tell what that took."""

    def on_removed(item: Item) -> None:
        _report(
            on_progress,
            "remove",
            f"{item.kind} {item.name}, used least recently: the cache has a limit of "
            f"{limit / (1 << 30):.3g} GB ({VARIABLE}, --cache-limit)",
        )

    left = make_room(limit, keep, on_removed)
    if left > limit:
        _report(
            on_progress,
            "remove",
            f"nothing more can go; the cache has {left / (1 << 30):.3g} GB, above its "
            f"limit of {limit / (1 << 30):.3g} GB",
        )


def _find(recipe: Recipe) -> BuiltKernel | None:
    """Look in the cache; patches that were called otherwise are told by these names."""
    found = cache.find(recipe.key)
    if found is None:
        return None
    identity = dataclasses.replace(found.identity, patches=_patch_names(recipe))
    return dataclasses.replace(found, identity=identity)


def _patch_names(recipe: Recipe) -> tuple[str, ...]:
    return tuple(
        f"{patch.name} {sha256(patch.data)[:12]}" for patch in recipe.all_patches
    )


def _report(on_progress: Callable[[Progress], None], phase: Phase, detail: str) -> None:
    on_progress(Progress(phase=phase, done=0, total=1, detail=detail))


@contextlib.contextmanager
def _full_disk_named() -> Iterator[None]:
    """Turn a full disk, and an unwritable cache, into one plain error each."""
    place = cache_dir()
    remedy = "free some space, or set XDG_CACHE_HOME to a folder elsewhere"
    try:
        yield
    except BuildError as error:
        if any(text in error.what for text in _FULL_TEXTS):
            raise BuildError(f"the disk of {place} is full", remedy=remedy) from error
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise BuildError(f"the disk of {place} is full", remedy=remedy) from error
        raise BuildError(f"cannot work in {place}: {error}", remedy=remedy) from error
