"""What a host shows of runs on it, for tests that nothing is left of them."""

import json
import subprocess
import time
from pathlib import Path

from testbed.machine.leftovers import parse_sysctls

_DEATH_S = 10


def look() -> dict[str, object]:
    """Return what this host has of links, qdiscs, namespaces, mounts and sysctls."""
    return {
        "links": [each["ifname"] for each in json.loads(shown("ip", "-j", "link"))],
        "qdiscs": shown("tc", "qdisc", "show"),
        "namespaces": sorted(each.name for each in Path("/run/netns").glob("*")),
        "mounts": shown("mount"),
        "sysctls": parse_sysctls(shown("sysctl", "-a", "--ignore")),
    }


def shown(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def processes_under(folder: Path) -> list[int]:
    """Return the pids of processes whose working folder is below folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_gone(folder: Path) -> list[int]:
    """Wait for those processes to end; return which do not."""
    deadline = time.monotonic() + _DEATH_S
    while (left := processes_under(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left
