"""The processor's own counters of this process: cycles and instructions, where it has.

User-Mode Linux has none, nor have many virtual machines. Source: perf_event_open(2) and
include/uapi/linux/perf_event.h. Start with CpuCounters.
"""

import ctypes
import os
import platform
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_SYSCALLS = {"x86_64": 298, "aarch64": 241}
_HARDWARE = 0  # PERF_TYPE_HARDWARE
_EVENTS: Mapping[str, int] = {"cycles": 0, "instructions": 1}
_INHERIT, _EXCLUDE_HV = 1 << 1, 1 << 6  # of attr.flags
_TIMES = 0b11  # PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING
_CLOEXEC = 1 << 3
#: struct perf_event_attr as far as its first version has it: type, size, config,
#: sample_period, sample_type, read_format, flags, wakeup_events, bp_type, bp_addr.
_ATTR = struct.Struct("=IIQQQQQIIQ")
_READ = struct.Struct("=QQQ")
_libc = ctypes.CDLL(None, use_errno=True)


class CpuCounters:
    """Counters of this process and of those it starts; none where there are none."""

    def __init__(self, files: Mapping[str, int]) -> None:
        self._files = files

    def read(self) -> dict[str, int]:
        """Return each counter's value since it was opened."""
        told = {name: os.read(fd, _READ.size) for name, fd in self._files.items()}
        values = {name: scaled(*_READ.unpack(data)) for name, data in told.items()}
        return {name: value for name, value in values.items() if value is not None}


def scaled(value: int, enabled_ns: int, running_ns: int) -> int | None:
    """Return a count as of all the time that it was wanted; None if it never ran.

    Where there are more counters than the processor has, they take turns.
    """
    return None if running_ns == 0 else value * enabled_ns // running_ns


@contextmanager
def counting(events: Mapping[str, int] = _EVENTS) -> Iterator[CpuCounters]:
    """Count what this process does from now on, its system calls included.

    It may make system calls that fail, which take virtual time: begin before traffic.
    """
    opened = {name: _open(config) for name, config in events.items()}
    files = {name: fd for name, fd in opened.items() if fd >= 0}
    try:
        yield CpuCounters(files)
    finally:
        for fd in files.values():
            os.close(fd)


def _open(config: int) -> int:
    """Return a descriptor, negative where that event cannot be counted."""
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        return -1
    flags = _INHERIT | _EXCLUDE_HV
    attr = _ATTR.pack(_HARDWARE, _ATTR.size, config, 0, 0, _TIMES, flags, 0, 0, 0)
    # This process, on whatever processor, in no group.
    return int(_libc.syscall(number, attr, 0, -1, -1, ctypes.c_ulong(_CLOEXEC)))
