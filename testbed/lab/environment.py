"""What the run ran on: facts that a reader of its numbers may ask for."""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from testbed.lab.counters import read_counters
from testbed.lab.net import Host, Network

_SYSCTLS = (
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_tso_rtt_log",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_ecn",
    "net.core.default_qdisc",
)
_CLOCK_REALTIME_COARSE = 5  # linux/time.h
_PARAMETERS = ("tcp", "tcp_output", "tcp_cubic", "tcp_input")


def describe(network: Network) -> dict[str, Any]:
    """Return the kernel, its switches, and each host's links, qdiscs and sysctls."""
    return {
        "kernel": " ".join(os.uname()[2:4]),
        "architecture": platform.machine(),
        "command_line": Path("/proc/cmdline").read_text().strip(),
        "clocksource": _clocksource(),
        # What a coarse clock resolves is a tick.
        "hz": round(1 / time.clock_getres(_CLOCK_REALTIME_COARSE)),
        "switches": _switches(),
        "counters": sorted(read_counters()),
        "hosts": {host.name: _describe_host(host) for host in network.hosts()},
    }


def _clocksource() -> str:
    path = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return path.read_text().strip() if path.exists() else "unknown"


def _switches() -> dict[str, str]:
    found = {}
    for module in _PARAMETERS:
        for path in sorted(Path(f"/sys/module/{module}/parameters").glob("*")):
            found[f"{module}.{path.name}"] = path.read_text().strip()
    return found


def _describe_host(host: Host) -> dict[str, Any]:
    return {
        "links": json.loads(host.run("ip", "-d", "-j", "link", "show")),
        "qdiscs": json.loads(host.run("tc", "-j", "qdisc", "show")),
        "offloads": {
            port.device: host.run("ethtool", "-k", port.device).splitlines()[1:]
            for port in host.ports
        },
        "sysctls": _sysctls(host),
    }


def _sysctls(host: Host) -> dict[str, str]:
    shown = host.run("sysctl", "-e", *_SYSCTLS).splitlines()
    pairs = (line.split(" = ", 1) for line in shown if " = " in line)
    return {name: " ".join(value.split()) for name, value in pairs}
