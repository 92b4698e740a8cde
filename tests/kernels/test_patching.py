from pathlib import Path

import pytest

from testbed.errors import BuildError
from testbed.kernels.folder import BuildFolder
from testbed.kernels.patches import Patch, touched_files
from testbed.kernels.patching import sync


def patch(name: str, text: str) -> Patch:
    return Patch(name=name, data=text.encode(), touches=touched_files(text, name))


def edit(file: str, line: int, to: str) -> Patch:
    old = f"{file} line {line}"
    text = (
        f"--- a/{file}\n+++ b/{file}\n@@ -{line - 1},3 +{line - 1},3 @@\n"
        f" {file} line {line - 1}\n-{old}\n+{to}\n {file} line {line + 1}\n"
    )
    return patch(f"{to}.patch", text)


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


TCP = edit("net/tcp.c", 5, "faster")
TCP_TOO = edit("net/tcp.c", 15, "safer")
MAKE = edit("Makefile", 9, "other")
NEW = patch("new.patch", "--- /dev/null\n+++ b/net/new.c\n@@ -0,0 +1 @@\n+int x;\n")


def test_patches_to_one_file_add_up(folder: BuildFolder) -> None:
    changed = sync(folder, [TCP, TCP_TOO])

    text = (folder.tree / "net/tcp.c").read_text()
    assert changed == ("net/tcp.c",)
    assert "faster\n" in text
    assert "safer\n" in text


def test_the_same_patches_again_write_nothing(folder: BuildFolder) -> None:
    sync(folder, [TCP, MAKE])
    before = snapshot(folder.root)

    assert sync(folder, [TCP, MAKE]) == ()
    assert snapshot(folder.root) == before


def test_dropping_a_patch_rewrites_its_file_alone(folder: BuildFolder) -> None:
    original = snapshot(folder.tree)
    sync(folder, [TCP, MAKE])
    patched = snapshot(folder.tree)

    changed = sync(folder, [MAKE])

    after = snapshot(folder.tree)
    assert changed == ("net/tcp.c",)
    assert after["Makefile"] == patched["Makefile"]
    assert after["net/tcp.c"][0] == original["net/tcp.c"][0]
    assert after["net/tcp.c"][1] > patched["net/tcp.c"][1]


def test_changing_one_of_two_patches_rewrites_one_file(folder: BuildFolder) -> None:
    sync(folder, [TCP, MAKE])

    assert sync(folder, [edit("net/tcp.c", 5, "faster still"), MAKE]) == ("net/tcp.c",)


def test_patches_switched_back_and_forth_give_the_same_text(
    folder: BuildFolder,
) -> None:
    sync(folder, [TCP])
    first = (folder.tree / "net/tcp.c").read_bytes()

    sync(folder, [TCP_TOO])
    sync(folder, [])
    sync(folder, [TCP])

    assert (folder.tree / "net/tcp.c").read_bytes() == first


def test_a_file_made_by_a_patch_goes_with_it(folder: BuildFolder) -> None:
    sync(folder, [NEW])
    assert (folder.tree / "net/new.c").read_text() == "int x;\n"

    sync(folder, [])

    assert not (folder.tree / "net/new.c").exists()


WRONG = patch(
    "wrong.patch",
    "--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -7,3 +7,3 @@\n not\n-in\n+the\n file\n",
)


def test_a_users_patch_and_testbeds_own_add_up(folder: BuildFolder) -> None:
    sync(folder, [TCP], [TCP_TOO, MAKE])

    assert "faster\n" in (folder.tree / "net/tcp.c").read_text()
    assert "safer\n" in (folder.tree / "net/tcp.c").read_text()
    assert "other\n" in (folder.tree / "Makefile").read_text()


def test_a_users_patch_is_made_against_the_source(folder: BuildFolder) -> None:
    """Its context is the source's, though a patch of testbed's changes that."""
    beside = edit("net/tcp.c", 7, "mine")  # its context has line 6, and so has TCP's

    sync(folder, [edit("net/tcp.c", 5, "ours")], [beside])

    text = (folder.tree / "net/tcp.c").read_text()
    assert "ours\nnet/tcp.c line 6\nmine\n" in text


def test_a_users_patch_may_be_made_against_testbeds_tree(folder: BuildFolder) -> None:
    on_top = patch(
        "on-top.patch",
        "--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -4,3 +4,3 @@\n net/tcp.c line 4\n"
        "-faster\n+fastest\n net/tcp.c line 6\n",
    )

    sync(folder, [TCP], [on_top])

    assert "fastest\n" in (folder.tree / "net/tcp.c").read_text()


