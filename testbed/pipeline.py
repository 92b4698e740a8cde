"""The compositions: record, measure, judge, publish. The whole way, in one sitting."""

import ast
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_EXCEPTION,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import testbed
from testbed.account import check_carried
from testbed.claims import judge
from testbed.errors import (
    InfrastructureError,
    SpecError,
    StoreError,
    TestbedError,
    Unavailable,
)
from testbed.facts import (
    UNITS,
    facts_of,
    is_metric,
    measure_facts,
    measure_uncaptured,
)
from testbed.held import Kind, Record, Thing, recording
from testbed.kernels.cache import using
from testbed.kernels.progress import Progress
from testbed.kernels.resolve import resolve
from testbed.lab_job import lab_error, lab_job, prepare_lab
from testbed.machine.host import HostMachine
from testbed.machine.machine import Job, Machine, Outcome, add_to_environment
from testbed.machine.qemu import QemuCountingMachine, QemuMachine
from testbed.machine.sharing import describe_host
from testbed.machine.uml import UmlMachine, UmlRealMachine
from testbed.measured import MeasuredRun, attribution_of, causes_of, decisions_of
from testbed.predicted import Predicted, Unreached, predict_or_say
from testbed.process import Stop
from testbed.ratio import LEAST_PAIRS
from testbed.report.result import Result
from testbed.spec.choose import with_kernels
from testbed.spec.codec import encode
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import HOST_KERNEL, Arch, BuiltKernel
from testbed.spec.workload import PORT, Workload
from testbed.store import (
    FORMAT,
    Run,
    begin,
    explained,
    finish,
    is_whole,
    load_runs,
    new_run_id,
    void,
    write_text,
)
from testbed.trace.attributed import causes_by_packet
from testbed.trace.capture import read_capture
from testbed.trace.causes import Cause
from testbed.trace.decisions import Decisions
from testbed.trace.metrics import METRICS, measure
from testbed.trace.trace import Column, Trace

if TYPE_CHECKING:
    from testbed.report.drawn import Drawn

MACHINES: Mapping[str, Machine] = {
    each.name: each
    for each in (
        UmlMachine(),
        UmlRealMachine(),
        QemuMachine(),
        QemuCountingMachine(),
        HostMachine(),
    )
}
#: How often each variant is run unless the user says, by clock. Virtual time gives the
#: same again; in real time a ratio needs some repeats before it has an interval.
REPEATS = {"virtual": 1, "real": LEAST_PAIRS}
REPORT = "report.html"
_CHECKOUT = Path(testbed.__file__).parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to run experiments. command: what the user typed, for the record.

    abreast: how many runs of one experiment at a time, None for as many as there are
    cores; in real time always one.
    """

    machine: Machine
    seed: int
    repeats: int
    out: Path
    command: str
    abreast: int | None = None


class Watch(Protocol):
    """Whoever wants to see how far things are."""

    def kernel(self, name: str, progress: Progress) -> None:
        """Be told how far the build of a kernel is."""

    def run(self, run: Run, phase: str) -> None:
        """Be told what a run is doing now. Called from several threads."""


def record(
    experiment: Experiment,
    kernels: Mapping[str, BuiltKernel],
    plan: Plan,
    watch: Watch,
    stop: Stop | None = None,
) -> Path:
    """Run every variant of an experiment; return the folder that holds the runs.

    In virtual time they run side by side. In real time one would slow another down, so
    they take turns (before, after, before, after): what else the host does, and how
    that changes, meets every variant alike.  kernels: by the names the variants use.
    stop: ends them from outside, and is set if one fails.
    Raises what went wrong; the runs it went wrong in are then marked void.
    """
    prepare_lab()
    folder = plan.out / experiment.name / new_run_id()
    with recording(folder.name) as held, ExitStack() as begun:
        runs = [
            begun.enter_context(_begun(run, held))
            for run in _new_runs(experiment, kernels, plan, folder)
        ]
        works = [
            _recording(run, kernels[run.spec().kernel], plan.machine, watch, held)
            for run in runs
        ]
        cores = len(os.sched_getaffinity(0))
        abreast = 1 if plan.machine.clock == "real" else plan.abreast or cores
        _run_all(works, abreast, stop or Stop())
    return folder


@contextmanager
def recorded(
    experiments: Sequence[Experiment], plan: Plan, watch: Watch
) -> Iterator[Iterator[Path]]:
    """Yield the folders of experiments, each once it is recorded.

    In virtual time the next one is recorded while the caller measures this one. What
    the block raises ends it; then what had not ended is void.
    """
    arch = plan.machine.arch
    kernels = [build_kernels(each, watch, arch) for each in experiments]
    stop = Stop()

    def record_one(place: int) -> Path:
        return record(experiments[place], kernels[place], plan, watch, stop)

    with using(built for each in kernels for built in each.values()):
        places = range(len(experiments))
        if plan.machine.clock == "real":
            yield (record_one(place) for place in places)
            return
        with ThreadPoolExecutor(max_workers=1) as pool:
            recordings = [pool.submit(record_one, place) for place in places]
            try:
                yield (each.result() for each in recordings)
            except BaseException:  # Ctrl-C too: no machine may outlive this
                for each in recordings:
                    each.cancel()
                stop.set()
                raise


def _new_runs(
    experiment: Experiment,
    kernels: Mapping[str, BuiltKernel],
    plan: Plan,
    folder: Path,
) -> Iterator[Run]:
    """Yield the runs there will be, in the order in which they take turns."""
    for turn in range(1, plan.repeats + 1):
        for each in experiment.variants:
            kernel = kernels[each.kernel]
            yield _new_run(experiment, plan, folder, kernel, each.name, turn)


@contextmanager
def _begun(run: Run, held: Record) -> Iterator[Run]:
    """Hold a run's folder until the run is whole: `clean --void` is to find others."""
    thing = Thing(kind=Kind.RUN, at=str(run.folder))
    held.hold(thing)
    try:
        yield begin(run)
    finally:
        if is_whole(run.folder):
            held.release(thing)


