"""Kernel images and module folders as a distribution's package leaves them."""

from pathlib import Path

RELEASE = "6.1.0-9-amd64"
BANNER = f"{RELEASE} (debian-kernel@lists.debian.org) #1 SMP Debian 6.1.27-1"
#: What a guest's root takes, and depends on: file, and those of its needs.
ROOT = {
    "kernel/fs/9p/9p.ko": ("kernel/net/9p/9pnet.ko", "kernel/fs/netfs/netfs.ko"),
    "kernel/net/9p/9pnet_virtio.ko": (
        "kernel/net/9p/9pnet.ko",
        "kernel/drivers/virtio/virtio.ko",
    ),
    "kernel/net/9p/9pnet.ko": (),
    "kernel/fs/netfs/netfs.ko": (),
    "kernel/drivers/virtio/virtio.ko": (),
    "kernel/fs/overlayfs/overlay.ko": (),
}


def a_bzimage(banner: str = BANNER) -> bytes:
    """Return the head of a bzImage."""
    data = bytearray(0x800)
    data[0x202:0x206] = b"HdrS"
    data[0x20E:0x210] = (0x400 - 0x200).to_bytes(2, "little")
    data[0x400 : 0x400 + len(banner)] = banner.encode()
    return bytes(data)


def module_tree(root: Path, *modules: str) -> Path:
    """Write a kernel below root/boot, and its modules; return the image.

    It has what a guest's root takes, virtio_pci built in, and the modules named.
    """
    folder = root / "lib" / "modules" / RELEASE
    files = {**ROOT, **{f"kernel/{name}.ko": () for name in modules}}
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    lines = (f"{name}: {' '.join(needs)}\n" for name, needs in files.items())
    (folder / "modules.dep").write_text("".join(lines))
    (folder / "modules.builtin").write_text("kernel/drivers/virtio/virtio-pci.ko\n")
    image = root / "boot" / f"vmlinuz-{RELEASE}"
    image.parent.mkdir()
    image.write_bytes(a_bzimage())
    return image
