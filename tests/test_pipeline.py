"""The pipeline, on a machine that runs nothing."""

import json
import os
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

import pytest
from builders import BUILT, a_claim, a_variant, a_workload, an_experiment
from fakes import FakeMachine

from testbed import pipeline
from testbed.errors import (
    InfrastructureError,
    MachineLost,
    SpecError,
    StoreError,
    Unavailable,
)
from testbed.held import Thing, replay
from testbed.kernels.progress import Progress
from testbed.lab_job import lab_error, lab_job
from testbed.machine.host import HostMachine
from testbed.machine.machine import Outcome
from testbed.pipeline import (
    Plan,
    check_names,
    measured_result,
    on_machine,
    publish,
    record,
    recorded,
    topologies,
)
from testbed.predicted import Predicted, Unreached
from testbed.report.drawn import draw
from testbed.report.result import Result
from testbed.spec.experiment import Experiment, Scale
from testbed.store import Run, load_run, load_runs
from testbed.verdict import VerdictKind

KERNELS = {"6.12": BUILT}


class SilentWatch:
    def __init__(self) -> None:
        self.phases: list[tuple[str, str]] = []

    def kernel(self, name: str, progress: Progress) -> None:
        self.phases.append((name, progress.phase))

    def run(self, run: Run, phase: str) -> None:
        self.phases.append((run.variant, phase))


