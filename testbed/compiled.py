"""The sender model compiled by mypyc: the same code, about five times as fast.

It is kept in the cache by what it was compiled from. Where there is none for these very
sources, they are run as they are; nothing depends on it but the time it takes.

    python -m testbed.compiled      # compile it, if it is not
"""

import hashlib
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from testbed.errors import CommandError, Unavailable
from testbed.files import locked, remove, scratch
from testbed.process import run
from testbed.user import cache_dir, drop_to_invoking_user

#: Set in the environment, it has the sources run as they are.
PURE = "TESTBED_PURE"
_PACKAGE = Path(__file__).parent
_MODEL = _PACKAGE / "model"
_DEADLINE_S = 900.0
#: What leaves the model, and may go to another process: mypyc's classes do not survive
#: pickle. None of it is in the model's inner loops.
_SOURCES_ONLY = (
    *("__init__.py", "features.py", "match.py", "simulate.py"),
    *("fit.py", "observed.py", "policies.py", "stretch.py", "worlds.py"),
)
#: Of so many states of the sources, compiled modules are kept.
_KEPT = 3
_REMEDY = "apt-get install gcc python3-dev, and pip install mypy"


def search_path(sources: Sequence[str]) -> list[str]:
    """Return where to look for the model's modules: compiled ones first."""
    home = _home()
    if os.environ.get(PURE) or not home.is_dir():
        return list(sources)
    # The modules share a library, which Python looks for as a module of its own.
    sys.path.append(str(home))
    return [str(home / "testbed" / "model"), *sources]


def compile_model() -> Path:
    """Compile the model unless it is; return the folder it is in.

    Raises Unavailable where a compiler, Python's headers or mypy are missing.
    """
    home = _home()
    folder = home.parent
    with (
        locked(folder / ".lock", lambda _holder: None),
        scratch(folder / ".new") as new,
    ):
        if not home.is_dir():
            _compile(new / "build")
            _pick_libraries(new / "build", new / "incoming")
            (new / "incoming").rename(home)
        _forget_all_but_newest(folder)
    return home


def _compile(build: Path) -> None:
    shutil.copytree(_PACKAGE, build / "testbed", ignore=_no_caches)
    modules = sorted((build / "testbed" / "model").glob("*.py"))
    names = (
        str(module.relative_to(build))
        for module in modules
        if module.name not in _SOURCES_ONLY
    )
    try:
        run((sys.executable, "-m", "mypyc", *names), cwd=build, timeout_s=_DEADLINE_S)
    except CommandError as error:
        raise Unavailable(f"mypyc cannot compile it: {error}", remedy=_REMEDY) from None


def _pick_libraries(build: Path, incoming: Path) -> None:
    """Move what mypyc has put beside the sources, and beside their package."""
    for library in (*build.glob("*.so"), *build.glob("testbed/model/*.so")):
        target = incoming / library.relative_to(build)
        target.parent.mkdir(parents=True, exist_ok=True)
        library.rename(target)


def _forget_all_but_newest(folder: Path) -> None:
    homes = sorted(folder.glob("[!.]*"), key=lambda home: home.stat().st_mtime_ns)
    for home in homes[:-_KEPT]:
        remove(home)


def let_signals_in() -> None:
    """Give Python the chance to handle signals, which compiled code never does.

    For long loops of the model: this module is not compiled.
    """


def _home() -> Path:
    """Return the folder of what was compiled from these sources for this Python."""
    digest = hashlib.sha256(str(sysconfig.get_config_var("EXT_SUFFIX")).encode())
    for module in sorted(_MODEL.glob("*.py")):
        digest.update(module.name.encode() + b"\0" + module.read_bytes() + b"\0")
    digest.update(" ".join(_SOURCES_ONLY).encode())
    return cache_dir() / "model" / digest.hexdigest()


def _no_caches(folder: str, names: list[str]) -> list[str]:
    del folder
    return [name for name in names if name == "__pycache__" or name.endswith(".so")]


def _main() -> None:
    drop_to_invoking_user()
    try:
        compile_model()
    except Unavailable as error:
        # What it is for is speed alone, so whoever sets up goes on without it.
        sys.stderr.write(f"the model stays uncompiled, and slower: {error}\n")


if __name__ == "__main__":
    _main()
