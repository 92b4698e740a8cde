"""Kernels as data: what to build, and what was built."""

import enum
from dataclasses import dataclass
from pathlib import Path

#: The name of the kernel that runs this program.
HOST_KERNEL = "host"


def is_image(name: str) -> bool:
    """Tell whether a kernel is named by the file of its image: a path, not a name."""
    return name.startswith(("/", "./", "../", "~/"))


class Arch(enum.Enum):
    """What a kernel is built for: the value is kbuild's ARCH."""

    UM = "um"
    X86_64 = "x86_64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel that can be asked for by name.

    package: the apt package that ships its source tarball below /usr/src.  source: a
    tree or tarball given by the user instead.  patches: testbed's own, user_patches:
    what is on top of the source beside them; configs: fragments; all file paths,
    applied in order.  compile_steps: how many files make builds from nothing (for
    progress).
    """

    name: str
    about: str
    package: str | None
    source: Path | None
    patches: tuple[Path, ...]
    configs: tuple[Path, ...]
    user_patches: tuple[Path, ...] = ()
    arch: Arch = Arch.UM
    compile_steps: int = 1250


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelIdentity:
    """Which kernel ran; stored in every run.

    release: `uname -r`.  build_id: the GNU build id note, hex.  config_sha256: of the
    resolved .config.  patches: "name sha256[:12]" in the order given, testbed's own
    first.  source: package and version, or path and content hash.  compiler: first
    line of `gcc --version`.  commit: what `git describe` says of a source in git, or
    "".  arch: what it was built for, "um" or "x86_64".
    """

    name: str
    release: str
    build_id: str
    config_sha256: str
    patches: tuple[str, ...]
    source: str
    compiler: str
    commit: str = ""
    arch: str = Arch.UM.value


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltKernel:
    """A kernel in the cache, and which it is.

    image: a User-Mode Linux executable, or a bzImage; identity.arch tells. Of the
    host's own kernel it is what names it; nobody boots that.
    """

    image: Path
    identity: KernelIdentity
