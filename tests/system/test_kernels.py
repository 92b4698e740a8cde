"""A developer's own patch: built on the way, and held against the kernel without."""

import json
from pathlib import Path

import pytest
from commands import run_testbed

pytestmark = pytest.mark.guest

#: TCP Small Queues let four times as much into qdisc and device.
PATCH = Path(__file__).with_name("tsq.patch").read_text()
EXPERIMENTS = ("refine-tso-autosizing", "tsq-low-pacing-rate")


@pytest.mark.usefixtures("kernel")
def test_one_command_compares_a_patch_on_two_experiments(tmp_path) -> None:
    (tmp_path / "tsq.patch").write_text(PATCH)

    done = run_testbed(
        *("run", *EXPERIMENTS, "--kernel", "a=6.12", "--kernel", "b=6.12+tsq.patch"),
        "--json",
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["kernel_comparisons"] == [
        {"experiment": name, "kernel_alone": True, "also_differ": []}
        for name in EXPERIMENTS
    ]
    runs = {(run["experiment"], run["variant"]): run for run in answer["runs"]}
    plain, patched = (runs[EXPERIMENTS[1], name] for name in ("a", "b"))
    assert set(patched["kernel"]["patches"]) > set(plain["kernel"]["patches"])
    assert patched["kernel"]["build_id"] != plain["kernel"]["build_id"]
    # Behind a device that frees late, TSQ is what limits: more goes out at once.
    faster = patched["metrics"]["throughput"]["mean"]
    assert faster > 1.5 * plain["metrics"]["throughput"]["mean"]


@pytest.mark.usefixtures("kernel")
def test_a_patch_that_does_not_apply_is_one_message_and_nothing_runs(tmp_path) -> None:
    (tmp_path / "old.patch").write_text(PATCH.replace("2 * skb", "3 * skb"))

    done = run_testbed(
        *("run", EXPERIMENTS[0], "--kernel", "6.12+old.patch"), cwd=tmp_path
    )

    assert done.returncode == 3
    assert "old.patch does not apply to Linux 6.12." in done.stderr
    assert "net/ipv4/tcp_output.c: hunk #1, at line 2624" in done.stderr
    assert not (tmp_path / "captures").exists()
