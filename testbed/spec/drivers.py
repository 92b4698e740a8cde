"""Programs that may drive a workload in our place, and what each of them can do.

What a driver cannot do it is not asked for: check_driver says so when a file is loaded.
Facts about the tools are of their own --help and source, and were tried: iperf 3.12,
netperf 2.7.0.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from testbed.errors import SpecError
from testbed.units import NS_PER_S

if TYPE_CHECKING:
    from testbed.spec.workload import Workload

#: Who may drive a workload -> the programs it takes -> the apt package of each.
DRIVERS: Mapping[str, Mapping[str, str]] = {
    "testbed": {},
    "iperf3": {"iperf3": "iperf3"},
    "netperf": {"netperf": "netperf", "netserver": "netperf"},
}
_BLOCK = 1 << 20  # MAX_BLOCKSIZE, iperf_api.h
_STREAMS = 128  # MAX_STREAMS, iperf.h
_FQ_RATE = ((1 << 32) - 1) * 8  # iperf3 hands it on as 32 bits of bytes/s
Rules = tuple[tuple[bool, str], ...]


def check_driver(workload: "Workload") -> None:
    """Raise SpecError for what a workload's driver cannot do."""
    rules = _RULES.get(workload.driver)
    if rules is None:
        known = ", ".join(DRIVERS)
        raise SpecError(f"driver: there is no {workload.driver!r}; there are: {known}")
    for can, why in rules(workload):
        if not can:
            raise SpecError(f"driver: {workload.driver} {why}")


def _own(_workload: "Workload") -> Rules:
    return ()


def _iperf3(workload: "Workload") -> Rules:
    return (
        (
            workload.bytes is None,
            "closes once it has written all, and what is under way is lost: "
            "give a duration, not bytes",
        ),
        _whole_seconds(workload),
        (workload.request_size is None, "has no transactions: leave request_size out"),
        (not workload.groups, "treats all flows alike: leave groups out"),
        (not workload.stagger, "starts its flows together: leave stagger out"),
        (workload.flows <= _STREAMS, f"has {_STREAMS} flows at most"),
        (workload.send_size <= _BLOCK, f"takes a send_size of {_BLOCK} bytes at most"),
        (
            workload.sndbuf == workload.rcvbuf,
            "sets both buffers of both ends (-w): give sndbuf and rcvbuf the same size",
        ),
        (
            (workload.pacing_rate or 0) <= _FQ_RATE,
            f"takes a pacing_rate of {_FQ_RATE} bit/s at most",
        ),
    )


def _netperf(workload: "Workload") -> Rules:
    paced = any(group.pacing_rate is not None for group in workload.each_group())
    return (
        _whole_seconds(workload),
        (
            (workload.bytes or 0) % workload.send_size == 0,
            "sends whole messages: give bytes that are a multiple of send_size",
        ),
        # -q is in its git, and in no release.
        (not paced, "2.7.0 cannot pace a socket: leave pacing_rate out"),
    )


def _whole_seconds(workload: "Workload") -> tuple[bool, str]:
    whole = (workload.duration or 0) % NS_PER_S == 0
    return (whole, "runs for whole seconds: give a duration of so many")


_RULES = {"testbed": _own, "iperf3": _iperf3, "netperf": _netperf}
