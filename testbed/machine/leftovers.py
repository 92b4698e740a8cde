"""What a run on a host left: the host before it against the host after it.

What bears the run's mark, and any setting that was there before and is another now, is
left by the run or changed under it: either way the run is void. What came or went
without its mark (a container's link, say) is somebody else's, and only told.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.held import mount_points
from testbed.process import run
from testbed.spec.names import NAMESPACES, RUN_VARIABLE, link_prefix, namespace_name

_TIMEOUT_S = 20
#: What ends the names of sysctls that move by themselves: counts, random numbers, and
#: how often perf may sample, which the kernel lowers when it takes long.
_MOVING = ("_count", "-nr", "-state", "_pid", ".uuid", ".nr", "_avail", "_sample_rate")
_QDISC_KEYS = ("kind", "handle", "parent", "options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A host at a moment: names of what there is, and settings with their values.

    settings: sysctls by their name, and root qdiscs as "qdisc of DEVICE".
    """

    links: frozenset[str]
    namespaces: frozenset[str]
    mounts: frozenset[str]
    modules: frozenset[str]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What became different. ours: a sentence each; others: what bears no mark."""

    ours: tuple[str, ...]
    others: tuple[str, ...]


def take_snapshot() -> Snapshot:
    """Look at this host, as its first network namespace shows it."""
    links = json.loads(run(("ip", "-j", "link"), timeout_s=_TIMEOUT_S))
    qdiscs = json.loads(run(("tc", "-j", "qdisc", "show"), timeout_s=_TIMEOUT_S))
    sysctls = run(("sysctl", "-a", "--ignore"), timeout_s=_TIMEOUT_S)
    return Snapshot(
        links=frozenset(each["ifname"] for each in links),
        namespaces=frozenset(each.name for each in NAMESPACES.glob("*")),
        mounts=mount_points(),
        modules=frozenset(
            line.split()[0] for line in _read(Path("/proc/modules")).splitlines()
        ),
        settings={**parse_sysctls(sysctls), **_qdiscs(qdiscs)},
    )


def parse_sysctls(text: str) -> dict[str, str]:
    """Return what `sysctl -a` shows, without what moves by itself."""
    pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    return {name: value for name, value in pairs if not name.endswith(_MOVING)}


def _qdiscs(shown: Iterable[Mapping[str, object]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for each in shown:
        told = json.dumps({key: each.get(key) for key in _QDISC_KEYS}, sort_keys=True)
        found.setdefault(f"qdisc of {each.get('dev')}", []).append(told)
    return {name: "; ".join(told) for name, told in found.items()}


def compare(before: Snapshot, after: Snapshot, run_id: str) -> Left:
    """Return what differs, sorted by whose it is."""
    ours: list[str] = []
    others: list[str] = []
    marks = (namespace_name(run_id, ""), run_id)
    for what in ("link", "namespace", "mount"):
        was, now = (getattr(each, f"{what}s") for each in (before, after))
        for name in sorted(was ^ now):
            marked = any(mark in name for mark in marks)
            marked |= what == "link" and name.startswith(link_prefix(run_id))
            came = "was left" if marked else "came"
            told = f"{what} {name} {came if name in now else 'is gone'}"
            (ours if marked else others).append(told)
    others += [f"module {name} was loaded" for name in after.modules - before.modules]
    for name in sorted(before.settings.keys() & after.settings.keys()):
        was, now = before.settings[name], after.settings[name]
        if was != now:
            ours.append(f"{name} was {was!r} and is {now!r}")
    return Left(ours=tuple(ours), others=tuple(sorted(others)))


def processes_of(run_id: str, proc: Path = Path("/proc")) -> tuple[str, ...]:
    """Name the processes that were started for a run's lab and are still there."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    found = (_is_marked(each, mark) for each in sorted(proc.glob("[0-9]*")))
    return tuple(f"process {name} was left" for name in found if name)


def _is_marked(process: Path, mark: bytes) -> str:
    """Return a process's id and name if its environment has the mark, else ""."""
    try:
        if mark in (process / "environ").read_bytes().split(b"\0"):
            return f"{process.name} ({(process / 'comm').read_text().strip()})"
    except OSError:  # it ended while we looked
        pass
    return ""


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
