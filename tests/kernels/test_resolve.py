"""Kernels by name: registered ones are built, the user's own are found."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders import IDENTITY

from testbed.errors import BuildError, SpecError, Unavailable
from testbed.kernels import cache, resolve
from testbed.spec.kernel import BuiltKernel


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Return a function that puts a kernel of a name into an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    image = tmp_path / "built"
    image.write_text("a kernel")
    config = tmp_path / "config"
    config.write_text("")

    def put(name: str, key: str) -> BuiltKernel:
        identity = replace(IDENTITY, name=name)
        return cache.install(key, image=image, config=config, identity=identity)

    return put


def unavailable(*_arguments) -> BuiltKernel:
    raise Unavailable("no source", remedy="apt-get install it")


def broken(*_arguments) -> BuiltKernel:
    raise BuildError("it does not compile", remedy="mend it")


def silent(_progress) -> None:
    """Watch nothing."""


def test_a_kernel_the_user_built_is_found_by_its_name(keep) -> None:
    mine = keep("mine", "0" * 64)

    assert resolve.resolve("mine", silent) == mine


def test_an_unknown_name_lists_the_known_ones(keep) -> None:
    keep("mine", "0" * 64)

    with pytest.raises(SpecError, match="no kernel 'yours'; known: 6.12, 6.1, mine"):
        resolve.resolve("yours", silent)


def test_without_its_package_what_was_built_under_the_name_serves(
    keep, monkeypatch
) -> None:
    built = keep("6.12", "0" * 64)
    monkeypatch.setattr(resolve, "ensure", unavailable)

    assert resolve.resolve("6.12", silent) == built


def test_without_package_or_build_it_is_unavailable(keep, monkeypatch) -> None:
    monkeypatch.setattr(resolve, "ensure", unavailable)

    with pytest.raises(Unavailable, match="apt-get install it"):
        resolve.resolve("6.12", silent)


def test_a_kernel_that_does_not_build_is_never_replaced_by_an_older_one(
    keep, monkeypatch
) -> None:
    keep("6.12", "0" * 64)
    monkeypatch.setattr(resolve, "ensure", broken)

    with pytest.raises(BuildError, match="does not compile"):
        resolve.resolve("6.12", silent)


def test_the_cache_is_where_it_was_told_to_be(keep, tmp_path) -> None:
    built = keep("mine", "0" * 64)

    assert Path(built.image).is_relative_to(tmp_path)
