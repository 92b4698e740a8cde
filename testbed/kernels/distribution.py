"""A distribution's kernel, by its file: which it is, and where its modules are.

`/boot/vmlinuz-6.1.0-44-amd64`, or the same below a folder that a package was unpacked
in (`dpkg -x linux-image-*.deb FOLDER`): modules are looked for beside boot/.
"""

from pathlib import Path

from testbed.errors import SpecError, Unavailable
from testbed.files import read_or_none, sha256
from testbed.kernels.running import compiler_in
from testbed.spec.kernel import Arch, BuiltKernel, KernelIdentity

_UNKNOWN = "unknown"
#: Of the setup header: Documentation/arch/x86/boot.rst.
_MAGIC, _MAGIC_AT = b"HdrS", 0x202
_VERSION_AT = 0x20E
_VERSION_BASE = 0x200
_MOST = 1024


def distribution_kernel(path: Path) -> BuiltKernel:
    """Return the kernel in a bzImage. Raises SpecError for any other file.

    What a bzImage does not tell, as its build id, is "unknown".
    """
    path = path.expanduser().absolute()
    data = read_or_none(path)
    if data is None:
        raise SpecError(f"{path}: no such kernel image")
    banner = banner_of(data)
    if not banner:
        raise SpecError(f"{path} is no bzImage of x86")
    release = banner.split()[0]
    config = read_or_none(path.with_name(f"config-{release}"))
    return BuiltKernel(
        image=path,
        identity=KernelIdentity(
            name=str(path),
            release=release,
            build_id=_UNKNOWN,
            config_sha256=_UNKNOWN if config is None else sha256(config),
            patches=(),
            source=f"{path} {sha256(data)[:12]}: {banner}",
            compiler=compiler_in(banner),
            arch=Arch.X86_64.value,
        ),
    )


def banner_of(data: bytes) -> str:
    """Return the release of a bzImage, and who built it when; "" if it is none."""
    if data[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] != _MAGIC:
        return ""
    at = int.from_bytes(data[_VERSION_AT : _VERSION_AT + 2], "little") + _VERSION_BASE
    return data[at : at + _MOST].partition(b"\0")[0].decode("ascii", "replace")


def modules_of(kernel: BuiltKernel) -> Path:
    """Return the folder of a kernel's modules; Unavailable if it is not there."""
    release = kernel.identity.release
    folder = kernel.image.parent.parent / "lib" / "modules" / release
    if not (folder / "modules.dep").is_file():
        raise Unavailable(
            f"{kernel.image} has its drivers in modules, and there is no "
            f"{folder}/modules.dep",
            remedy=f"apt-get install linux-image-{release}; of a package that was only "
            f"unpacked: depmod -b {folder.parents[2]} {release}",
        )
    return folder
