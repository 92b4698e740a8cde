"""Runs killed at any moment: `clean` leaves the host as it was before them.

TESTBED_KILLS=20 kills each kind of run so often; the suite does it a few times.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import CHECKOUT, run_testbed
from leavings import look, wait_until_gone

from testbed.clean import clean
from testbed.held import held_dir, replay

pytestmark = [
    pytest.mark.guest,
    pytest.mark.skipif(os.geteuid() != 0, reason="the machine host takes root"),
]
KILLS = int(os.environ.get("TESTBED_KILLS", "3"))
EXPERIMENT = """\
question: What is left of a run that is killed?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
path: {rtt: 0ms, rate: 50mbit, queue: 1000, shaper: tbf}
sender: {qdisc: none}
workload: {bytes: 3000000, congestion: reno}
variants:
  before: {}
  after: {}
"""
_STARTED_S = 60


@contextmanager
def started(folder: Path, machine: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start a run; yield it, and its id as soon as it has written itself down."""
    (folder / "killed.yaml").write_text(EXPERIMENT)
    # No result is wanted, so it does not matter how busy other tests left the host.
    how = ("--machine", machine, "--force-load", "--repeat", "1", "--json")
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "testbed", "run", "killed.yaml", *how],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdout=said,
            stderr=said,
        )
    try:
        yield process, wait_for_record(process)
    finally:
        process.kill()
        process.wait()


def wait_for_record(process: subprocess.Popen) -> str:
    deadline = time.monotonic() + _STARTED_S
    while time.monotonic() < deadline and process.poll() is None:
        for path in held_dir().glob("*.jsonl"):
            owner = replay(path.read_text()).owner
            if owner is not None and owner.pid == process.pid:
                return owner.run
        time.sleep(0.01)
    raise AssertionError("the run did not write itself down")


@pytest.fixture(scope="module")
def spans(kernel, tmp_path_factory) -> dict[str, float]:
    """Return for how long a run of each machine holds something, in seconds."""
    found = {}
    for machine in ("host", "uml"):
        folder = tmp_path_factory.mktemp(machine)
        with started(folder, machine) as (process, run_id):
            began = time.monotonic()
            while (held_dir() / f"{run_id}.jsonl").exists():
                time.sleep(0.01)
            found[machine] = time.monotonic() - began
            assert process.wait() == 0, (folder / "said").read_text()
    return found


@pytest.mark.parametrize("turn", range(KILLS))
@pytest.mark.parametrize("machine", ["host", "uml"])
def test_after_kill_dash_nine_clean_leaves_the_host_as_it_was(
    spans, tmp_path, machine, turn
) -> None:
    before = look()
    chance = random.Random(f"{machine} {turn}")  # noqa: S311  # no secret
    moment = chance.uniform(0, spans[machine])

    with started(tmp_path, machine) as (process, run_id):
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = run_testbed("clean", "--run", run_id, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert [told for told in clean(run_id) if "removed" in told] == []
    assert wait_until_gone(tmp_path) == []
    assert look() == before
    assert list(tmp_path.rglob(".machine")) == []
    whole = {path.parent for path in tmp_path.rglob("run.json") if is_whole(path)}
    list(clean(run_id, void=True))
    assert {path.parent for path in tmp_path.rglob("run.json")} == whole
    assert not (held_dir() / f"{run_id}.jsonl").exists()


def is_whole(path: Path) -> bool:
    return bool(json.loads(path.read_text())["state"] == "whole")


@pytest.mark.parametrize("machine", ["host", "uml"])
def test_a_run_that_is_going_is_left_alone(kernel, tmp_path, machine) -> None:
    with started(tmp_path, machine) as (process, run_id):
        process.send_signal(signal.SIGSTOP)
        refused = run_testbed("clean", "--run", run_id, "--void", cwd=tmp_path)
        process.send_signal(signal.SIGCONT)

        assert refused.returncode == 2
        assert f"{run_id} is still going" in refused.stderr
        assert process.wait() == 0, (tmp_path / "said").read_text()
    assert len(list(tmp_path.rglob("run.json"))) == 2
