"""A kernel by the name a user gives: registered, built before, or one plus patches.

`6.12+my.patch` is the kernel 6.12 with that file's patches on top, built on the way; so
is `mine+a.patch+b.mbox` for a kernel that `kernel build --name mine` built.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from testbed.errors import BuildError, SpecError, Unavailable
from testbed.kernels import cache
from testbed.kernels.build import ensure
from testbed.kernels.distribution import distribution_kernel
from testbed.kernels.progress import Progress
from testbed.kernels.registry import load_kernels
from testbed.kernels.running import running_kernel
from testbed.kernels.sources import find_source
from testbed.spec.kernel import HOST_KERNEL, Arch, BuiltKernel, Kernel, is_image


def resolve(
    name: str, on_progress: Callable[[Progress], None], arch: Arch = Arch.UM
) -> BuiltKernel:
    """Return the kernel of that name, built now if it is registered, or has patches.

    Where a registered kernel's package is not there, the newest kernel built under its
    name serves (`kernel build 6.12 --source ...`). "host" is the one that runs this
    program; a path is a bzImage as it is. Raises SpecError for an unknown name, and
    what ensure() raises.
    """
    if name == HOST_KERNEL:
        return running_kernel()
    if is_image(name):
        return distribution_kernel(Path(name))
    registered = load_kernels(arch)
    built = cache.newest(name, arch)
    if name not in registered:
        if built is None or patched(name):
            return ensure(find_recipe(name, arch), on_progress)
        cache.mark_used(built.built)
        return built.built
    try:
        return ensure(registered[name], on_progress)
    except BuildError:
        raise
    except Unavailable:
        if built is None:
            raise
        cache.mark_used(built.built)
        return built.built


def find_recipe(name: str, arch: Arch = Arch.UM) -> Kernel:
    """Return what the kernel of that name is to be built of.

    Raises SpecError, listing the known names, or naming the patch that is no file.
    """
    base, plus, rest = name.partition("+")
    known = _known(base, arch)
    if plus and known and patched(name):
        files = split_patches(rest)
        configs = [path for path in files if path.suffix == ".config"]
        return with_files(
            known, [each for each in files if each not in configs], configs
        )
    if found := _known(name, arch):
        return found
    if plus and known:
        split_patches(rest)  # which says the file that is not there
    mine = {each.name for each in cache.entries() if each.arch is arch}
    registered = load_kernels(arch)
    names = ", ".join([*registered, *sorted(mine - set(registered))])
    raise SpecError(f"there is no kernel {base!r}; known: {names}")


def with_files(
    kernel: Kernel, patches: Sequence[Path], configs: Sequence[Path] = ()
) -> Kernel:
    """Return a kernel with patches and config fragments on top, named after them."""
    return replace(
        kernel,
        name="+".join((kernel.name, *(path.name for path in (*patches, *configs)))),
        user_patches=(*kernel.user_patches, *patches),
        configs=(*kernel.configs, *configs),
    )


def without(kernel: Kernel, names: Sequence[str]) -> Kernel:
    """Return a kernel that lacks some of testbed's own patches, by their file names.

    Raises SpecError, listing those it has, for one it does not have.
    """
    had = {path.name for path in kernel.patches}
    for name in names:
        if name not in had:
            known = ", ".join(path.name for path in kernel.patches)
            raise SpecError(f"--without {name}: the kernel has {known}")
    kept = tuple(path for path in kernel.patches if path.name not in names)
    return replace(kernel, patches=kept)


def split_patches(text: str) -> tuple[Path, ...]:
    """Return the files that "a.patch+b.patch" names; a + may be in a file's own name.

    Raises SpecError for the first that is no file.
    """
    words = text.split("+")
    paths = []
    while words:
        joined = ["+".join(words[:end]) for end in range(1, len(words) + 1)]
        found = [Path(each).expanduser().is_file() for each in joined]
        if not any(found):
            raise SpecError(
                f"{words[0]!r} is no patch file; write KERNEL+FILE, with the path of "
                "a diff, a mailbox or a .config fragment"
            )
        end = found.index(True)
        paths.append(Path(joined[end]).expanduser())
        words = words[end + 1 :]
    return tuple(paths)


def patched(name: str) -> bool:
    """Tell whether a name is KERNEL+PATCH with a patch that is there now.

    Then the file counts, not what was built of it earlier.
    """
    try:
        return bool(split_patches(name.partition("+")[2]))
    except SpecError:
        return False


def _known(name: str, arch: Arch) -> Kernel | None:
    """Return a kernel as registered, or as built before if that is the only way."""
    entry = cache.newest(name, arch)
    recipe = entry.recipe if entry else None
    registered = load_kernels(arch).get(name)
    if registered is None or recipe is None:
        return registered or recipe
    try:
        find_source(registered)
    except Unavailable:
        return recipe
    return registered
