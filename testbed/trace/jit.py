"""The decorators of this package's kernels: compiled ahead of time, or by numba.

Kernels are written so that they run as plain Python too (NUMBA_DISABLE_JIT=1). They
hold whole numbers in int64 and nothing else, for numba makes a float of an unsigned
number and a signed one. Numba checks no index: a kernel checks every one that a capture
has a say in.

`make setup` has numba compile all of them into a library (see ahead.py), whose entries
are what Python calls; numba, which takes as long to import as a million packets to
read, is then not imported. Without that library numba compiles kernels when they are
first called, which is logged, and keeps the result. Either is kept by the sources of
all kernels; where there is no folder to keep it in, every process compiles anew.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from testbed.files import remove
from testbed.trace.native import Library
from testbed.user import cache_dir

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = NDArray[np.uint8]
#: A table of int64, a row a thing; or one such row.
Table = NDArray[np.int64]
#: Of so many states of the sources, compiled kernels are kept.
_KEPT = 8
_MARKS = (b"@kernel", b"@inlined", b"@entry", b"@intrinsic", b"FRAME")
#: In the folder of numba's results.
LIBRARY = "kernels.so"


def kept_in() -> Path:
    """Return the folder for what is compiled from these sources on this machine."""
    digest = hashlib.sha256(f"{sys.version} {platform.machine()}".encode())
    for module in sorted(Path(__file__).parent.glob("*.py")):
        source = module.read_bytes()
        if any(mark in source for mark in _MARKS):
            digest.update(module.name.encode() + b"\0" + source + b"\0")
    return cache_dir() / "kernels-compiled" / digest.hexdigest()[:32]


def made(folder: Path) -> str:
    """Make a folder if need be; return its name, or none if it cannot be written."""
    try:
        if not folder.is_dir():
            _forget_all_but_newest(folder.parent)
            folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def _forget_all_but_newest(folder: Path) -> None:
    homes = sorted(folder.glob("*"), key=lambda home: home.stat().st_mtime_ns)
    for home in homes[:-_KEPT]:
        remove(home)


def _asked_for_numba() -> bool:
    """Say whether an option of numba's is set, which is not for the library."""
    return any(name.startswith("NUMBA_") for name in os.environ)


def _library() -> Library | None:
    """Return the library, unless there is none or numba is wanted."""
    return None if _asked_for_numba() else Library.opened(kept_in() / LIBRARY)


def _numba() -> tuple[Callable[..., Any], bool, bool]:
    """Return numba's decorator, whether it compiles, and whether it keeps results."""
    asked = _asked_for_numba()
    # It reads the environment when it is imported.
    folder = os.environ.setdefault("NUMBA_CACHE_DIR", made(kept_in()))
    if not folder:
        del os.environ["NUMBA_CACHE_DIR"]
    import numba  # noqa: PLC0415  # takes a while, and is seldom needed

    if not asked:
        _tell_when_it_compiles(kept=bool(folder))
    return numba.njit, not vars(numba.config)["DISABLE_JIT"], bool(folder)


def _tell_when_it_compiles(*, kept: bool) -> None:
    """Have numba log once that somebody waits for it: what it has kept takes no time.

    Where nothing handles logs, as in our commands, Python writes them to stderr.
    """
    import logging  # noqa: PLC0415  # as numba, which imports it

    from numba.core import event  # noqa: PLC0415  # as numba

    events: Any = event  # without types

    class Once(event.Listener):
        told = False

        def on_start(self, _event: object) -> None:
            if not self.told:
                self.told = True
                logging.getLogger(__name__).warning(_wait(kept=kept))

        def on_end(self, _event: object) -> None:
            return

    events.register("numba:compile", Once())


def _wait(*, kept: bool) -> str:
    """Say what is waited for, and how not to. kept: for those who come after, too."""
    if kept:
        return (
            "testbed: numba compiles the capture reader, this once, which may take a "
            "minute or two; `make setup` does it beforehand"
        )
    return (
        "testbed: numba compiles the capture reader, which may take a minute or two "
        f"each time, for {cache_dir()} cannot be written; set XDG_CACHE_HOME to a "
        "folder that can be, and `make setup` does it beforehand"
    )


_LIBRARY = _library()
_njit, COMPILED, _cached = (None, False, False) if _LIBRARY else _numba()
_OPTIONS = {
    "cache": _cached,
    "nogil": True,
    "error_model": "numpy",
    # Kernels allocate nothing, and counting references would take most of their time.
    "_nrt": False,
}


def kernel(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result."""
    return function if _njit is None else cast("Function", _njit(**_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Compile a function into its callers: for the steps of the loop over packets."""
    if _njit is None:
        return function
    return cast("Function", _njit(**_OPTIONS, forceinline=True)(function))


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls; ahead.py has to have it among its entries.

    It takes whole numbers, arrays without gaps, and tuples of these.
    """
    if _LIBRARY is not None:
        return cast("Function", _LIBRARY.function(function))
    return kernel(function)
