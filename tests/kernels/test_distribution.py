"""A distribution's kernel: who it is, by its file, and where its modules are."""

import pytest
from kernels.images import BANNER, RELEASE, a_bzimage, module_tree

from testbed.errors import SpecError, Unavailable
from testbed.kernels.distribution import (
    banner_of,
    distribution_kernel,
    modules_of,
)
from testbed.kernels.resolve import resolve
from testbed.spec.kernel import Arch


def test_an_image_tells_its_release() -> None:
    assert banner_of(a_bzimage()) == BANNER


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x7fELF" + bytes(0x800), id="an-elf-file"),
        pytest.param(b"short", id="a-short-file"),
    ],
)
def test_what_is_no_bzimage_is_a_users_mistake(data, tmp_path) -> None:
    (tmp_path / "linux").write_bytes(data)

    with pytest.raises(SpecError, match="is no bzImage"):
        distribution_kernel(tmp_path / "linux")


def test_a_file_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(SpecError, match="vmlinuz: no such kernel image"):
        distribution_kernel(tmp_path / "vmlinuz")


def test_a_kernel_by_its_path_is_that_file(tmp_path) -> None:
    image = module_tree(tmp_path)
    (image.parent / f"config-{RELEASE}").write_text("CONFIG_X=y\n")

    kernel = resolve(str(image), lambda _told: None, Arch.X86_64)

    assert kernel.image == image
    assert kernel.identity.release == RELEASE
    assert kernel.identity.arch == "x86_64"
    assert kernel.identity.build_id == "unknown"
    assert len(kernel.identity.config_sha256) == 64
    assert kernel.identity.source.endswith(BANNER)


def test_its_modules_are_beside_its_boot_folder(tmp_path) -> None:
    image = module_tree(tmp_path)

    assert modules_of(distribution_kernel(image)) == (
        tmp_path / "lib" / "modules" / RELEASE
    )


def test_modules_that_are_not_there_are_told_with_their_package(tmp_path) -> None:
    image = module_tree(tmp_path)
    (tmp_path / "lib" / "modules" / RELEASE / "modules.dep").unlink()

    with pytest.raises(Unavailable) as told:
        modules_of(distribution_kernel(image))

    assert told.value.remedy.startswith(f"apt-get install linux-image-{RELEASE}")
    assert f"depmod -b {tmp_path} {RELEASE}" in told.value.remedy
