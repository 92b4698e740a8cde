"""Commands as a user gives them, for the tests that run whole experiments."""

import json
import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent


def run_testbed(
    *arguments: str, cwd: Path, checkout: Path = CHECKOUT
) -> subprocess.CompletedProcess[str]:
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
