"""A build folder with a source of three files in it."""

from pathlib import Path

import pytest

from testbed.kernels.folder import BuildFolder


@pytest.fixture
def folder(tmp_path: Path) -> BuildFolder:
    folder = BuildFolder(root=tmp_path / "build")
    for name in ("net/tcp.c", "net/Kconfig", "Makefile"):
        path = folder.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name} line {number}\n" for number in range(1, 21)))
    return folder


@pytest.fixture
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "testbed"
