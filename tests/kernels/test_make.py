import os
from pathlib import Path

import pytest

from testbed.kernels.folder import BuildFolder
from testbed.kernels.make import compile_kernel, make_argv, make_env
from testbed.kernels.progress import Progress


def test_objects_go_into_a_folder_directly_below_the_tree() -> None:
    folder = BuildFolder(root=Path("/c"))

    assert make_argv(folder, "linux", jobs=3) == (
        *("make", "-C", "/c/tree", "ARCH=um", "O=/c/tree/.out", "-j3", "linux"),
    )


def test_the_callers_environment_cannot_change_a_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KCFLAGS", "-O0")
    monkeypatch.setenv("MAKEFLAGS", "-k")

    env = make_env({"KCONFIG_ALLCONFIG": "f"})

    assert not env.keys() & {"KCFLAGS", "MAKEFLAGS"}
    assert env["KBUILD_BUILD_USER"] == "testbed"
    assert env["KCONFIG_ALLCONFIG"] == "f"


def test_what_a_killed_make_wrote_last_is_made_again(folder: BuildFolder) -> None:
    (folder.tree / "Makefile").write_text("linux:\n\t@cp /bin/true $(O)/linux\n")
    folder.out.mkdir()
    for name, age_s in (("old.o", 60), ("torn.o", 0), (".config", 0)):
        (folder.out / name).touch()
        os.utime(folder.out / name, (1_000_000 - age_s, 1_000_000 - age_s))
    folder.making.touch()

    compile_kernel(folder, 1, lambda _progress: None)

    assert (folder.out / "old.o").exists()
    assert not (folder.out / "torn.o").exists()
    assert (folder.out / ".config").exists()
    assert not folder.making.exists()


def test_a_build_from_nothing_is_remembered_for_the_next_estimate(
    folder: BuildFolder,
) -> None:
    echo = '\t@for i in 1 2 3; do echo "  CC      $$i.o"; done\n'
    rule = f"linux:\n{echo}\t@cp /bin/true $(O)/linux\n"
    (folder.tree / "Makefile").write_text(rule)
    (folder.out / "scripts" / "kconfig").mkdir(parents=True)
    (folder.out / "scripts" / "kconfig" / "conf.o").touch()
    reports: list[Progress] = []

    compile_kernel(folder, 1000, reports.append)

    assert [report.done for report in reports] == [1, 2, 3, 1000]
    assert folder.steps_note.read_text() == "3"
