"""Giving root up: only under sudo, and completely."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.errors import SpecError
from testbed.user import drop_to_invoking_user, file_as_invoking_user

CHECKOUT = Path(__file__).parent.parent
AS_ROOT = os.geteuid() == 0


def test_without_sudo_nothing_changes(monkeypatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)

    assert drop_to_invoking_user() is None
    assert file_as_invoking_user() is None


def test_root_who_called_sudo_stays_root(monkeypatch) -> None:
    monkeypatch.setenv("SUDO_UID", "0")
    monkeypatch.setenv("SUDO_GID", "0")

    assert drop_to_invoking_user() is None


def test_a_user_nobody_knows_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "4294967")
    monkeypatch.setenv("SUDO_GID", "4294967")

    with pytest.raises(SpecError, match="cannot become the user who called sudo"):
        drop_to_invoking_user()


@pytest.mark.skipif(not AS_ROOT, reason="only root has something to give up")
def test_under_sudo_root_is_gone_for_good() -> None:
    program = (
        "import os; from testbed.user import drop_to_invoking_user\n"
        "name = drop_to_invoking_user()\n"
        "print(name, os.getresuid(), os.getresgid(), os.environ['HOME'])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        env={**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert shown.startswith("nobody (65534, 65534, 65534) (65534, 65534, 65534) ")
    assert "/root" not in shown


@pytest.mark.skipif(not AS_ROOT, reason="only root has something to keep")
def test_a_run_that_stays_root_has_its_files_belong_to_the_user(tmp_path) -> None:
    program = (
        "import os, subprocess\n"
        "from pathlib import Path\n"
        "from testbed.user import file_as_invoking_user, filing_as_root\n"
        "print(file_as_invoking_user().pw_name, os.geteuid())\n"
        "Path('theirs').touch()\n"
        "with filing_as_root():\n"
        "    Path('roots').touch()\n"
        "Path('theirs-again').touch()\n"
        "subprocess.run(['/usr/bin/touch', 'a-childs'], check=True)\n"
    )
    tmp_path.chmod(0o777)
    shown = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,  # the folders above it are root's alone
        env={
            **os.environ,
            "PYTHONPATH": str(CHECKOUT),
            "SUDO_UID": "65534",
            "SUDO_GID": "65534",
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert shown == "nobody 0\n"
    assert {each.name: each.stat().st_uid for each in tmp_path.iterdir()} == {
        "theirs": 65534,
        "roots": 0,
        "theirs-again": 65534,
        "a-childs": 0,
    }
