"""`python -m testbed` with a Python that lacks what the program needs."""

import os
import subprocess
import sys
import venv
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent


def test_another_python_starts_over_in_the_projects_own(tmp_path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    shown = subprocess.run(
        [tmp_path / "bare" / "bin" / "python", "-m", "testbed", "--version"],
        cwd=CHECKOUT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "0.1.0\n"


def test_without_the_projects_own_it_says_what_to_do(tmp_path) -> None:
    package = tmp_path / "testbed"
    package.mkdir()
    for name in ("__init__.py", "__main__.py"):
        (package / name).write_text((CHECKOUT / "testbed" / name).read_text())
    shown = subprocess.run(
        [sys.executable, "-S", "-m", "testbed"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert shown.returncode == 3
    assert "to fix it: make setup" in shown.stderr
