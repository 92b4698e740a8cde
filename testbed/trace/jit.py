"""The compiler of this package's kernels, numba, behind one typed decorator.

Kernels are written so that they run as plain Python too (NUMBA_DISABLE_JIT=1). They
hold whole numbers in int64 and nothing else, for numba makes a float of an unsigned
number and a signed one. Numba checks no index: a kernel checks every one that a capture
has a say in. Compiled code is kept by the sources of all kernels; where there is
no folder to keep it in, every process compiles anew.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from testbed.files import remove
from testbed.user import cache_dir

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = NDArray[np.uint8]
#: Of so many states of the sources, compiled kernels are kept.
_KEPT = 3
#: A table of int64, a row a thing; or one such row.
Table = NDArray[np.int64]


def _kept_in() -> str:
    """Return the folder for compiled kernels, made if need be; none, if it cannot."""
    digest = hashlib.sha256(sys.version.encode())
    for module in sorted(Path(__file__).parent.glob("*.py")):
        source = module.read_bytes()
        if b"@kernel" in source or b"@intrinsic" in source:
            digest.update(module.name.encode() + b"\0" + source + b"\0")
    folder = cache_dir() / "kernels-compiled" / digest.hexdigest()[:32]
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


_FOLDER = os.environ.get("NUMBA_CACHE_DIR") or _kept_in()
if _FOLDER:
    os.environ["NUMBA_CACHE_DIR"] = _FOLDER

import numba  # noqa: E402  # it reads the environment when it is imported

_OPTIONS = {
    "cache": bool(_FOLDER),
    "nogil": True,
    "error_model": "numpy",
    # Kernels allocate nothing, and counting references would take most of their time.
    "_nrt": False,
}
#: Whether kernels are compiled, or run as they are.
COMPILED: bool = not vars(numba.config)["DISABLE_JIT"]


def kernel(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result."""
    compile_it: Callable[..., Callable[[Function], Function]] = numba.njit
    return compile_it(**_OPTIONS)(function)


def inlined(function: Function) -> Function:
    """Compile a function into its callers: for the steps of the loop over packets."""
    compile_it: Callable[..., Callable[[Function], Function]] = numba.njit
    return compile_it(**_OPTIONS, forceinline=True)(function)
