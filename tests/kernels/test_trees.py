import os
import shutil
import tarfile
from pathlib import Path

import pytest

from testbed.errors import BuildError, SpecError
from testbed.kernels import trees
from testbed.kernels.folder import BuildFolder
from testbed.kernels.patches import Patch
from testbed.kernels.patching import sync
from testbed.kernels.progress import Progress
from testbed.kernels.sources import Source, list_tree

DIFF = b"--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
PATCH = Patch(name="p", data=DIFF, touches=("net/tcp.c",))
FILES = ("Kbuild", "arch/um/Kconfig", "net/tcp.c", "net/udp.c")


def ignore(_progress: Progress) -> None:
    """Take no notice."""


@pytest.fixture
def empty(tmp_path: Path) -> BuildFolder:
    (tmp_path / "build").mkdir()
    return BuildFolder(root=tmp_path / "build")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / "linux" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one\ntwo\n")
    (tmp_path / "linux" / "link").symlink_to("Kbuild")
    return tmp_path / "linux"


def source_of(path: Path, digest: str = "d") -> Source:
    files = dict(list_tree(path)) if path.is_dir() else {}
    return Source(path=path, label="", digest=digest, slug="s", files=files)


def times(root: Path) -> dict[str, int]:
    return {
        str(path.relative_to(root)): path.lstat().st_mtime_ns
        for path in root.rglob("*")
        if not path.is_dir()
    }


@pytest.mark.parametrize("compression", ["gz", "xz", "bz2"])
def test_a_tarball_is_unpacked(
    compression: str, tree: Path, empty: BuildFolder, tmp_path: Path
) -> None:
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, f"w:{compression}") as archive:  # type: ignore[call-overload]
        archive.add(tree, "linux-1.0")
    reports: list[Progress] = []

    trees.bring(source_of(tarball), empty, reports.append)

    assert (empty.tree / "net/tcp.c").read_text() == "one\ntwo\n"
    assert reports[-1].phase == "unpack"
    assert reports[-1].done == reports[-1].total
    assert not (empty.root / "unpacking").exists()


def test_a_tarball_is_unpacked_again_only_when_it_is_another(
    tree: Path, empty: BuildFolder, tmp_path: Path
) -> None:
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, "linux-1.0")
    trees.bring(source_of(tarball, "one"), empty, ignore)
    mark = empty.tree / "mark"
    mark.touch()

    trees.bring(source_of(tarball, "one"), empty, ignore)
    kept = mark.exists()
    trees.bring(source_of(tarball, "two"), empty, ignore)

    assert kept
    assert not mark.exists()


def test_a_tree_that_lacks_its_note_is_unpacked_again(
    tree: Path, empty: BuildFolder, tmp_path: Path
) -> None:
    tarball = tmp_path / "linux.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, "linux-1.0")
    trees.bring(source_of(tarball), empty, ignore)
    empty.source_note.unlink()
    (empty.tree / "net/tcp.c").unlink()

    trees.bring(source_of(tarball), empty, ignore)

    assert (empty.tree / "net/tcp.c").is_file()


def test_a_damaged_tarball_leaves_nothing(empty: BuildFolder, tmp_path: Path) -> None:
    tarball = tmp_path / "linux.tar.xz"
    tarball.write_bytes(b"\xfd7zXZ\0 this is none")

    with pytest.raises(BuildError, match=r"cannot unpack .*linux\.tar\.xz"):
        trees.bring(source_of(tarball), empty, ignore)

    assert list(empty.root.iterdir()) == []


def test_a_tarball_of_something_else_is_a_spec_error(
    tree: Path, empty: BuildFolder, tmp_path: Path
) -> None:
    tarball = tmp_path / "net.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree / "net", "net")

    with pytest.raises(SpecError, match="no kernel source"):
        trees.bring(source_of(tarball), empty, ignore)


def test_a_small_disk_is_noticed_before_anything_is_written(
    tree: Path, empty: BuildFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil.disk_usage(empty.root).free
    monkeypatch.setattr(trees, "NEEDED_BYTES", free * 2)

    with pytest.raises(BuildError, match=r"GB free; a kernel build needs \d"):
        trees.bring(source_of(tree), empty, ignore)

    assert list(empty.root.iterdir()) == []


def test_a_tree_is_copied_and_left_alone(tree: Path, empty: BuildFolder) -> None:
    before = times(tree)

    trees.bring(source_of(tree), empty, ignore)

    assert sorted(times(empty.tree)) == sorted([*FILES, "link"])
    assert (empty.tree / "link").is_symlink()
    assert times(tree) == before


def test_only_the_changed_file_of_a_tree_is_copied_again(
    tree: Path, empty: BuildFolder
) -> None:
    trees.bring(source_of(tree), empty, ignore)
    before = times(empty.tree)
    (tree / "net/udp.c").write_text("three\n")
    os.utime(tree / "net/udp.c", ns=(1, 1))  # older than what was built from it

    trees.bring(source_of(tree), empty, ignore)

    after = times(empty.tree)
    assert {path for path in after if after[path] != before[path]} == {"net/udp.c"}
    assert after["net/udp.c"] > before["net/udp.c"]


def test_a_file_touched_but_not_changed_is_not_rebuilt(
    tree: Path, empty: BuildFolder
) -> None:
    trees.bring(source_of(tree), empty, ignore)
    before = times(empty.tree)
    (tree / "net/udp.c").touch()

    trees.bring(source_of(tree), empty, ignore)

    assert times(empty.tree) == before


def test_a_file_that_left_the_tree_leaves_the_copy(
    tree: Path, empty: BuildFolder
) -> None:
    trees.bring(source_of(tree), empty, ignore)
    (tree / "net/udp.c").unlink()

    trees.bring(source_of(tree), empty, ignore)

    assert not (empty.tree / "net/udp.c").exists()


def test_a_change_to_a_patched_file_and_its_patch_both_hold(
    tree: Path, empty: BuildFolder
) -> None:
    trees.bring(source_of(tree), empty, ignore)
    sync(empty, [PATCH])
    (tree / "net/tcp.c").write_text("one\ntwo\nthree\n")

    trees.bring(source_of(tree), empty, ignore)
    sync(empty, [PATCH])
    both = (empty.tree / "net/tcp.c").read_text()
    sync(empty, [])

    assert both == "one\n2\nthree\n"
    assert (empty.tree / "net/tcp.c").read_text() == "one\ntwo\nthree\n"


def test_a_file_that_a_patch_made_and_then_the_tree_has_is_the_trees(
    tree: Path, empty: BuildFolder
) -> None:
    made = b"--- /dev/null\n+++ b/net/new.c\n@@ -0,0 +1 @@\n+patch\n"
    trees.bring(source_of(tree), empty, ignore)
    sync(empty, [Patch(name="new", data=made, touches=("net/new.c",))])
    (tree / "net/new.c").write_text("tree\n")

    trees.bring(source_of(tree), empty, ignore)
    sync(empty, [])

    assert (empty.tree / "net/new.c").read_text() == "tree\n"


def test_a_tree_that_changes_under_the_copy_is_refused(
    tree: Path, empty: BuildFolder
) -> None:
    source = source_of(tree)
    (tree / "net/udp.c").write_text("another length\n")

    with pytest.raises(BuildError, match=r"udp\.c changed while it was being copied"):
        trees.bring(source, empty, ignore)

    assert not empty.tree.exists()
