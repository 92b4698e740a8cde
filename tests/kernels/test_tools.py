import os
from pathlib import Path

import pytest

from testbed.errors import BuildError, Unavailable
from testbed.kernels.tools import (
    compiler_version,
    relevant_errors,
    require_plain_path,
    require_tools,
)

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="User-Mode Linux runs on x86-64"
)


def test_all_missing_tools_are_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Unavailable) as caught:
        require_tools()

    assert caught.value.what.startswith("a kernel build needs gcc, make, flex, bison")
    assert caught.value.remedy == (
        "apt-get install bc binutils bison flex gcc make patch perl tar xz-utils"
    )


def test_a_missing_compiler_is_told_with_everything_else_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Unavailable, match="gcc, make, flex"):
        compiler_version()


@pytest.mark.parametrize("path", ["/a b/c", "/a:b"])
def test_a_path_kbuild_cannot_take_is_refused(path: str) -> None:
    with pytest.raises(BuildError, match="space or a colon"):
        require_plain_path(Path(path))


def test_the_errors_are_picked_from_a_log() -> None:
    log = ["  CC a.o", "a.c:1: error: no", "  CC b.o", "make: *** [a.o] Error 1"]

    assert relevant_errors(log) == ("a.c:1: error: no",)


def test_a_log_without_errors_shows_its_end() -> None:
    assert relevant_errors(["one", "", "two", "three"], most=2) == ("two", "three")
