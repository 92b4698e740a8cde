"""An initramfs for a kernel that has its drivers in modules: enough to reach its root.

Holds busybox, the modules that 9p over virtio takes, and a first process that loads
them, mounts the host's root and goes on there. Packed here (cpio's newc format, of
Documentation/driver-api/early-userspace/buffer-format.rst), so that it takes no root.

Read first: initramfs, load_order.
"""

import lzma
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import zstandard

from testbed.errors import Unavailable

#: What a guest's root takes: the PCI bus of QEMU's PC, 9p, the layer in memory.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
_FILE, _FOLDER = 0o100755, 0o040755  # inode modes, inode(7)
_TRAILER = "TRAILER!!!"
_ROOT = "/host"
_ALIGNED = 4


def initramfs(modules: Path, busybox: bytes, root: str, first: Sequence[str]) -> bytes:
    """Return the archive, not compressed.

    modules: their folder, /lib/modules/RELEASE.  busybox: the program, static.  root:
    what mounts the host's root, but for where.  first: the command to become there.
    """
    files: dict[str, bytes | None] = dict.fromkeys(("bin", "modules", "dev", _ROOT[1:]))
    files["bin/busybox"] = busybox
    names = []
    for path in load_order(modules, MODULES):
        names.append(f"modules/{module_name(path.name)}.ko")
        files[names[-1]] = unpacked(path)
    files["init"] = _init(names, root, first).encode()
    return pack(files)


def _init(modules: Sequence[str], root: str, first: Sequence[str]) -> str:
    lines = (
        "#!/bin/busybox sh",
        "set -e",
        *(f"/bin/busybox insmod /{name}" for name in modules),
        f"/bin/busybox {root} {_ROOT}",
        f"exec /bin/busybox switch_root {_ROOT} {shlex.join(first)}",
    )
    return "\n".join(lines) + "\n"


def lacking(modules: Path, wanted: Iterable[str]) -> tuple[str, ...]:
    """Return those of some modules that a kernel neither has nor has built in."""
    found = {module_name(Path(name).name) for name in _dependencies(modules)}
    built_in = modules / "modules.builtin"
    if built_in.is_file():
        names = built_in.read_text().split()
        found |= {module_name(Path(name).name) for name in names}
    return tuple(name for name in wanted if module_name(name) not in found)


def load_order(modules: Path, wanted: Iterable[str]) -> tuple[Path, ...]:
    """Return the files of modules and of all that they need, each after its needs.

    Those built in have no file. Raises Unavailable for one that is not there at all.
    """
    absent = lacking(modules, wanted := tuple(wanted))
    if absent:
        raise Unavailable(
            f"the kernel of {modules} has no {', '.join(absent)}, and so no way to "
            "this host's files",
            remedy="a kernel for more than clouds, such as linux-image-amd64; or one "
            "of `kernel build --arch x86_64`",
        )
    needs = _dependencies(modules)
    files = {module_name(Path(name).name): name for name in needs}
    order: dict[str, None] = {}
    for name in wanted:
        file = files.get(module_name(name))
        if file is not None:  # modules.dep has all needs of needs, the first one last
            order |= dict.fromkeys((*reversed(needs[file]), file))
    return tuple(modules / file for file in order)


def _dependencies(modules: Path) -> Mapping[str, Sequence[str]]:
    lines = (modules / "modules.dep").read_text().splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name: rest.split() for name, _colon, rest in pairs}


def module_name(file: str) -> str:
    """Return a module's name by its file's: 9pnet_virtio.ko.xz and 9pnet-virtio."""
    return file.partition(".ko")[0].replace("-", "_")


def unpacked(path: Path) -> bytes:
    """Return a module as the kernel takes it."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(data).read()
    return data


def pack(files: Mapping[str, bytes | None]) -> bytes:
    """Return a cpio archive of programs, and of folders (None), by their paths."""
    entries = [
        _entry(number, name, _FOLDER if data is None else _FILE, data or b"")
        for number, (name, data) in enumerate(files.items(), start=1)
    ]
    return b"".join((*entries, _entry(0, _TRAILER, 0, b"")))


def _entry(inode: int, name: str, mode: int, data: bytes) -> bytes:
    #: inode, mode, uid, gid, links, mtime, size, four device numbers, name's size, sum.
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % each for each in fields)
    return _padded(head + name.encode() + b"\0") + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNED)
