"""Kernels by name: registered ones are built, the user's own are found."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders import IDENTITY

from testbed.errors import BuildError, SpecError, Unavailable
from testbed.kernels import cache, resolve
from testbed.kernels.registry import load_kernels
from testbed.spec.kernel import BuiltKernel, Kernel


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
        recipe = replace(load_kernels()["6.12"], name=name, source=tmp_path)
        return cache.install(
            key, image=image, config=config, identity=identity, recipe=recipe
        )

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

    with pytest.raises(
        SpecError, match="no kernel 'yours'; known: 6.12, 6.1, 7.3, mine"
    ):
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


@pytest.fixture
def asked(monkeypatch) -> list[Kernel]:
    """Return the list of what ensure() will have been asked to build."""
    kernels: list[Kernel] = []

    def take(kernel: Kernel, _on_progress) -> BuiltKernel:
        kernels.append(kernel)
        return BuiltKernel(image=Path("linux"), identity=IDENTITY)

    monkeypatch.setattr(resolve, "ensure", take)
    return kernels


@pytest.fixture
def patches(tmp_path, monkeypatch) -> Path:
    """Return the working folder, which has patches and a fragment in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("my.patch", "a+b.patch", "debug.config"):
        (folder / name).touch()
    return folder


def test_a_name_plus_patches_is_built_on_the_way(keep, asked, patches) -> None:
    resolve.resolve(f"6.12+my.patch+{patches}/a+b.patch+debug.config", silent)

    (kernel,) = asked
    plain = load_kernels()["6.12"]
    assert kernel.name == "6.12+my.patch+a+b.patch+debug.config"
    assert kernel.patches == plain.patches
    assert [path.name for path in kernel.user_patches] == ["my.patch", "a+b.patch"]
    assert [path.name for path in kernel.configs[-2:]] == ["um.config", "debug.config"]


def test_a_users_kernel_plus_a_patch_has_the_users_source(keep, asked, patches) -> None:
    keep("mine", "0" * 64)

    resolve.resolve("mine+my.patch", silent)

    assert asked[0].source == patches.parent
    assert asked[0].name == "mine+my.patch"


def test_a_patch_that_is_there_counts_not_what_was_built_of_it(
    keep, asked, patches
) -> None:
    old = keep("6.12+my.patch", "0" * 64)

    resolve.resolve("6.12+my.patch", silent)
    (patches / "my.patch").unlink()
    served = resolve.resolve("6.12+my.patch", silent)

    assert len(asked) == 1
    assert served == old


def test_a_patch_of_testbeds_may_be_left_out() -> None:
    kernel = load_kernels()["6.12"]

    left = resolve.without(kernel, ["tcp-tsq-rule.patch"])

    assert {path.name for path in set(kernel.patches) - set(left.patches)} == {
        "tcp-tsq-rule.patch",
    }
    with pytest.raises(SpecError, match=r"--without x: the kernel has uml-hz-1000"):
        resolve.without(kernel, ["x"])


@pytest.mark.usefixtures("patches")
def test_a_patch_that_is_no_file_is_told(keep, asked) -> None:
    with pytest.raises(SpecError, match=r"'none\.patch' is no patch file"):
        resolve.resolve("6.12+my.patch+none.patch", silent)

    assert asked == []


@pytest.mark.usefixtures("patches")
def test_a_patch_on_an_unknown_kernel_lists_the_known_ones(keep, asked) -> None:
    with pytest.raises(SpecError, match=r"no kernel '9\.9'; known: 6\.12, 6\.1, 7\.3"):
        resolve.resolve("9.9+my.patch", silent)
