"""Sweeps on a real kernel: here, and on a real dask cluster that loses a worker."""

import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from commands import CHECKOUT, run_json, run_testbed

pytestmark = pytest.mark.guest
EXPERIMENT = """\
question: How long does a little take?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
path: {rtt: 10ms, rate: 50mbit, queue: 1000}
workload: {bytes: 300000}
variants:
  only: {}
"""
RATES = ("10mbit", "20mbit", "30mbit", "40mbit", "50mbit")
_HERE = "127.0.0.1"


@pytest.fixture
def experiment(kernel, tmp_path) -> Path:
    path = tmp_path / "little.yaml"
    path.write_text(EXPERIMENT)
    return path


@contextmanager
def process(*argv: str, cache: Path, **streams) -> Iterator[subprocess.Popen]:
    """Start a Python module with a cache of its own; end it with the block."""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}
    if "distributed" in argv[0]:
        env["XDG_CACHE_HOME"] = str(cache)
    command = [sys.executable, "-m", *argv]
    with subprocess.Popen(command, env=env, cwd=cache, text=True, **streams) as started:
        try:
            yield started
        finally:
            started.kill()


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """Run a scheduler and two workers on loopback; yield its address and them."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    said = folder / "scheduler.json"
    with ExitStack() as stack:
        for name in ("scheduler", "a", "b"):
            (folder / name).mkdir()
        stack.enter_context(
            process(
                *("distributed.cli.dask_scheduler", "--host", _HERE, "--port", "0"),
                *("--no-dashboard", "--scheduler-file", str(said)),
                cache=folder / "scheduler",
                **quiet,
            )
        )
        workers = [
            stack.enter_context(
                process(
                    *("distributed.cli.dask_worker", "--scheduler-file", str(said)),
                    *("--host", _HERE, "--nthreads", "1", "--no-nanny"),
                    *("--no-dashboard", "--local-directory", str(folder / name)),
                    cache=folder / name,
                    **quiet,
                )
            )
            for name in ("a", "b")
        ]
        yield wait_for_workers(said, len(workers)), workers


def wait_for_workers(said: Path, number: int) -> str:
    """Return the scheduler's address once it has its workers."""
    distributed = importlib.import_module("distributed")
    with distributed.Client(scheduler_file=str(said), timeout=60) as client:
        client.wait_for_workers(number, timeout=60)
        return client.scheduler.address


def digests(folder: Path) -> dict[str, str]:
    return {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.glob("only/1/*.pcapng"))
    }


def test_a_sweep_that_was_interrupted_goes_on_where_it_was(
    experiment, tmp_path
) -> None:
    grid = f"path.rate={','.join(RATES)}"
    argv = ("sweep", str(experiment), "--json", "--grid", grid)
    with process("testbed", *argv, cache=tmp_path, stderr=subprocess.PIPE) as first:
        for line in first.stderr:
            if line.startswith("point 1 of 5"):
                first.send_signal(signal.SIGINT)
                break
        said = first.stderr.read()
        assert first.wait(60) == 130
    assert f"finished points are in captures{os.sep}little" in said

    done = run_testbed(*argv, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "were finished before" in done.stderr
    points = json.loads(done.stdout)["points"]
    rates = [each["variants"]["only"]["throughput"] for each in points]
    assert rates == sorted(rates)
    assert len(list((tmp_path / "captures" / "little").glob("sweep-*/sweep.html"))) == 1


def test_a_point_is_the_same_as_a_run_with_its_settings(experiment, tmp_path) -> None:
    done = run_testbed(
        *("sweep", str(experiment), "--json", "--grid", "path.rate=10mbit"),
        cwd=tmp_path,
    )
    (point,) = json.loads(done.stdout)["points"]

    alone = run_json(tmp_path, str(experiment), "--set", "path.rate=10mbit")

    folder = Path(alone["runs"][0]["folder"]).parents[1]
    swept = tmp_path / "captures" / "little" / point["run_id"]
    assert digests(swept) == digests(folder)
    assert len(digests(swept)) == 2


def test_a_broken_point_is_told_at_the_end_and_the_rest_is_run(
    experiment, tmp_path
) -> None:
    done = run_testbed(
        *("sweep", str(experiment)),
        *("--grid", "workload.congestion=cubic,nonesuch"),
        cwd=tmp_path,
    )

    assert done.returncode == 4
    assert "broken: workload.congestion=nonesuch" in done.stdout
    assert "1 of 2 points" in done.stdout


def test_a_cluster_that_loses_a_worker_midway_runs_every_point(
    experiment, tmp_path
) -> None:
    pytest.importorskip("distributed", reason="needs dask.distributed")
    with (
        cluster(tmp_path) as (address, workers),
        process(
            *("testbed", "sweep", str(experiment), "--json", "--dask", address),
            *("--grid", f"path.rate={','.join(RATES)}"),
            cache=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as sweep,
    ):
        told = []
        for line in sweep.stderr:
            told.append(line)
            if line.startswith("point 1 of 5"):
                workers[0].send_signal(signal.SIGKILL)
        answer = json.loads(sweep.stdout.read())
        status = sweep.wait(60)

    assert status == 0, "".join(told)
    assert [each["at"]["path.rate"] for each in answer["points"]] == list(RATES)
    rates = [each["variants"]["only"]["throughput"] for each in answer["points"]]
    assert rates == sorted(rates)
    for name in ("a", "b"):  # each was sent the kernel it lacked
        assert len(list((tmp_path / name / "testbed" / "images").iterdir())) == 1
    alone = run_json(tmp_path, str(experiment), "--set", "path.rate=50mbit")
    here = Path(alone["runs"][0]["folder"]).parents[1]
    there = tmp_path / "captures" / "little" / answer["points"][-1]["run_id"]
    assert digests(there) == digests(here)