def check_names(experiment: Experiment) -> None:
    """Raise SpecError for a topology or metric there is not, before anything starts."""
    for variant in experiment.variants:
        if variant.topology not in topologies():
            known = ", ".join(topologies())
            raise SpecError(f"no topology {variant.topology!r}; known: {known}")
    for claim in experiment.claims:
        counter = claim.metric[:1].isupper()  # nstat has thousands; one may be new
        if not is_metric(claim.metric) and not counter:
            known = ", ".join(UNITS)
            raise SpecError(
                f"no metric {claim.metric!r}; known: {known}, and nstat's counters"
            )


def build_kernels(
    experiment: Experiment, watch: Watch, arch: Arch = Arch.UM
) -> dict[str, BuiltKernel]:
    """Return the kernels an experiment needs, built first if need be.

    arch: of the machine that is to boot them.
    """
    names = dict.fromkeys(each.kernel for each in experiment.variants)
    return {name: resolve(name, partial(watch.kernel, name), arch) for name in names}


def measured_runs(folder: Path) -> Iterator[MeasuredRun]:
    """Yield the runs stored in a folder, measured; none if any of them is void."""
    runs = load_runs(folder)
    for run in runs:
        if not run.whole:
            raise InfrastructureError(f"{run.folder} is void: {run.why}")
    yield from (measure_run(run) for run in runs)


def measured_result(folder: Path, watch: Watch, workers: Executor) -> Result:
    """Return the result of the runs stored in a folder: all of it recomputed.

    workers: compute the model's predictions, meanwhile and side by side.
    """
    measured: list[MeasuredRun] = []
    asked: dict[str, Future[Predicted | Unreached]] = {}
    for each in measured_runs(folder):
        measured.append(each)
        if each.run.variant not in asked:  # its first repeat
            watch.run(each.run, "model")
            asked[each.run.variant] = workers.submit(
                predict_or_say, each.run.spec(), each.trace, each.run.seed
            )
    predictions = {name: _answer(future) for name, future in asked.items()}
    for each in measured:
        watch.run(each.run, "measured")
    experiment = measured[0].run.experiment
    return Result(
        experiment=experiment,
        runs=tuple(measured),
        verdicts=judge(experiment.claims, measured, predictions),
        predictions=predictions,
    )


def _answer(future: Future[Predicted | Unreached]) -> Predicted | Unreached:
    try:
        return future.result()
    except BrokenExecutor as error:  # somebody killed it, such as the OOM killer
        raise InfrastructureError(f"the model's process ended: {error}") from error


def measure_run(run: Run) -> MeasuredRun:
    """Return a whole run with the metrics of its capture at the sender, and its facts.

    Where nothing was captured, of its facts alone.
    """
    workload = run.spec().workload
    facts = facts_of(run.counters(), run.workload(), run.latency_ns())
    traces = _captured(run, workload) if run.spec().capture else None
    trace = None if traces is None else _first_flow(traces, workload)
    decisions = decisions_of(run)
    told = () if decisions is None else causes_of(run, decisions)
    packets = (
        measure_uncaptured(facts) if traces is None else measure(tuple(METRICS), traces)
    )
    return MeasuredRun(
        run=run,
        trace=trace,
        metrics={**packets, **measure_facts(facts)},
        counters=facts.counters,
        known_counters=frozenset(run.environment()["counters"]),
        tcp_info=tuple(each for each in run.tcp_info() if not each.get("flow")),
        decisions=decisions,
        causes=_causes_seen(trace, told, decisions),
        attribution=None if decisions is None else attribution_of(run, told),
    )


def _causes_seen(
    trace: Trace | None, told: Sequence[Cause], decisions: Decisions | None
) -> Column | None:
    if trace is None or decisions is None:
        return None
    return causes_by_packet(trace, told, decisions.seq)


def _captured(run: Run, workload: Workload) -> Sequence[Trace]:
    if not run.capture("sender").is_file():  # a pipe or a device has no end
        raise StoreError(f"{run.capture('sender')}: no such file")
    capture = read_capture(run.capture("sender"))
    traces = _sent(capture.traces, workload)
    if capture.warnings or capture.dropped or not traces:
        wrong = [*capture.warnings, f"{capture.dropped} packets dropped", "no data"]
        raise StoreError(f"{run.capture('sender')}: {wrong[0]}")
    check_carried(run.workload().get("flows", ()), traces, workload)
    return traces


