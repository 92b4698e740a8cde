"""Who waits for numba to compile is told so, once; who does not wait is not."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
#: A kernel so small that numba needs no time, compiled twice.
CALLED = """
from testbed.trace.loads import signed
print(signed(255, 8), signed(True, 8))
"""
LOGGED = """
import logging
logging.basicConfig(format="%(name)s says %(message)s")
"""
TOLD = (
    "testbed: numba compiles the capture reader, this once, which may take a minute "
    "or two; `make setup` does it beforehand\n"
)


def told(cache: str, first: str = "", **options: str) -> str:
    """Return what a process that calls kernels has on stderr; it has no library."""
    plain = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    done = subprocess.run(
        [sys.executable, "-c", first + CALLED],
        env={**plain, "XDG_CACHE_HOME": cache, **options},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout == "-1 1\n"
    return done.stderr


def test_the_first_to_wait_is_told_and_the_next_finds_it_compiled(
    tmp_path: Path,
) -> None:
    assert told(str(tmp_path)) == TOLD
    assert told(str(tmp_path)) == ""


def test_nobody_waits_where_nothing_is_compiled(tmp_path: Path) -> None:
    assert told(str(tmp_path), NUMBA_DISABLE_JIT="1") == ""


def test_the_log_names_the_folder_where_nothing_can_be_kept() -> None:
    logged = told("/proc/none", LOGGED)

    assert logged.startswith("testbed.trace.jit says testbed: numba compiles")
    assert "each time, for /proc/none/testbed cannot be written; set XDG" in logged
    assert logged.count("\n") == 1
