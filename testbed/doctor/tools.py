"""What builds kernels, and what guests and labs start: found, and asked what it is."""

import platform
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from testbed.doctor.finding import Finding, have, lack
from testbed.errors import TestbedError, Unavailable
from testbed.kernels.registry import load_kernels
from testbed.kernels.sources import find_source
from testbed.kernels.tools import compiler_version, require_tools
from testbed.machine.machine import LAB_PATH
from testbed.machine.qemu import PROGRAM
from testbed.machine.uml import PACKAGES
from testbed.process import stream
from testbed.spec.drivers import DRIVERS
from testbed.spec.kernel import Kernel
from testbed.user import cache_dir

_TIMEOUT_S = 20.0
_GB = 1 << 30
#: A source unpacked and built takes 2 GB.
_BUILD_BYTES = 3 * _GB
#: Programs that take something else than --version, or would not end.
_ASK: Mapping[str, tuple[str, ...]] = {
    "ip": ("-V",),
    "tc": ("-V",),
    "netperf": ("-V",),
    "netserver": ("-V",),
}
_LIBRARIES = ("mininet", "numba", "numpy", "scapy")
_VERSION = re.compile(r"(?<![\w.])\d+(?:\.\w+)+")


def try_compiler() -> tuple[Finding, ...]:
    """Find what builds a kernel, with a gcc that links statically."""

    def look() -> str:
        require_tools()
        return compiler_version()

    return (_look("compiler", look),)


def try_sources() -> tuple[Finding, ...]:
    """Find the source of each registered kernel."""

    def label(kernel: Kernel) -> str:
        return find_source(kernel).label

    kernels = load_kernels().items()
    return tuple(_look(f"source of {name}", partial(label, it)) for name, it in kernels)


def _look(name: str, look: Callable[[], str]) -> Finding:
    try:
        return have(name, look())
    except Unavailable as error:
        return lack(name, error.what, error.remedy)
    except TestbedError as error:
        return lack(name, str(error), "make setup")


def try_disk(place: Path | None = None) -> tuple[Finding, ...]:
    """Find room for a kernel's build where the cache is, or would be."""
    place = place or cache_dir()
    there = next(each for each in (place, *place.parents) if each.is_dir())
    free = shutil.disk_usage(there).free
    told = f"{free / _GB:.1f} GB free in {there}"
    if free >= _BUILD_BYTES:
        return (have("disk", told),)
    fix = f"a build takes {_BUILD_BYTES // _GB}: kernel remove NAME, or XDG_CACHE_HOME"
    return (lack("disk", told, fix),)


def try_tools() -> tuple[Finding, ...]:
    """Find each program that guests and labs start, and libraries, with versions."""
    programs = {PROGRAM: "qemu-system-x86", **PACKAGES}
    for each in DRIVERS.values():
        programs |= each
    return (
        *(_program(*each) for each in sorted(programs.items())),
        have("python", f"{platform.python_version()} ({sys.executable})"),
        *(_library(name) for name in _LIBRARIES),
    )


def _program(name: str, package: str) -> Finding:
    where = shutil.which(name, path=LAB_PATH)
    if where is None:
        return lack(name, "not there", f"apt-get install {package}")
    said = ""
    argv = (where, *_ASK.get(name, ("--version",)))
    with suppress(TestbedError):
        said = stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S).output
    return have(name, version_in(said) or f"{where}, which tells no version")


def version_in(said: str) -> str:
    """Return the first word of a program's answer that looks like a version, or ""."""
    found = _VERSION.search(said)
    return found[0] if found else ""


def _library(name: str) -> Finding:
    try:
        return have(name, version(name))
    except PackageNotFoundError:
        return lack(name, "not installed", "make setup")