@dataclass
class TurnTaker(FakeMachine):
    """Says which runs began, in order, and how many there were at once at most."""

    began: list[tuple[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    _now: int = 0

    def run(self, kernel, job, on_line, stop) -> Outcome:
        self.began.append((job.folder.parent.name, job.folder.name))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        time.sleep(0.02)
        self._now -= 1
        return super().run(kernel, job, on_line, stop)


def result_of(folder: Path, watch: SilentWatch | None = None) -> Result:
    """Return the result of a folder; threads predict, which begin faster."""
    with ThreadPoolExecutor() as workers:
        return measured_result(folder, watch or SilentWatch(), workers)


def a_plan(out: Path, machine: FakeMachine, repeats: int = 1) -> Plan:
    return Plan(machine=machine, seed=7, repeats=repeats, out=out, command="run it")


def test_every_variant_is_run_and_marked_whole(tmp_path) -> None:
    watch = SilentWatch()

    folder = record(
        an_experiment(), KERNELS, a_plan(tmp_path, FakeMachine(), repeats=2), watch
    )

    runs = load_runs(folder)
    assert [(run.variant, run.repeat, run.whole) for run in runs] == [
        ("before", 1, True),
        ("before", 2, True),
        ("after", 1, True),
        ("after", 2, True),
    ]
    assert ("after", "traffic") in watch.phases


def test_each_repeat_has_a_seed_of_its_own_that_both_variants_share(tmp_path) -> None:
    machine = FakeMachine()

    record(an_experiment(), KERNELS, a_plan(tmp_path, machine, 2), SilentWatch())

    assert sorted(machine.seeds) == [7, 7, 8, 8]


def test_in_real_time_variants_take_turns_and_are_never_side_by_side(tmp_path) -> None:
    machine = TurnTaker(clock="real")

    record(an_experiment(), KERNELS, a_plan(tmp_path, machine, 3), SilentWatch())

    assert machine.began == [
        (name, repeat) for repeat in "123" for name in ("before", "after")
    ]
    assert machine.most_at_once == 1


@dataclass
class Waiter(FakeMachine):
    """Records its first experiment at once, and the next only once it is told to."""

    ready: Event = field(default_factory=Event)
    go_on: Event = field(default_factory=Event)

    def run(self, kernel, job, on_line, stop) -> Outcome:
        if job.folder.parents[2].name == "next":
            self.ready.set()
            with stop.watching(self.go_on.set):
                assert self.go_on.wait(10)
            if stop.is_set:
                raise MachineLost("the guest was killed")
        return super().run(kernel, job, on_line, stop)


def recorded_in_turn(tmp_path: Path, monkeypatch, machine: FakeMachine):
    """Record two experiments, without a kernel."""
    monkeypatch.setattr(pipeline, "build_kernels", lambda *_: KERNELS)
    monkeypatch.setattr(pipeline, "using", lambda _: nullcontext())
    experiments = [an_experiment(), replace(an_experiment(), name="next")]
    return recorded(experiments, a_plan(tmp_path, machine), SilentWatch())


def test_the_next_experiment_is_recorded_while_one_is_measured(
    tmp_path, monkeypatch
) -> None:
    machine = Waiter()
    with recorded_in_turn(tmp_path, monkeypatch, machine) as folders:
        first = next(folders)
        assert machine.ready.wait(10)
        machine.go_on.set()
        names = [each.parent.name for each in (first, *folders)]

    assert names == ["an-experiment", "next"]


def test_in_real_time_nothing_is_recorded_while_one_is_measured(
    tmp_path, monkeypatch
) -> None:
    machine = TurnTaker(clock="real")
    with recorded_in_turn(tmp_path, monkeypatch, machine) as folders:
        next(folders)
        time.sleep(0.1)
        assert len(machine.began) == 2
        list(folders)

    assert len(machine.began) == 4


def test_what_ends_the_measuring_ends_what_is_recorded_meanwhile(
    tmp_path, monkeypatch
) -> None:
    machine = Waiter()

    def measure_until_interrupted() -> None:
        with recorded_in_turn(tmp_path, monkeypatch, machine) as folders:
            next(folders)
            assert machine.ready.wait(10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_until_interrupted()

    whys = {load_run(each).why for each in tmp_path.glob("next/*/*/1")}
    assert whys == {"stopped before its end"}


def test_a_lost_machine_voids_its_run_and_is_raised(tmp_path) -> None:
    machine = FakeMachine(fails=frozenset({"after"}))

    with pytest.raises(MachineLost, match="panicked"):
        record(an_experiment(), KERNELS, a_plan(tmp_path, machine), SilentWatch())

    (lost,) = tmp_path.glob("an-experiment/*/after/1")
    assert load_run(lost).why == "the guest panicked"


def test_a_void_run_is_never_measured(tmp_path) -> None:
    machine = FakeMachine(fails=frozenset({"after"}))
    with pytest.raises(MachineLost):
        record(an_experiment(), KERNELS, a_plan(tmp_path, machine), SilentWatch())
    (folder,) = tmp_path.glob("an-experiment/*")

    with pytest.raises(InfrastructureError, match="is void: the guest panicked"):
        result_of(folder)


def test_a_capture_with_drops_is_never_measured(tmp_path) -> None:
    plan = a_plan(tmp_path, FakeMachine(dropped=3))
    folder = record(an_experiment(), KERNELS, plan, SilentWatch())

    with pytest.raises(StoreError, match="sender.pcapng: 3 packets dropped"):
        result_of(folder)


def test_a_capture_that_was_cut_is_never_measured(tmp_path) -> None:
    folder = record(
        an_experiment(), KERNELS, a_plan(tmp_path, FakeMachine()), SilentWatch()
    )
    path = folder / "before" / "1" / "sender.pcapng"
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(StoreError, match="sender.pcapng: "):
        result_of(folder)


def test_the_result_is_judged_from_the_stored_facts(tmp_path) -> None:
    claim = a_claim({"before": 10, "after": 20})
    plan = a_plan(tmp_path, FakeMachine())
    folder = record(an_experiment(claim), KERNELS, plan, SilentWatch())

    result = result_of(folder)

    assert result.verdicts[0].measured == {"before": 10.0, "after": 10.0}
    assert result.verdicts[0].kind is VerdictKind.NOT_REPRODUCED
    assert result.runs[0].metrics["tso_size"].summary().max == 100


def test_every_variant_is_predicted_and_held_against_its_first_run(tmp_path) -> None:
    claim = a_claim({"before": 10, "after": 20})
    plan = a_plan(tmp_path, FakeMachine(), repeats=2)
    folder = record(an_experiment(claim), KERNELS, plan, SilentWatch())

    result = result_of(folder)

    before, after = (result.predicted(name) for name in ("before", "after"))
    assert isinstance(before, Predicted)
    assert before.match is not None
    assert before.match.measured_packets == 1
    assert before.match.first_divergence is not None
    assert after is not None
    assert result.verdicts[0].model == {"before": 5.0, "after": 5.0}
    assert result.verdicts[0].measured == {"before": 10.0, "after": 10.0}


def test_a_variant_the_model_does_not_reach_is_measured_all_the_same(tmp_path) -> None:
    claim = a_claim({"before": 10, "unknown": 10})
    unknown = a_variant("unknown", workload=a_workload(congestion="vegas"))
    experiment = replace(an_experiment(claim), variants=(a_variant("before"), unknown))
    plan = a_plan(tmp_path, FakeMachine())
    folder = record(experiment, KERNELS, plan, SilentWatch())

    result = result_of(folder)

    assert isinstance(result.predictions["unknown"], Unreached)
    assert result.predicted("unknown") is None
    assert result.verdicts[0].kind is VerdictKind.REPRODUCED
    assert result.verdicts[0].model == {"before": 5.0, "unknown": None}


def test_progress_says_model_once_a_variant(tmp_path) -> None:
    watch = SilentWatch()
    plan = a_plan(tmp_path, FakeMachine(), repeats=2)
    folder = record(an_experiment(), KERNELS, plan, SilentWatch())

    result_of(folder, watch)

    asked = [("before", "model"), ("after", "model")]
    assert watch.phases[:2] == asked
    assert watch.phases[2:] == [
        (name, "measured") for name in ("before", "before", "after", "after")
    ]


class BrokenWorkers(Executor):
    def submit(self, *_args, **_kwargs) -> Future:
        future: Future = Future()
        future.set_exception(BrokenProcessPool("killed"))
        return future


def test_a_killed_process_of_the_model_is_no_defect_and_no_verdict(tmp_path) -> None:
    plan = a_plan(tmp_path, FakeMachine())
    folder = record(an_experiment(), KERNELS, plan, SilentWatch())

    with pytest.raises(InfrastructureError, match="the model's process ended: killed"):
        measured_result(folder, SilentWatch(), BrokenWorkers())


def test_a_counter_the_kernel_has_and_that_did_not_move_is_zero(tmp_path) -> None:
    claim = a_claim({"before": 0, "after": 0}, metric="TcpRetransSegs")
    plan = a_plan(tmp_path, FakeMachine())

    folder = record(an_experiment(claim), KERNELS, plan, SilentWatch())

    assert result_of(folder).verdicts[0].kind is VerdictKind.REPRODUCED


def test_a_counter_the_kernel_does_not_have_is_not_comparable(tmp_path) -> None:
    claim = a_claim({"before": 0, "after": 0}, metric="TcpRetranzSegs")
    plan = a_plan(tmp_path, FakeMachine())

    folder = record(an_experiment(claim), KERNELS, plan, SilentWatch())

    assert result_of(folder).verdicts[0].kind is VerdictKind.NOT_COMPARABLE


DECISIONS = """\
sport,dport,seq,length,queued,limit,cwnd_quota,max_segs,mss_now,tail,held,wnd_end,\
snd_una,snd_cwnd,snd_ssthresh,packets_out,pacing_rate,srtt_us,min_rtt,wmem_alloc
1,2,0,100,100,1460,10,2,1460,1,0,65535,0,10,9,0,1,1,1,1
1,2,100,2920,2920,2920,10,2,1460,0,0,65535,0,10,9,1,1,1,1,1
1,2,3020,100,100,1460,10,2,1460,0,0,65535,0,10,9,1,1,1,1,1
"""


def decided(folder: Path, *, lost: int, switches: dict[str, str]) -> None:
    """Have the kernel say why the packets of the run "before" have their sizes."""
    run = folder / "before" / "1"
    (run / "decisions.csv").write_text(DECISIONS)
    (run / "decisions.json").write_text(json.dumps({"lost": lost}))
    environment = json.loads((run / "environment.json").read_text())
    environment["switches"] = switches
    (run / "environment.json").write_text(json.dumps(environment))


@pytest.mark.parametrize(
    ("lost", "switches", "shares"),
    [
        pytest.param(
            0,
            {},
            {"autosize": 1 / 3, "end_of_data": 1 / 3, "half_window": 1 / 3},
            id="all-known",
        ),
        pytest.param(
            1,
            {"tcp.sendmsg_autosize": "N"},
            {"autosize": 1 / 4, "end_of_data": 1 / 4, "half_window": 1 / 4}
            | {"lost": 1 / 4},
            id="one-lost",
        ),
        pytest.param(
            0,
            {"tcp.sendmsg_autosize": "Y"},
            {"autosize": 2 / 3, "end_of_data": 1 / 3},
            id="built-to-the-autosize",
        ),
    ],
)
def test_the_kernel_says_which_rules_sized_its_packets(
    tmp_path, lost, switches, shares
) -> None:
    plan = a_plan(tmp_path, FakeMachine())
    folder = record(an_experiment(), KERNELS, plan, SilentWatch())
    decided(folder, lost=lost, switches=switches)

    before, after = result_of(folder).runs

    assert before.attribution == shares
    assert before.decisions is not None
    assert before.decisions.seq.tolist() == [0, 100, 3020]
    assert (after.decisions, after.attribution) == (None, None)


def test_a_run_whose_decisions_are_gone_is_never_measured(tmp_path) -> None:
    folder = record(
        an_experiment(), KERNELS, a_plan(tmp_path, FakeMachine()), SilentWatch()
    )
    decided(folder, lost=0, switches={})
    (folder / "before" / "1" / "decisions.csv").unlink()

    with pytest.raises(StoreError, match="decisions.csv: No such file"):
        result_of(folder)


def test_a_run_with_a_variant_gone_is_never_measured(tmp_path) -> None:
    folder = record(
        an_experiment(), KERNELS, a_plan(tmp_path, FakeMachine()), SilentWatch()
    )
    (folder / "after" / "1" / "run.json").unlink()

    with pytest.raises(StoreError, match="after/1 is missing"):
        result_of(folder)


def test_a_capture_that_is_no_file_is_never_read(tmp_path) -> None:
    folder = record(
        an_experiment(), KERNELS, a_plan(tmp_path, FakeMachine()), SilentWatch()
    )
    capture = folder / "before" / "1" / "sender.pcapng"
    capture.unlink()
    os.mkfifo(capture)

    with pytest.raises(StoreError, match="sender.pcapng: no such file"):
        result_of(folder)


def test_a_report_repeated_has_the_same_bytes(tmp_path) -> None:
    plan = a_plan(tmp_path, FakeMachine())
    folder = record(an_experiment(), KERNELS, plan, SilentWatch())

    first = publish(folder, [draw(result_of(folder))]).read_bytes()

    assert publish(folder, [draw(result_of(folder))]).read_bytes() == first
    assert b"first divergence, data packet #0" in first


def test_an_unwritable_folder_is_one_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    plan = a_plan(tmp_path / "file", FakeMachine())

    with pytest.raises(StoreError, match="Not a directory"):
        record(an_experiment(), KERNELS, plan, SilentWatch())


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        pytest.param(2, SpecError, id="spec"),
        pytest.param(3, Unavailable, id="unavailable"),
        pytest.param(4, InfrastructureError, id="infrastructure"),
    ],
)
def test_the_labs_error_keeps_its_kind(tmp_path, status, kind) -> None:
    (tmp_path / "error.txt").write_text("what went wrong\n")

    error = lab_error(tmp_path, status)

    assert type(error) is kind
    assert "what went wrong" in str(error)


def test_a_lab_that_crashed_is_told_with_its_last_lines(tmp_path) -> None:
    (tmp_path / "console.log").write_text("lab: network\nKeyError: 'x'\n")

    assert "KeyError: 'x'" in str(lab_error(tmp_path, 1))


def test_topologies_are_found_with_what_they_say_of_themselves() -> None:
    assert topologies()["long_haul"].startswith("A 40 ms path")
    assert "routed" not in topologies()


def test_a_topology_there_is_not_is_told_at_once() -> None:
    variant = a_variant("before", topology="nowhere")

    with pytest.raises(SpecError, match="no topology 'nowhere'; known: long_haul"):
        check_names(replace(an_experiment(), variants=(variant,)))


def test_a_metric_there_is_not_is_told_at_once() -> None:
    claim = a_claim({"before": 1}, metric="tso_sice")

    with pytest.raises(SpecError, match="no metric 'tso_sice'; known: throughput"):
        check_names(an_experiment(claim))


def uncaptured(*claims) -> Experiment:
    """Return an experiment whose variants are not captured."""
    plain = an_experiment(*claims)
    variants = tuple(replace(each, capture=False) for each in plain.variants)
    return replace(plain, variants=variants)


def test_what_was_not_captured_is_measured_by_its_facts(tmp_path) -> None:
    claim = a_claim({"before": 10, "after": 10})
    plan = a_plan(tmp_path, FakeMachine())
    folder = record(uncaptured(claim), KERNELS, plan, SilentWatch())

    result = result_of(folder)

    assert result.runs[0].trace is None
    assert result.verdicts[0].kind is VerdictKind.REPRODUCED
    # 100 bytes in 9 ns, as the sender says.
    assert set(result.runs[0].metrics) == {"throughput"}
    assert result.runs[0].value("throughput", "sender") == pytest.approx(800e9 / 9)


def test_the_page_of_what_was_not_captured_has_no_pictures(tmp_path) -> None:
    folder = record(
        uncaptured(), KERNELS, a_plan(tmp_path, FakeMachine()), SilentWatch()
    )

    page = publish(folder, [draw(result_of(folder))]).read_text()

    assert "<svg" not in page
    assert "throughput" in page


def test_a_full_scale_run_has_hours(tmp_path) -> None:
    quick = replace(an_experiment(), scale=Scale.QUICK)
    runs = [
        load_run(
            record(of, KERNELS, a_plan(tmp_path, FakeMachine()), SilentWatch())
            / "before"
            / "1"
        )
        for of in (quick, replace(quick, scale=Scale.FULL))
    ]

    deadlines = [lab_job(run).deadline_s for run in runs]

    assert deadlines[0] <= 600
    assert deadlines[1] >= 3600


def test_a_claim_may_name_a_statistic_and_not_any(tmp_path) -> None:
    check_names(an_experiment(a_claim({"after": 1}, metric="latency.p99")))

    with pytest.raises(SpecError, match=r"no metric 'latency.p98'; known: .*latency"):
        check_names(an_experiment(a_claim({"after": 1}, metric="latency.p98")))


def test_on_the_machine_host_every_variant_is_of_its_kernel() -> None:
    moved = on_machine(an_experiment(), HostMachine(), chosen=False)

    assert {each.kernel for each in moved.variants} == {"host"}


def test_an_experiment_that_compares_kernels_is_not_for_the_machine_host() -> None:
    variants = (a_variant("before"), a_variant("after", kernel="6.1"))
    experiment = replace(an_experiment(), variants=variants)

    with pytest.raises(Unavailable, match=r"compares kernels \(6.1, 6.12\)"):
        on_machine(experiment, HostMachine(), chosen=False)


def held_by(cache: Path) -> list[Thing]:
    texts = [path.read_text() for path in (cache / "testbed/held").glob("*.jsonl")]
    return [thing for text in texts for thing in replay(text).things]


def test_run_folders_are_held_until_they_are_whole(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    seen: list[Thing] = []

    class Watching(FakeMachine):
        def run(self, kernel, job, on_line, stop):
            seen.extend(held_by(tmp_path / "cache"))
            return super().run(kernel, job, on_line, stop)

    machine = Watching(fails=frozenset({"after"}))
    with pytest.raises(MachineLost):
        record(an_experiment(), KERNELS, a_plan(tmp_path, machine), SilentWatch())

    folders = {
        str(path.parent) for path in tmp_path.glob("an-experiment/*/*/*/run.json")
    }
    assert {thing.at for thing in seen} == folders
    (void,) = held_by(tmp_path / "cache")
    assert void.at.endswith("/after/1")
