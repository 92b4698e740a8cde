"""The lab as a machine is given it: the command, what it sees, what it told at its end.

A guest's file system is a view of the host's that keeps nothing, so whatever Python
computes there once and for all it would compute at every boot. prepare_lab() has it
done before, on the host: half a second of a guest's four.
"""

import compileall
import importlib.metadata
import os
import sys
from functools import cache
from pathlib import Path

import testbed
from testbed.errors import (
    InfrastructureError,
    SpecError,
    TestbedError,
    Unavailable,
)
from testbed.files import locked, scratch
from testbed.machine.machine import Job
from testbed.process import run as run_command
from testbed.spec.drivers import DRIVERS
from testbed.spec.experiment import Scale
from testbed.store import Run
from testbed.user import cache_dir

#: Wall-clock seconds that one variant may take before its machine is ended. At full
#: scale it takes tens of minutes, on a busy machine hours.
DEADLINE_S = {Scale.QUICK: 600.0, Scale.FULL: 6 * 3600.0}
_CHECKOUT = Path(testbed.__file__).parent.parent
_PREPARING_S = 120.0


def prepare_lab() -> None:
    """Have Python's byte code and scapy's tables ready for guests; mostly they are.

    Where the checkout cannot be written to, guests go on without byte code.
    """
    for name in ("testbed", "topologies"):
        _compile(_CHECKOUT / name)
    tables = _scapy_tables()
    if tables.is_dir():
        return
    with (
        locked(tables.parent / ".lock", lambda _holder: None),
        scratch(tables.parent / ".new") as new,
    ):
        if tables.is_dir():
            return
        # scapy parses 40,000 vendors' names on import, unless it finds them parsed.
        run_command(
            (sys.executable, "-c", "import scapy.data"),
            timeout_s=_PREPARING_S,
            env={**os.environ, "XDG_CACHE_HOME": str(new)},
        )
        new.rename(tables)


@cache  # what this process runs is what it began with
def _compile(package: Path) -> None:
    compileall.compile_dir(package, quiet=2)


def _scapy_tables() -> Path:
    return cache_dir() / "scapy" / importlib.metadata.version("scapy")


def lab_job(run: Run) -> Job:
    """Return the command that runs a variant inside a machine."""
    return Job(
        argv=("/run/venv/bin/python", "-m", "testbed.lab", "."),
        folder=run.folder,
        views={
            "/run/venv": Path(sys.prefix),
            "/run/testbed": _CHECKOUT,
            "/run/cache": _scapy_tables(),
        },
        env={
            "PYTHONPATH": "/run/testbed",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "XDG_CACHE_HOME": "/run/cache",
            # Mininet asks for distutils; setuptools' own copy takes a second to load.
            "SETUPTOOLS_USE_DISTUTILS": "stdlib" if sys.version_info < (3, 12) else "",
        },
        programs=DRIVERS[run.spec().workload.driver],
        seed=run.seed,
        deadline_s=DEADLINE_S[run.experiment.scale],
    )


def lab_error(folder: Path, status: int) -> TestbedError:
    """Return the error that made the lab exit with status, of the kind it was there."""
    error = folder / "error.txt"
    if not error.exists():
        tail = "\n".join((folder / "console.log").read_text().splitlines()[-15:])
        return InfrastructureError(f"the lab exited with {status}:\n{tail}")
    text = error.read_text().strip()
    if status == SpecError.exit_code:
        return SpecError(text)
    if status == Unavailable.exit_code:
        return Unavailable(text, remedy="choose another machine or kernel")
    return InfrastructureError(text)
