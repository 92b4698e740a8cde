"""Kernels in a shared library, called as the Python functions they were compiled from.

An entry of the library takes one pointer, to a frame of 64-bit words: the arguments
flattened, an array being its address and its shape. What it returns it writes over the
first words. Start with Library; ahead.py makes one.
"""

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np

#: Words of a frame.
FRAME = 48
_Frame = ctypes.c_int64 * FRAME


class Library:
    """A library of kernels."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        """Take what has been loaded."""
        self._loaded = loaded

    @classmethod
    def opened(cls, path: Path) -> "Library | None":
        """Return the library in a file; None if there is none that can be loaded."""
        try:
            return cls(ctypes.CDLL(str(path)))
        except OSError:
            return None

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the entry that was compiled from a function, under its name."""
        entry = self._loaded[function.__name__]
        entry.argtypes, entry.restype = [_Frame], None
        returned = function.__annotations__["return"]
        results = len(get_args(returned))

        def call(*arguments: Any) -> Any:
            frame = _Frame(*_flat(arguments))
            entry(frame)
            if results:
                return tuple(frame[:results])
            return None if returned is None else returned(frame[0])

        call.__doc__ = function.__doc__
        return call


def _flat(arguments: tuple[Any, ...]) -> Iterator[int]:
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if not argument.flags.c_contiguous:
                raise ValueError("an array with gaps")
            yield argument.ctypes.data
            yield from argument.shape
        elif isinstance(argument, tuple):
            yield from _flat(argument)
        else:
            yield argument
