import os
from pathlib import Path

import pytest

from testbed.errors import SpecError, Unavailable
from testbed.kernels.sources import find_source, linux_version, list_tree
from testbed.process import run
from testbed.spec.kernel import Kernel


def kernel(*, package: str | None = None, source: Path | None = None) -> Kernel:
    return Kernel(
        name="k", about="", package=package, source=source, patches=(), configs=()
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("Kbuild", "arch/um/Kconfig", "net/tcp.c", ".gitignore"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "tree"


def test_a_package_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="apt-get install linux-source-0"):
        find_source(kernel(package="linux-source-0"), apt_sources=tmp_path)


@pytest.mark.usefixtures("cache_home")
def test_a_package_dpkg_does_not_know_is_known_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "linux-source-0.tar.xz").write_bytes(b"abc")

    source = find_source(kernel(package="linux-source-0"), apt_sources=tmp_path)

    assert source.label.startswith("linux-source-0 ba7816bf")


def test_the_hash_of_a_tarball_is_remembered(tmp_path: Path, cache_home: Path) -> None:
    tarball = tmp_path / "linux.tar"
    tarball.write_bytes(b"abc")
    first = find_source(kernel(source=tarball))
    memory = cache_home / "sha256.json"
    memory.write_text(memory.read_text().replace("ba7816bf", "00000000"))

    again = find_source(kernel(source=tarball))
    tarball.write_bytes(b"abcd")
    changed = find_source(kernel(source=tarball))

    assert first.digest.startswith("ba7816bf")
    assert again.digest.startswith("00000000")
    assert changed.digest.startswith("88d4266f")


@pytest.mark.usefixtures("cache_home")
def test_a_path_that_is_no_source_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="neither a kernel tree"):
        find_source(kernel(source=tmp_path))


def test_a_kernel_without_any_source_is_a_spec_error() -> None:
    with pytest.raises(SpecError, match="no package and no source"):
        find_source(kernel())


def test_a_tree_is_another_when_a_file_changes(tree: Path) -> None:
    first = find_source(kernel(source=tree))
    again = find_source(kernel(source=tree))
    os.utime(tree / "net/tcp.c", ns=(1, 1))
    touched = find_source(kernel(source=tree))

    assert first.digest == again.digest
    assert touched.digest != first.digest
    assert touched.slug == first.slug


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(("net/tcp.o",), id="object"),
        pytest.param(("scripts/fixdep", "scripts/.fixdep.cmd"), id="host-program"),
        pytest.param(("include/config/auto.conf",), id="configuration"),
        pytest.param(("arch/um/include/generated/x.h",), id="generated-header"),
        pytest.param(("obj/.config", "obj/Makefile"), id="build-folder"),
        pytest.param((".git/HEAD",), id="git"),
    ],
)
def test_what_a_build_left_in_a_tree_is_no_source(
    made: tuple[str, ...], tree: Path
) -> None:
    before = dict(list_tree(tree))
    for path in made:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("built")

    assert dict(list_tree(tree)) == before
    assert sorted(before) == [".gitignore", "Kbuild", "arch/um/Kconfig", "net/tcp.c"]


def git(tree: Path, *argv: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    run(("git", "-C", str(tree), *who, *argv), timeout_s=60)


def test_a_git_tree_says_what_it_is_and_is_not_written_to(tree: Path) -> None:
    git(tree, "init", "-q")
    git(tree, "add", "--force", ".")
    git(tree, "commit", "-qm", "all")
    git(tree, "tag", "v9.1")
    index = (tree / ".git" / "index").read_bytes()
    os.utime(tree / "net/tcp.c", ns=(1, 1))  # git would note that in its index

    clean = find_source(kernel(source=tree))
    (tree / "net/tcp.c").write_text("changed\n")
    dirty = find_source(kernel(source=tree))

    assert (clean.commit, dirty.commit) == ("v9.1", "v9.1-dirty")
    assert f"{tree} git v9.1-dirty files " in dirty.label
    assert (tree / ".git" / "index").read_bytes() == index


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param("linux-6.12.117.tar.xz", (6, 12), id="kernel.org"),
        pytest.param("linux-source-7.3.tar.xz", (7, 3), id="debian"),
        pytest.param("v6.18-rc3.tar.gz", (6, 18), id="git-tag"),
        pytest.param("net-next.tar.gz", None, id="no-number"),
    ],
)
def test_a_tarballs_name_tells_its_version(name: str, version: object) -> None:
    assert linux_version(Path(name)) == version


def test_a_trees_makefile_tells_its_version(tree: Path) -> None:
    assert linux_version(tree) is None

    (tree / "Makefile").write_text(
        "# SPDX\nVERSION = 6\nPATCHLEVEL = 18\nSUBLEVEL = 0\nEXTRAVERSION = -rc3\n"
    )

    assert linux_version(tree) == (6, 18)


def test_a_source_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="there is no kernel tree or tarball"):
        find_source(kernel(source=tmp_path / "none"))
