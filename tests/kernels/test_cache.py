import json
from dataclasses import replace
from pathlib import Path

import pytest
from keeping import put, recipe

from testbed.errors import Unavailable
from testbed.kernels.cache import (
    cache_dir,
    entries,
    find,
    list_built,
    newest,
    remove,
    using,
)
from testbed.spec.kernel import Arch


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_dir() == Path("/somewhere/testbed")

    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == Path.home() / ".cache" / "testbed"


def test_an_installed_kernel_is_found_whole(tmp_path: Path, cache_home: Path) -> None:
    built = put("key", tmp_path)

    assert find("key") == built
    assert built.image == cache_home / "kernels" / "key" / "linux"
    assert sorted(path.name for path in built.image.parent.iterdir()) == [
        *("config", "kernel.json", "linux", "used"),
    ]


@pytest.mark.usefixtures("cache_home")
def test_another_key_finds_nothing(tmp_path: Path) -> None:
    put("key", tmp_path)

    assert find("other") is None


@pytest.mark.parametrize(
    ("file", "content"),
    [
        pytest.param("kernel.json", None, id="no-identity"),
        pytest.param("kernel.json", "{", id="cut-identity"),
        pytest.param("kernel.json", '{"format": 0, "identity": {}}', id="old-format"),
        pytest.param("kernel.json", '{"format": 1, "identity": {}}', id="no-fields"),
        pytest.param("linux", None, id="no-image"),
    ],
)
def test_a_damaged_entry_is_not_used_and_is_replaced(
    file: str, content: str | None, tmp_path: Path, cache_home: Path
) -> None:
    put("key", tmp_path)
    victim = cache_home / "kernels" / "key" / file
    victim.unlink()
    if content is not None:
        victim.write_text(content)

    assert find("key") is None
    assert list_built() == ()
    assert put("key", tmp_path) == find("key")


def test_what_an_interrupted_install_left_is_not_listed(
    tmp_path: Path, cache_home: Path
) -> None:
    put("key", tmp_path)
    (cache_home / "kernels" / "key").rename(cache_home / "kernels" / ".incoming")

    assert list_built() == ()
    assert put("key", tmp_path) == find("key")
    assert not (cache_home / "kernels" / ".incoming").exists()


@pytest.mark.usefixtures("cache_home")
def test_built_kernels_are_listed_by_name(tmp_path: Path) -> None:
    put("1", tmp_path, "b")
    put("2", tmp_path, "a")

    assert [built.identity.name for built in list_built()] == ["a", "b"]


@pytest.mark.usefixtures("cache_home")
def test_an_empty_cache_lists_nothing() -> None:
    assert list_built() == ()


def test_a_kernel_keeps_what_it_was_made_of(tmp_path: Path, cache_home: Path) -> None:
    for folder, text in (("a", "one"), ("b", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.patch").write_text(text)
    mine = recipe(
        "mine",
        source=tmp_path,
        package=None,
        user_patches=(tmp_path / "a" / "x.patch", tmp_path / "b" / "x.patch"),
    )

    put("key", tmp_path, "mine", mine)
    (tmp_path / "a" / "x.patch").unlink()

    (entry,) = entries()
    assert entry.recipe is not None
    assert entry.recipe.source == tmp_path
    assert [path.name for path in entry.recipe.user_patches] == ["x.patch", "x.patch"]
    assert [path.read_text() for path in entry.recipe.user_patches] == ["one", "two"]
    assert all(path.is_relative_to(cache_home) for path in entry.recipe.user_patches)


@pytest.mark.usefixtures("cache_home")
def test_a_kernel_of_before_recipes_were_kept_is_still_found(tmp_path: Path) -> None:
    built = put("key", tmp_path)
    about = built.image.parent / "kernel.json"
    told = json.loads(about.read_text())
    del told["recipe"], told["identity"]["arch"], told["identity"]["commit"]
    about.write_text(json.dumps(told))

    assert find("key") == built
    assert entries()[0].recipe is None


@pytest.mark.usefixtures("cache_home")
def test_one_name_may_be_built_for_two_architectures(tmp_path: Path) -> None:
    put("1", tmp_path)
    put("2", tmp_path, made_of=recipe("k", arch=Arch.X86_64))

    um, x86 = newest("k"), newest("k", Arch.X86_64)

    assert um is not None
    assert um.built.image.name == "linux"
    assert x86 is not None
    assert x86.built.image.name == "bzImage"


@pytest.mark.usefixtures("cache_home")
def test_a_kernel_in_use_is_not_removed(tmp_path: Path) -> None:
    built = put("key", tmp_path)

    with using([built]), using([built]):
        assert not remove(built.image.parent)
        assert built.image.exists()

    assert remove(built.image.parent)
    assert not built.image.parent.exists()
    assert list_built() == ()


@pytest.mark.usefixtures("cache_home")
def test_a_kernel_that_was_removed_cannot_be_used(tmp_path: Path) -> None:
    built = put("key", tmp_path)
    remove(built.image.parent)

    with pytest.raises(Unavailable, match="removed"), using([built]):
        pytest.fail("it was used")


@pytest.mark.usefixtures("cache_home")
def test_a_kernel_that_is_not_in_the_cache_is_left_as_it_is(tmp_path: Path) -> None:
    built = put("key", tmp_path)
    elsewhere = replace(built, image=tmp_path / "boot" / "vmlinuz")
    elsewhere.image.parent.mkdir()

    with using([elsewhere]):
        assert list(elsewhere.image.parent.iterdir()) == []
