"""Commands as a user gives them, for the tests that run whole experiments."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
#: Where a guest looks, in /usr/bin among others.
HAS_NETPERF = all(shutil.which(name) for name in ("netperf", "netserver"))
needs_netperf = pytest.mark.skipif(
    not HAS_NETPERF,
    reason="netperf is not installed: apt-get install netperf (Debian: non-free)",
)


def run_testbed(
    *arguments: str, cwd: Path, checkout: Path = CHECKOUT
) -> subprocess.CompletedProcess[str]:
    if arguments[0] == "run":
        arguments = (*arguments, "--force-load")  # of tests there may be several
    return subprocess.run(
        [sys.executable, "-m", "testbed", *arguments],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(checkout),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_json(cwd: Path, *arguments: str, checkout: Path = CHECKOUT) -> dict:
    done = run_testbed("run", *arguments, "--json", cwd=cwd, checkout=checkout)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)
