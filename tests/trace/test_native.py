"""Kernels of a library: what they are given, what comes back, and when there is none.

That the library's kernels say what the sources do is in tests/system.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from testbed.trace import jit
from testbed.trace.native import Library


def called(returns: object, results: tuple[int, ...] = ()) -> tuple[Callable, list]:
    """Return a function of a library of one entry, and the words of its last call."""
    words: list[int] = []

    def entry(frame) -> None:
        words[:] = list(frame)
        frame[: len(results)] = results

    def function() -> None: ...

    function.__annotations__["return"] = returns
    return Library({"function": entry}).function(function), words


def test_an_array_is_its_address_and_its_shape_and_a_tuple_its_parts() -> None:
    table = np.zeros((3, 5), np.int64)
    row = np.zeros(7, np.uint8)
    call, words = called(None)

    assert call(11, (table, (12, row)), 13) is None
    address, other = table.ctypes.data, row.ctypes.data
    assert words[:8] == [11, address, 3, 5, 12, other, 7, 13]


@pytest.mark.parametrize(
    ("returns", "results", "wanted"),
    [
        pytest.param(int, (-4,), -4, id="a-number"),
        pytest.param(bool, (1,), True, id="a-truth"),
        pytest.param(tuple[int, int], (5, 6), (5, 6), id="two-numbers"),
    ],
)
def test_what_an_entry_writes_is_what_it_returns(
    returns: object, results: tuple[int, ...], wanted: object
) -> None:
    call, _ = called(returns, results)

    got = call()

    assert got == wanted
    assert type(got) is type(wanted)


def test_an_array_with_gaps_is_refused() -> None:
    call, _ = called(None)

    with pytest.raises(ValueError, match="gaps"):
        call(np.zeros((4, 4), np.int64)[:, 1])


def test_a_file_that_is_no_library_is_none(tmp_path: Path) -> None:
    junk = tmp_path / "kernels.so"
    junk.write_bytes(b"junk")

    assert Library.opened(junk) is None
    assert Library.opened(tmp_path / "none.so") is None


def test_an_option_of_numba_asks_for_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "opened", lambda _path: Library({}))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # set where there is none
    assert jit._library() is not None

    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")

    assert jit._library() is None
