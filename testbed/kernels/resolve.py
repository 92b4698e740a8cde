"""A kernel by the name a user gives: a registered one, or one they built themselves."""

from collections.abc import Callable

from testbed.errors import BuildError, SpecError, Unavailable
from testbed.kernels.build import ensure
from testbed.kernels.cache import list_built
from testbed.kernels.progress import Progress
from testbed.kernels.registry import load_kernels
from testbed.kernels.running import running_kernel
from testbed.spec.kernel import HOST_KERNEL, BuiltKernel


def resolve(name: str, on_progress: Callable[[Progress], None]) -> BuiltKernel:
    """Return the kernel of that name, built now if it is a registered one.

    Where a registered kernel's package is not there, the newest kernel built under its
    name serves (`kernel build 6.12 --source ...`). "host" is the one that runs this
    program. Raises SpecError for an unknown
    name, and what ensure() raises.
    """
    if name == HOST_KERNEL:
        return running_kernel()
    registered = load_kernels()
    built = _newest(name)
    if name not in registered:
        if built is None:
            mine = {each.identity.name for each in list_built()} - set(registered)
            known = ", ".join([*registered, *sorted(mine)])
            raise SpecError(f"there is no kernel {name!r}; known: {known}")
        return built
    try:
        return ensure(registered[name], on_progress)
    except BuildError:
        raise
    except Unavailable:
        if built is None:
            raise
        return built


def _newest(name: str) -> BuiltKernel | None:
    named = [each for each in list_built() if each.identity.name == name]
    return max(named, key=lambda each: each.image.stat().st_mtime_ns, default=None)
