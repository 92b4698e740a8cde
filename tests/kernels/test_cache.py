from pathlib import Path

import pytest

from testbed.kernels.cache import cache_dir, find, install, list_built
from testbed.spec.kernel import BuiltKernel, KernelIdentity


def identity(name: str) -> KernelIdentity:
    return KernelIdentity(
        name=name,
        release="1.0",
        build_id="ab",
        config_sha256="cd",
        patches=("p ef",),
        source="s 1",
        compiler="gcc",
    )


def put(key: str, tmp_path: Path, name: str = "k") -> BuiltKernel:
    image, config = tmp_path / "image", tmp_path / "config"
    image.write_bytes(b"ELF")
    config.write_text("CONFIG_A=y\n")
    return install(key, image=image, config=config, identity=identity(name))


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
        *("config", "kernel.json", "linux"),
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
