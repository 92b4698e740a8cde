"""A booted guest: root inside, harmless outside, and gone when it is over."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from leavings import processes_under, wait_until_gone

from testbed.errors import MachineLost

pytestmark = pytest.mark.guest
CHECKOUT = Path(__file__).parent.parent.parent
BOOT_AND_WAIT = """
import sys
from pathlib import Path
from testbed.machine.machine import Job
from testbed.machine.uml import UmlMachine
from testbed.kernels.resolve import resolve
from testbed.process import Stop
job = Job(argv=("sh", "-c", "echo up; while :; do :; done"), folder=Path(sys.argv[1]))
kernel = resolve("6.12", lambda _told: None)
UmlMachine().run(kernel, job, lambda line: print(line, flush=True), Stop())
"""


def test_a_command_runs_as_root_and_its_status_and_files_come_back(
    guest, tmp_path
) -> None:
    outcome, lines = guest("sh", "-c", "id -u; echo kept > file; exit 3")

    assert outcome.status == 3
    assert lines[0] == "0"
    assert (tmp_path / "share" / "file").read_text() == "kept\n"
    assert sorted(each.name for each in (tmp_path / "share").iterdir()) == ["file"]


def test_the_guest_sees_the_hosts_files_and_may_change_its_own_view(guest) -> None:
    outcome, _lines = guest("sh", "-c", "test -x /bin/sh && echo x > /etc/new-file")

    assert outcome.status == 0
    assert not Path("/etc/new-file").exists()


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param("mount -o remount,rw / ; echo bad > {outside}", id="remount"),
        pytest.param(
            "mount -t hostfs h /media -o / && mount -o remount,rw /media;"
            " echo bad > /media{outside}",
            id="mount-again",
        ),
        pytest.param(
            "mount -t hostfs h /media -o {share}/..; echo bad > /media/outside",
            id="dot-dot",
        ),
        pytest.param("ln -s {outside} link; echo bad > link", id="symlink"),
        pytest.param(
            "ln -s .. up; mount -t hostfs h /media -o {share}/up;"
            " echo bad > /media/outside",
            id="symlinked-mount",
        ),
        pytest.param("rm -f {outside}; chmod 777 {outside}", id="remove"),
        pytest.param("mv {outside} here; ln {outside} there", id="rename"),
    ],
)
def test_nothing_in_the_guest_changes_the_host(guest, tmp_path, attack) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    mode = outside.stat().st_mode

    guest("sh", "-c", attack.format(outside=outside, share=tmp_path / "share"))

    assert outside.read_text() == "untouched"
    assert outside.stat().st_mode == mode
    assert sorted(each.name for each in tmp_path.iterdir()) == ["outside", "share"]


def test_a_spinning_guest_is_ended_at_its_deadline(guest, tmp_path) -> None:
    with pytest.raises(MachineLost, match="did not end within 5 s"):
        guest("sh", "-c", "while :; do :; done", deadline_s=5)

    assert wait_until_gone(tmp_path) == []
    assert list((tmp_path / "share").iterdir()) == []


def test_a_panic_is_told_with_its_last_words(guest) -> None:
    with pytest.raises(MachineLost, match="panicked.*\n(.*\n)*.*kill init"):
        guest("mkdir", ".answer")  # so that the first process cannot give it


def test_kill_dash_nine_of_the_program_leaves_no_process(tmp_path) -> None:
    share = tmp_path / "share"
    share.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", BOOT_AND_WAIT, str(share)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        assert processes_under(share)
        program.send_signal(signal.SIGKILL)

    assert wait_until_gone(share) == []


def test_virtual_time_passes_without_wall_time(guest) -> None:
    began = time.monotonic()
    outcome, _lines = guest("sleep", "300")

    assert outcome.virtual_ns >= 300_000_000_000
    assert time.monotonic() - began < 60
