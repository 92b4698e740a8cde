"""The processor's counters: read where there are some, and left out where not."""

import os
from pathlib import Path

from testbed.lab.perf import CpuCounters, counting, scaled


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_counter_that_ran_all_the_time_is_as_it_is() -> None:
    assert scaled(1000, 50, 50) == 1000


def test_one_that_took_turns_is_scaled_and_one_that_never_ran_unknown() -> None:
    assert scaled(1000, 50, 25) == 2000
    assert scaled(0, 50, 0) is None


def test_an_event_that_nobody_has_is_left_out() -> None:
    with counting({"nonesuch": 1 << 40}) as cpu:
        assert cpu.read() == {}


def test_values_come_from_the_files_and_files_are_closed() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, (7).to_bytes(8, "little") + (1).to_bytes(8, "little") * 2)

    assert CpuCounters({"cycles": ours}).read() == {"cycles": 7}
    os.close(ours)
    os.close(theirs)
    before = open_files()
    with counting():
        pass
    assert open_files() == before
