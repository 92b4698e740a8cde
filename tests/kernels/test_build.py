"""The whole road, with a source whose Makefile takes /bin/true for a kernel."""

import dataclasses
from pathlib import Path

import pytest

from testbed.errors import BuildError, SpecError, Unavailable
from testbed.kernels import build, cache
from testbed.kernels.build import cached, ensure, gather
from testbed.kernels.progress import Progress
from testbed.kernels.tools import require_tools
from testbed.spec.kernel import Arch, Kernel

MAKEFILE = """
VERSION = 9
PATCHLEVEL = 1
SUBLEVEL = 2
EXTRAVERSION = -rc3
allnoconfig:
\t@cp $(KCONFIG_ALLCONFIG) $(O)/.config
\t@test ! -e refuse || : > $(O)/.config
linux:
\t@test ! -e break || { echo "tcp.c:1: error: broken"; exit 1; }
\t@test ! -e full || { echo "as: No space left on device"; exit 1; }
\t@echo "  CC      net/tcp.o"
\t@mkdir -p $(O)/include/config
\t@echo 1.0 > $(O)/include/config/kernel.release
\t@cp /bin/true $(O)/linux
"""
DIFF = "--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -1 +1 @@\n-one\n+two\n"


@pytest.fixture
def kernel(tmp_path: Path, cache_home: Path) -> Kernel:
    try:
        require_tools()
    except Unavailable as error:
        pytest.skip(str(error))
    tree = tmp_path / "linux"
    for name in ("Kbuild", "arch/um/Kconfig", "net/tcp.c"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("one\n")
    (tree / "Makefile").write_text(MAKEFILE)
    (tmp_path / "a.config").write_text("CONFIG_A=y\n")
    (tmp_path / "a.patch").write_text(DIFF)
    assert not cache_home.exists()
    return Kernel(
        name="k",
        about="",
        package=None,
        source=tree,
        patches=(tmp_path / "a.patch",),
        configs=(tmp_path / "a.config",),
    )


def ignore(_progress: Progress) -> None:
    """Take no notice."""


def test_a_kernel_is_built_and_then_found(kernel: Kernel) -> None:
    assert cached(kernel) is None
    reports: list[Progress] = []

    built = ensure(kernel, reports.append)
    again = ensure(kernel, pytest.fail)

    assert built == again == cached(kernel)
    assert cache.list_built() == (built,)
    assert built.identity.release == "1.0"
    assert built.identity.patches[0].startswith("a.patch ")
    assert list(dict.fromkeys(report.phase for report in reports)) == [
        *("copy", "patch", "configure", "compile", "install"),
    ]


def test_the_same_kernel_is_kept_under_every_name_it_was_built_by(
    kernel: Kernel,
) -> None:
    ensure(kernel, ignore)
    ensure(dataclasses.replace(kernel, name="mine"), ignore)

    assert {built.identity.name for built in cache.list_built()} == {
        kernel.name,
        "mine",
    }


def test_the_key_changes_with_each_ingredient_and_only_then(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [gather(kernel).key]
    reworded = dataclasses.replace(kernel, about="x", compile_steps=1)
    same = gather(reworded).key

    (tmp_path / "a.patch").write_text(DIFF.replace("two", "three"))
    keys.append(gather(kernel).key)
    (tmp_path / "a.config").write_text("CONFIG_A=n\n")
    keys.append(gather(kernel).key)
    (tmp_path / "linux" / "net" / "tcp.c").write_text("longer\n")
    keys.append(gather(kernel).key)
    monkeypatch.setattr(build, "compiler_version", lambda: "gcc 99")
    keys.append(gather(kernel).key)
    monkeypatch.setattr(cache, "FORMAT_VERSION", 99)
    keys.append(gather(kernel).key)

    assert same == keys[0]
    assert len(set(keys)) == len(keys) == 6


def test_a_users_patch_that_fails_names_the_kernel_it_was_tried_on(
    kernel: Kernel, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.patch"
    wrong.write_text(DIFF.replace("-one", "-nowhere"))
    mine = dataclasses.replace(kernel, user_patches=(wrong,))

    with pytest.raises(BuildError) as caught:
        ensure(mine, ignore)

    told = f"wrong.patch does not apply to Linux 9.1.2-rc3 ({tmp_path}/linux files "
    assert told in str(caught.value)
    assert "net/tcp.c: hunk #1, at line 1" in str(caught.value)


def test_the_same_source_is_built_for_two_architectures_side_by_side(
    kernel: Kernel, cache_home: Path
) -> None:
    makefile = kernel.source / "Makefile" if kernel.source else Path()
    text = makefile.read_text()
    boot = "$(O)/arch/x86/boot"
    makefile.write_text(
        text
        + f"bzImage: linux\n\t@mkdir -p {boot}; cp $(O)/linux {boot}/bzImage\n"
        + "\t@cp $(O)/linux $(O)/vmlinux\n"
    )

    um = ensure(kernel, ignore)
    image = ensure(dataclasses.replace(kernel, arch=Arch.X86_64), ignore)

    assert image.image.name == "bzImage"
    assert image.identity.arch == "x86_64"
    assert um == cached(kernel)
    (folder,) = cache_home.glob("build/*")
    assert (folder / "tree" / ".out" / "linux").exists()
    assert (folder / "tree" / ".out-x86_64" / "linux").exists()


def test_the_cache_keeps_below_its_limit_and_says_so(
    kernel: Kernel, tmp_path: Path
) -> None:
    first = ensure(kernel, ignore)
    (tmp_path / "a.patch").write_text(DIFF.replace("two", "three"))
    told: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.phase == "remove":
            told.append(progress.detail)

    second = ensure(kernel, watch, 1)

    assert cache.list_built() == (second,)
    assert not first.image.exists()
    assert told[0].startswith("kernel k, used least recently: the cache has a limit of")
    assert told[1].startswith("nothing more can go")


def test_the_order_of_patches_is_part_of_the_key(
    kernel: Kernel, tmp_path: Path
) -> None:
    other = tmp_path / "b.patch"
    other.write_text(DIFF.replace("tcp", "udp"))
    one = dataclasses.replace(kernel, patches=(*kernel.patches, other))
    two = dataclasses.replace(kernel, patches=(other, *kernel.patches))

    assert gather(one).key != gather(two).key


def test_a_compile_error_is_shown_and_nothing_is_kept(
    kernel: Kernel, tmp_path: Path
) -> None:
    (tmp_path / "linux" / "break").touch()

    with pytest.raises(BuildError, match=r"tcp\.c:1: error: broken") as caught:
        ensure(kernel, ignore)

    log = str(caught.value).partition("the whole log: ")[2].splitlines()[0]
    assert "error: broken" in Path(log).read_text()
    assert cached(kernel) is None
    assert cache.list_built() == ()


def test_a_full_disk_is_called_so(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "linux" / "full").touch()

    with pytest.raises(BuildError, match=r"the disk of .* is full"):
        ensure(kernel, ignore)


def test_an_option_that_did_not_take_is_refused(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "linux" / "refuse").touch()

    with pytest.raises(BuildError, match="CONFIG_A: asked for y, got n"):
        ensure(kernel, ignore)


@pytest.mark.parametrize("phase", ["copy", "patch", "configure", "compile", "install"])
def test_an_interrupted_build_is_never_used_and_ends_well_later(
    phase: str, kernel: Kernel, cache_home: Path
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.phase == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(kernel, interrupt)

    assert cached(kernel) is None
    assert cache.list_built() == ()
    left = {path.name for path in cache_home.glob("build/*/*")}
    assert not left & {"copying", "unpacking", "patching"}
    assert ensure(kernel, ignore) == cached(kernel)


def test_a_changed_patch_is_built_on_the_same_tree(
    kernel: Kernel, tmp_path: Path, cache_home: Path
) -> None:
    first = ensure(kernel, ignore)
    (tmp_path / "a.patch").write_text(DIFF.replace("two", "three"))
    reports: list[Progress] = []

    second = ensure(kernel, reports.append)

    assert first.image != second.image
    assert "copy" not in {report.phase for report in reports}
    assert "configure" in {report.phase for report in reports}
    assert len(list(cache_home.glob("build/*"))) == 1


def test_a_cache_that_cannot_be_written_is_one_plain_error(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    with pytest.raises(BuildError, match="cannot work in"):
        ensure(kernel, ignore)


def test_a_cache_with_a_space_in_its_name_is_refused(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))

    with pytest.raises(BuildError, match="a space or a colon"):
        ensure(kernel, ignore)


def test_a_missing_fragment_is_a_spec_error(kernel: Kernel, tmp_path: Path) -> None:
    missing = dataclasses.replace(kernel, configs=(tmp_path / "none.config",))

    with pytest.raises(SpecError, match=r"none\.config"):
        cached(missing)


def test_a_source_that_is_not_installed_is_not_cached(kernel: Kernel) -> None:
    gone = dataclasses.replace(kernel, source=None, package="linux-source-0")

    assert cached(gone) is None
