"""What a machine in real time shares with the rest of its host: processors, and load.

In virtual time none of it can touch a result. In real time a run is refused where the
host is busy, keeps to processors of its own where there are several, and says in its
environment.json what it ran among.
"""

import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from testbed.errors import Unavailable
from testbed.process import run

#: Tasks that ran or waited for a processor in the last minute, for each processor.
MOST_LOAD = 1.0
_CPUINFO = Path("/proc/cpuinfo")
_TIMEOUT_S = 20.0


def load_of_each() -> float:
    """Return the load of the last minute, for each processor of the host."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def require_quiet() -> None:
    """Raise Unavailable where others use the host more than real time bears."""
    load = load_of_each()
    if load > MOST_LOAD:
        raise Unavailable(
            f"this host is busy: a load of {load:.2f} for each processor in the last "
            f"minute, and real time bears {MOST_LOAD:g}",
            remedy="wait until it is less; or --force-load, whose results others "
            "disturb; or --machine uml, in whose virtual time load does not show",
        )


def own_processors(wanted: int) -> tuple[int, ...]:
    """Return so many processors, the last of those allowed; () if that is all of them.

    The first ones have most interrupts.
    """
    allowed = sorted(os.sched_getaffinity(0))
    return tuple(allowed[-wanted:]) if 0 < wanted < len(allowed) else ()


def keeping_to(
    processors: tuple[int, ...], then: Callable[[], None]
) -> Callable[[], None]:
    """Return what a child calls before it becomes a program that is to keep to some."""

    def begin() -> None:
        if processors:
            os.sched_setaffinity(0, processors)
        then()

    return begin


def describe_host() -> dict[str, Any]:
    """Return what a reader of a run's numbers may ask of its host."""
    return {
        "processor": cpu_model(_CPUINFO.read_text()),
        "processors": os.cpu_count(),
        "kernel": os.uname().release,
        "virtualisation": _virtualisation(),
        "load": round(os.getloadavg()[0], 2),
    }


def cpu_model(cpuinfo: str) -> str:
    """Return the name that /proc/cpuinfo has of the first processor."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return "unknown"


def _virtualisation() -> str:
    """Return what machine this is a guest of; without systemd, whether it is one."""
    if program := shutil.which("systemd-detect-virt"):
        return _detected(program)
    return hypervisor_flag(_CPUINFO.read_text())


@cache  # every run asks, and it stays so
def _detected(program: str) -> str:
    # It exits with 1 for "none".
    return run(("sh", "-c", f"{program} --vm || :"), timeout_s=_TIMEOUT_S).strip()


def hypervisor_flag(cpuinfo: str) -> str:
    """Return whether /proc/cpuinfo has the flag of a processor that is a guest's."""
    flags = (line for line in cpuinfo.splitlines() if line.startswith("flags"))
    return "some" if "hypervisor" in next(flags, "").split() else "none"
