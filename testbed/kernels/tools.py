"""What a kernel build needs of this host: programs, a static C library, x86-64."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from testbed.errors import BuildError, CommandError, Unavailable
from testbed.process import missing_programs, run
from testbed.spec.kernel import Arch

_TIMEOUT_S = 30.0

#: Program -> the Debian package it comes in.
PACKAGES = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
    "ld": "binutils",
    "strip": "binutils",
    "perl": "perl",
}


def compiler_version() -> str:
    """Return the first line of `gcc --version`. Raises Unavailable naming all gaps."""
    if shutil.which("gcc") is None:
        require_tools()
    return run(("gcc", "--version"), timeout_s=_TIMEOUT_S).splitlines()[0]


def require_tools(arch: Arch = Arch.UM) -> None:
    """Raise one Unavailable that names everything this host lacks, if it does."""
    machine = os.uname().machine
    if machine != "x86_64":
        raise Unavailable(
            f"kernels are built for x86-64, on x86-64; this host is {machine}",
            remedy="use another machine (qemu or host), or another computer",
        )
    missing = missing_programs(PACKAGES)
    if "gcc" not in missing and not _links_statically():
        missing["libc.a"] = "libc6-dev"
    if arch is Arch.X86_64 and not Path("/usr/include/libelf.h").exists():
        missing["libelf.h"] = "libelf-dev"  # objtool wants it
    if missing:
        raise Unavailable(
            f"a kernel build needs {', '.join(missing)}",
            remedy=f"apt-get install {' '.join(sorted(set(missing.values())))}",
        )


def require_plain_path(path: Path) -> None:
    """Raise BuildError when kbuild cannot work below a folder of that name."""
    if any(character.isspace() or character == ":" for character in str(path)):
        raise BuildError(
            f"a kernel cannot be built below {path}: its name has a space or a colon",
            remedy="set XDG_CACHE_HOME to a folder without",
        )


def relevant_errors(lines: Iterable[str], most: int = 12) -> tuple[str, ...]:
    """Pick from make's output the lines that say why it failed, the last ones."""
    told = [line for line in lines if line.strip()]
    marks = ("error:", "Error:", "undefined reference", "No space left", "cannot find")
    reasons = [line for line in told if any(mark in line for mark in marks)]
    return tuple((reasons or told)[-most:])


def _links_statically() -> bool:
    """Tell whether gcc finds libc.a: it answers with the bare name when it does not."""
    try:
        answer = run(("gcc", "-print-file-name=libc.a"), timeout_s=_TIMEOUT_S)
    except CommandError:
        return False
    return answer.strip() != "libc.a"
