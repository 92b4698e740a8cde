"""The capture reader as a library, by numba and as plain Python: all say the same."""

import gzip
import os
import sys
from pathlib import Path

import pytest

from testbed.process import run
from testbed.trace.jit import LIBRARY, kept_in
from tools.make_captures import make_capture

CHECKOUT = Path(__file__).parents[2]
REFERENCE = CHECKOUT / "captures" / "reference" / "refine-tso-autosizing"
SCRIPT = """
import sys
from testbed.cli.inspect import main

status = main(["--json", *sys.argv[1:]])
print("numba" in sys.modules)
sys.exit(status)
"""


def inspected(captures: list[Path], **env: str) -> tuple[str, str]:
    """Return the JSON of captures, and whether numba was imported for it."""
    plain = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    argv = (sys.executable, "-c", SCRIPT, *map(str, captures))
    told, numba, end = run(argv, timeout_s=600, env={**plain, **env}).split("\n")
    assert end == ""
    return told, numba


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return captures of every kind of file, one of more flows than there is room."""
    folder = tmp_path_factory.mktemp("captures")
    many, few = folder / "many.pcap", folder / "few.pcapng"
    make_capture(many, packets=6000, flows=1500)
    make_capture(few, packets=3000, flows=3, pcapng=True)
    packed = folder / "packed.pcapng.gz"
    packed.write_bytes(gzip.compress(few.read_bytes()))
    reference = [REFERENCE / "before.pcapng", REFERENCE / "after.pcapng"]
    return [many, few, packed, *reference]


@pytest.mark.guest
def test_library_numba_and_python_say_the_same(captures: list[Path]) -> None:
    run((sys.executable, "-m", "testbed.trace.ahead"), timeout_s=900)
    library, numba_with_it = inspected(captures)
    compiled, numba_without = inspected(captures, NUMBA_WARNINGS="0")
    plain, _ = inspected(captures, NUMBA_DISABLE_JIT="1")

    assert (kept_in() / LIBRARY).is_file()
    assert (numba_with_it, numba_without) == ("False", "True")
    assert library == compiled == plain
