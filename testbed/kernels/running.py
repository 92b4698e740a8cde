"""The kernel that runs this program, identified as far as it says who it is."""

import gzip
import os
import re
from pathlib import Path

from testbed.files import read_or_none, sha256
from testbed.kernels.elf import build_id_of_notes
from testbed.spec.kernel import HOST_KERNEL, BuiltKernel, KernelIdentity

_UNKNOWN = "unknown"


def running_kernel() -> BuiltKernel:
    """Return this host's kernel. What it does not tell is "unknown"."""
    release = os.uname().release
    notes = read_or_none(Path("/sys/kernel/notes")) or b""
    version = Path("/proc/version").read_text()
    return BuiltKernel(
        image=Path(f"/boot/vmlinuz-{release}"),
        identity=KernelIdentity(
            name=HOST_KERNEL,
            release=release,
            build_id=build_id_of_notes(notes) or _UNKNOWN,
            config_sha256=_config_sha256(release),
            patches=(),
            source=f"running on this host: {os.uname().version}",
            compiler=compiler_in(version),
        ),
    )


def compiler_in(version: str) -> str:
    """Return the compiler that /proc/version names.

    `Linux version 6.1.0 (a@b) (gcc (Debian 12.2.0-14) 12.2.0, GNU ld ...) #1 SMP ...`
    """
    found = re.search(r"\) \((.*?), ", version)
    return found[1] if found else _UNKNOWN


def _config_sha256(release: str) -> str:
    packed = read_or_none(Path("/proc/config.gz"))
    if packed is not None:
        return sha256(gzip.decompress(packed))
    config = read_or_none(Path(f"/boot/config-{release}"))
    return _UNKNOWN if config is None else sha256(config)
