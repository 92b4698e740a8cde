"""Where the model's modules come from. That they compile is in tests/system."""

import sys
from pathlib import Path

import pytest

from testbed import compiled


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sources of a model of one module, with a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(compiled.PURE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    model = tmp_path / "testbed" / "model"
    model.mkdir(parents=True)
    (model / "one.py").write_text("ONE = 1\n")
    monkeypatch.setattr(compiled, "_MODEL", model)
    return model


def put_compiled(model: Path) -> Path:
    home = compiled._home()
    (home / "testbed" / "model").mkdir(parents=True)
    assert str(home).startswith(str(model.parents[1] / "cache"))
    return home


def test_sources_are_used_where_nothing_is_compiled(model: Path) -> None:
    assert compiled.search_path(["here"]) == ["here"]


def test_what_is_compiled_comes_first(model: Path) -> None:
    home = put_compiled(model)

    assert compiled.search_path(["here"]) == [str(home / "testbed/model"), "here"]
    assert sys.path[-1] == str(home)


def test_what_was_compiled_from_other_sources_is_not_used(model: Path) -> None:
    put_compiled(model)
    (model / "one.py").write_text("ONE = 2\n")

    assert compiled.search_path(["here"]) == ["here"]


def test_sources_are_used_where_the_environment_says_so(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_compiled(model)
    monkeypatch.setenv(compiled.PURE, "1")

    assert compiled.search_path(["here"]) == ["here"]


def test_compiled_modules_of_old_sources_are_forgotten(model: Path) -> None:
    for number in range(5):
        (model / "one.py").write_text(f"ONE = {number}\n")
        put_compiled(model)
    compiled._forget_all_but_newest(compiled._home().parent)

    assert len(list(compiled._home().parent.iterdir())) == 3
    assert compiled._home().is_dir()