def _sent(traces: Sequence[Trace], workload: Workload) -> Sequence[Trace]:
    """Return the sender's directions of the flows.

    Of transactions the answers are left out, of a driver its control connection.
    """
    if workload.driver == "testbed" and workload.request_size is None:
        return traces
    ports = {port for _group, port in workload.each_flow()}
    return [each for each in traces if getattr(each.flow, workload.known_by) in ports]


def _first_flow(traces: Sequence[Trace], workload: Workload) -> Trace:
    """Return the first flow's trace, by its port; else the one with most payload."""
    return max(
        traces,
        key=lambda trace: (
            getattr(trace.flow, workload.known_by) == PORT,
            int(trace.length.sum()),
        ),
    )


def publish(folder: Path, drawn: Sequence["Drawn"]) -> Path:
    """Write the page of some results into a folder; return its path."""
    from testbed.report.page import render  # noqa: PLC0415  # has matplotlib imported

    path = folder / REPORT
    write_text(path, render(drawn))
    return path


def _new_run(
    experiment: Experiment,
    plan: Plan,
    folder: Path,
    kernel: BuiltKernel,
    variant: str,
    repeat: int,
) -> Run:
    return Run(
        format=FORMAT,
        state="void",
        why="",
        run_id=folder.name,
        experiment=experiment,
        variant=variant,
        repeat=repeat,
        # A repeat with the same seed would be the same run, to the byte.
        seed=plan.seed + repeat - 1,
        machine=plan.machine.name,
        clock=plan.machine.clock,
        kernel=kernel.identity,
        command=plan.command,
        version=testbed.__version__,
        wall_seconds=0.0,
        virtual_seconds=0.0,
        folder=folder.absolute() / variant / str(repeat),
    )


def _run_all(
    works: Sequence[Callable[[Stop], None]], abreast: int | None, stop: Stop
) -> None:
    """Run works in their order, so many at a time."""
    with ThreadPoolExecutor(max_workers=abreast) as pool:
        futures = [pool.submit(work, stop) for work in works]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:  # Ctrl-C too: no machine may outlive this
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _recording(
    run: Run, kernel: BuiltKernel, machine: Machine, watch: Watch, held: Record
) -> Callable[[Stop], None]:
    def work(stop: Stop) -> None:
        try:
            with explained(run.folder):
                job = replace(lab_job(run), held=held)
                _record(run, job, partial(machine.run, kernel), watch, stop)
        except TestbedError as error:
            why = "stopped before its end" if stop.is_set else str(error)
            with suppress(StoreError):  # a full disk must not hide the error
                void(run, why)
            watch.run(run, "void")
            raise

    return work


def _record(
    run: Run,
    job: Job,
    start: Callable[[Job, Callable[[str], None], Stop], Outcome],
    watch: Watch,
    stop: Stop,
) -> None:
    write_text(
        run.folder / "job.json",
        json.dumps(
            {
                "variant": encode(run.spec()),
                "conditions": {"clock": run.clock, "seed": run.seed},
            }
        )
        + "\n",
    )
    with (run.folder / "console.log").open("w") as console:

        def take(line: str) -> None:
            console.write(line + "\n")
            if line.startswith("lab: "):
                watch.run(run, line.removeprefix("lab: "))

        watch.run(run, "boot")
        host = describe_host()
        outcome = start(job, take, stop)
        host["load_after"] = describe_host()["load"]
        add_to_environment(run.folder, {"host": host})
    if outcome.status:
        raise lab_error(run.folder, outcome.status)
    finish(
        run,
        wall_seconds=outcome.wall_ns / 1e9,
        virtual_seconds=outcome.virtual_ns / 1e9,
    )
    watch.run(run, "whole")


def topologies() -> dict[str, str]:
    """Return the topologies there are, and the first line of what each says it is."""
    trees = {
        path.stem: ast.parse(path.read_text())
        for path in sorted((_CHECKOUT / "topologies").glob("*.py"))
    }
    return {
        name: (ast.get_docstring(tree) or "").partition("\n")[0]
        for name, tree in trees.items()
        if any(_assigns(each, "topos") for each in tree.body)
    }


def _assigns(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(each, ast.Name) and each.id == name for each in targets)


def on_machine(experiment: Experiment, machine: Machine, *, chosen: bool) -> Experiment:
    """Return the experiment with its variants on the only kernel, if there is but one.

    chosen: whether the user said which kernels; then they stay.
    """
    if chosen or machine.name != HostMachine.name:
        return experiment
    kernels = sorted({each.kernel for each in experiment.variants})
    if len(kernels) > 1:
        raise Unavailable(
            f"{experiment.name} compares kernels ({', '.join(kernels)}), and the "
            "machine host has one",
            remedy="--machine uml",
        )
    return with_kernels(experiment, [HOST_KERNEL])