def test_where_merging_fails_a_patch_may_still_go_on_top(folder: BuildFolder) -> None:
    beside = patch(
        "beside.patch",
        "--- a/Makefile\n+++ b/Makefile\n@@ -19,0 +20 @@\n+new\n"
        "--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -5,0 +6 @@\n+new\n",
    )

    sync(folder, [TCP], [beside])

    text = (folder.tree / "net/tcp.c").read_text()
    assert "faster\nnew\nnet/tcp.c line 6\n" in text
    assert (folder.tree / "Makefile").read_text().count("new\n") == 1


def test_users_patches_go_one_on_the_other(folder: BuildFolder) -> None:
    again = patch(
        "again.patch",
        "--- a/net/new.c\n+++ b/net/new.c\n@@ -1 +1 @@\n-int x;\n+int y;\n",
    )

    sync(folder, [TCP], [NEW, again])
    assert (folder.tree / "net/new.c").read_text() == "int y;\n"

    sync(folder, [TCP])
    assert not (folder.tree / "net/new.c").exists()


def test_a_collision_names_the_patch_of_testbeds_that_it_is_with(
    folder: BuildFolder,
) -> None:
    before = snapshot(folder.tree)

    with pytest.raises(BuildError) as caught:
        sync(folder, [TCP_TOO, TCP, MAKE], [edit("net/tcp.c", 5, "slower")])

    told = str(caught.value)
    assert "the same lines of net/tcp.c as testbed's own faster.patch\n" in told
    assert f"leaves one in {folder.tree}; or leave that out: --without faster" in told
    assert snapshot(folder.tree) == before


def test_a_users_patch_that_fails_says_against_what(folder: BuildFolder) -> None:
    with pytest.raises(BuildError) as caught:
        sync(folder, [TCP], [MAKE, WRONG], "Linux 6.12.1 (/my/tree git abc)")

    told = str(caught.value)
    assert "wrong.patch does not apply to Linux 6.12.1 (/my/tree git abc)" in told
    assert "net/tcp.c: hunk #1, at line 7" in told
    assert "to fix it: bring it up to this source" in told


def test_a_patch_of_testbeds_that_fails_may_be_left_out(folder: BuildFolder) -> None:
    with pytest.raises(BuildError, match=r"leave this one out \(--without wrong.patch"):
        sync(folder, [WRONG])


def test_a_users_patch_never_goes_in_by_a_guess(folder: BuildFolder) -> None:
    text = (folder.tree / "net/tcp.c").read_text()
    (folder.tree / "net/tcp.c").write_text(text.replace("line 4\n", "line four\n"))
    before = snapshot(folder.tree)

    with pytest.raises(BuildError, match="takes it with a fuzz of 2"):
        sync(folder, [], [TCP])

    assert snapshot(folder.tree) == before


@pytest.mark.parametrize(
    ("user_patches", "remedy"),
    [
        pytest.param([TCP, TCP], "the source has that change already", id="twice"),
        pytest.param([edit("net/udp.c", 5, "x")], "by --source", id="other-tree"),
    ],
)
def test_what_would_help_depends_on_why_it_failed(
    user_patches: list[Patch], remedy: str, folder: BuildFolder
) -> None:
    with pytest.raises(BuildError, match=remedy):
        sync(folder, [], user_patches)


def test_a_failing_hunk_names_patch_file_and_hunk(folder: BuildFolder) -> None:
    before = snapshot(folder.tree)

    with pytest.raises(BuildError) as caught:
        sync(folder, [TCP, WRONG])

    assert "wrong.patch does not apply" in str(caught.value)
    assert "net/tcp.c: hunk #1, at line 7" in str(caught.value)
    assert snapshot(folder.tree) == before
    assert not (folder.root / "patching").exists()


def test_a_patch_to_a_file_the_kernel_lacks_says_so(folder: BuildFolder) -> None:
    with pytest.raises(BuildError, match=r"net/udp\.c: this kernel has no such file"):
        sync(folder, [edit("net/udp.c", 5, "x")])


def test_a_patch_applied_twice_says_so(folder: BuildFolder) -> None:
    with pytest.raises(BuildError, match=r"net/tcp\.c: .*previously applied"):
        sync(folder, [TCP, TCP])


@pytest.mark.parametrize(
    ("change", "left"),
    [
        pytest.param(edit("net/Kconfig", 5, "x"), [], id="kconfig"),
        pytest.param(edit("net/tcp.c", 5, "x"), ["configured"], id="code"),
    ],
)
def test_only_a_patch_to_kconfig_has_the_kernel_configured_again(
    change: Patch, left: list[str], folder: BuildFolder
) -> None:
    folder.configured.touch()

    sync(folder, [change])

    assert [path.name for path in folder.root.glob("configured")] == left
