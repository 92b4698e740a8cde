"""The initramfs: what is in it, in which order it is loaded, that cpio can read it."""

import lzma

import pytest
import zstandard
from kernels.images import RELEASE, module_tree

from testbed.errors import Unavailable
from testbed.machine.initramfs import (
    MODULES,
    initramfs,
    lacking,
    load_order,
    pack,
    unpacked,
)


@pytest.fixture
def modules(tmp_path):
    module_tree(tmp_path)
    return tmp_path / "lib" / "modules" / RELEASE


def test_every_module_is_loaded_after_what_it_needs(modules) -> None:
    order = [path.stem for path in load_order(modules, MODULES)]

    assert sorted(order) == sorted(
        ("virtio", "9pnet", "9pnet_virtio", "netfs", "9p", "overlay")
    )
    assert order.index("virtio") < order.index("9pnet_virtio")
    assert order.index("9pnet") < order.index("9pnet_virtio") < order.index("9p")
    assert order.index("netfs") < order.index("9p")


def test_what_is_built_in_is_there_and_has_no_file(modules) -> None:
    assert lacking(modules, ["virtio_pci", "sch-netem"]) == ("sch-netem",)
    assert load_order(modules, ["virtio_pci"]) == ()


def test_a_kernel_without_9p_is_refused_with_one_that_has_it(modules) -> None:
    dep = modules / "modules.dep"
    lines = dep.read_text().splitlines(keepends=True)
    dep.write_text("".join(line for line in lines if "/9p.ko:" not in line))

    with pytest.raises(Unavailable, match="has no 9p,") as told:
        load_order(modules, MODULES)

    assert "linux-image-amd64" in told.value.remedy


@pytest.mark.parametrize(
    ("name", "squeeze"),
    [
        pytest.param("a.ko", bytes, id="plain"),
        pytest.param("a.ko.xz", lzma.compress, id="xz"),
        pytest.param("a.ko.zst", zstandard.compress, id="zstd"),
    ],
)
def test_modules_are_packed_as_the_kernel_takes_them(name, squeeze, tmp_path) -> None:
    (tmp_path / name).write_bytes(squeeze(b"module" * 100))

    assert unpacked(tmp_path / name) == b"module" * 100


def test_its_first_process_loads_mounts_and_goes_on(modules) -> None:
    data = initramfs(modules, b"busybox", "mount -t 9p root", ("/bin/sh", "-c", "a b"))

    script = data[data.index(b"#!/bin/busybox sh") :].decode("latin1")
    assert "insmod /modules/9p.ko\n/bin/busybox insmod /modules/overlay.ko\n" in script
    assert "\n/bin/busybox mount -t 9p root /host\n" in script
    assert "\nexec /bin/busybox switch_root /host /bin/sh -c 'a b'\n" in script


def test_an_archive_is_as_the_format_says() -> None:
    data = pack({"d": None, "d/file": b"12345"})

    assert len(data) % 4 == 0
    folder = data[:112]
    assert folder == (
        b"070701" + b"00000001" + b"000041ED" + b"00000000" * 2 + b"00000001"
        b"00000000" + b"00000000" + b"00000000" * 4 + b"00000002" + b"00000000"
        b"d\0"
    )
    assert b"d/file\0" in data
    assert data.index(b"12345") % 4 == 0
    assert data.rstrip(b"\0").endswith(b"TRAILER!!!")
