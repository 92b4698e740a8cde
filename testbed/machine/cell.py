"""A program that runs another where it can write one folder and nothing else.

    python cell.py FOLDER COMMAND...

Started in mount, process and network namespaces of its own (see host.cell_argv). Makes
every mount read-only but FOLDER's, and of sysctls leaves those writable that belong to
the network namespace that looks at them. Temporary files go to a tmpfs on /dev/shm that
nobody else sees, and that is gone with the cell. Then it becomes the command. That
guards a host against mistakes, not against a root who wants out. Standard library
alone, and only what a Python without its site-packages has.
"""

import ctypes
import os
import sys

_MS_BIND = 0x1000  # linux/mount.h, as the next; Linux 5.12 and later
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 1
#: Of no network namespace but the one that looks: those of the whole host are not seen
#: in any but the first, or read-only (ensure_safe_net_sysctl(), 31c4d2f160eb, v5.13).
_NET_SYSCTLS = "/proc/sys/net"
TEMPORARY = "/dev/shm"  # noqa: S108  # of the cell's own
_FAILED = 125  # what env(1) and its like say when they, not the command, failed
_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def main(folder: str, *argv: str) -> None:
    """Close the cell, and become the command."""
    for path in (folder, _NET_SYSCTLS):
        _call(
            "mount", path, _libc.mount(path.encode(), path.encode(), None, _MS_BIND, 0)
        )
    _set_attributes("/", _AT_RECURSIVE, attr_set=_MOUNT_ATTR_RDONLY)
    for path in (folder, _NET_SYSCTLS):
        _set_attributes(path, 0, attr_clr=_MOUNT_ATTR_RDONLY)
    _call("mount", TEMPORARY, _libc.mount(b"tmpfs", TEMPORARY.encode(), b"tmpfs", 0, 0))
    os.chdir(folder)  # where we are is still below the mount
    os.execv(argv[0], argv)  # noqa: S606


def _set_attributes(path: str, flags: int, **attributes: int) -> None:
    wanted = _MountAttr(**attributes)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    done = _libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        path.encode(),
        ctypes.c_uint(flags),
        ctypes.byref(wanted),
        size,
    )
    _call("mount_setattr", path, done)


def _call(what: str, path: str, done: int) -> None:
    if done:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}", path)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.stdout.write(f"cell: {error}\n")
        sys.exit(_FAILED)
