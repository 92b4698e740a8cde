"""Kernels as data: what to build, and what was built."""

from dataclasses import dataclass
from pathlib import Path

#: The name of the kernel that runs this program.
HOST_KERNEL = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel that can be asked for by name.

    package: the apt package that ships its source tarball below /usr/src.  source: a
    tree or tarball given by the user instead.  patches, configs: file paths, applied
    in order.  compile_steps: how many files make builds from nothing (for progress).
    """

    name: str
    about: str
    package: str | None
    source: Path | None
    patches: tuple[Path, ...]
    configs: tuple[Path, ...]
    compile_steps: int = 1250


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelIdentity:
    """Which kernel ran; stored in every run.

    release: `uname -r`.  build_id: the GNU build id note, hex.  config_sha256: of the
    resolved .config.  patches: "name sha256[:12]" in the order applied.  source:
    package and version, or path and content hash.  compiler: first line of
    `gcc --version`.
    """

    name: str
    release: str
    build_id: str
    config_sha256: str
    patches: tuple[str, ...]
    source: str
    compiler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltKernel:
    """An executable User-Mode Linux kernel in the cache, and which kernel it is.

    image: of the host's own kernel, what names it; nobody boots that.
    """

    image: Path
    identity: KernelIdentity
