"""The command line: verbs to the pipeline, results to the terminal.

Only this prints, and kernel_verbs.

Exit codes: 0 every claim reproduced (or none made; claims that take another clock,
scale or more repeats do not count), 1 a claim was not, 2 usage or a bad file, 3
something needed is unavailable here, 4 the infrastructure failed and the run is void,
130 interrupted.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import testbed
from testbed.clean import clean
from testbed.errors import SpecError
from testbed.export.contract import predictions_json, results_json
from testbed.export.formats import FORMATS, FilesFormat, TextFormat
from testbed.export.junit import junit_text
from testbed.export.ktap import kselftest_code, ktap_text
from testbed.facts import MEANINGS, UNITS
from testbed.files import write_whole
from testbed.guarded import guarded, take_signals
from testbed.inspect_cli import add_inspect
from testbed.kernel_verbs import add_kernel
from testbed.kernels.cache import using
from testbed.kernels.registry import load_kernels
from testbed.machine.host import HostMachine
from testbed.machine.machine import Machine
from testbed.mail.draft import draft
from testbed.mail.writing import short
from testbed.pipeline import (
    MACHINES,
    REPEATS,
    Plan,
    build_kernels,
    check_names,
    measured_result,
    measured_runs,
    on_machine,
    publish,
    record,
    topologies,
)
from testbed.predicted import Counted, Predicted, count, predict
from testbed.process import Workers
from testbed.progress import watching
from testbed.report.prediction import prediction_table
from testbed.report.result import Result
from testbed.report.table import verdict_table
from testbed.spec.choose import with_kernels
from testbed.spec.experiment import Scale, Variant
from testbed.spec.load import experiment_names, load_experiment
from testbed.store import explained, write_text
from testbed.verdict import VerdictKind

_TABLE_WIDTH = 80


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    take_signals()
    arguments = _parser().parse_args(argv)
    lost = "; every run that had not ended is void"
    takes_root = arguments.command is _clean
    takes_root |= getattr(arguments, "machine", "") == HostMachine.name
    return guarded(
        arguments,
        lost=lost if arguments.command is _run else "",
        as_root=takes_root,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="testbed", description=testbed.__doc__)
    parser.add_argument("--version", action="version", version=testbed.__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(verbs.add_parser("run", help="run experiments, print verdicts, report"))
    _add_report(verbs.add_parser("report", help="render stored runs again"))
    add_inspect(verbs.add_parser("inspect", help="what the senders in a capture did"))
    _add_model(verbs.add_parser("model", help="what the sender model predicts"))
    claims = verbs.add_parser(
        "claims", help="draft an experiment from a patch mail's tested section"
    )
    claims.add_argument("file", type=Path, help="an mbox, a patch, or a mail as text")
    claims.add_argument(
        "--out", type=Path, metavar="FILE", help="write it to a new file, not to stdout"
    )
    claims.set_defaults(command=_claims)
    cleaned = verbs.add_parser("clean", help="remove what killed runs left")
    cleaned.add_argument("--run", metavar="ID", help="of this run alone")
    cleaned.add_argument(
        "--void", action="store_true", help="and the folders of runs without a result"
    )
    cleaned.set_defaults(command=_clean)
    listed = verbs.add_parser("list", help="experiments, kernels, machines, metrics")
    listed.set_defaults(command=_list)
    add_kernel(verbs.add_parser("kernel", help="list, build or show kernels"))
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "experiments", nargs="*", help="names or .yaml files; none: all shipped ones"
    )
    run.add_argument(
        "--full", action="store_true", help="send what was published, not a tenth of it"
    )
    run.add_argument(
        "--machine",
        choices=MACHINES,
        default="uml",
        help="uml: virtual time (default); uml-real: real time, for CPU and rates",
    )
    run.add_argument(
        "--kernel",
        dest="kernels",
        action="append",
        default=[],
        metavar="[VARIANT=]NAME",
        help="the kernel of every variant, or of one; NAME+FILE has a patch on top. "
        "Names that are no variant's (a=6.1 b=6.12) compare kernels with each other",
    )
    _add_settings(run)
    run.add_argument(
        "--seed", type=_seed, default=1, help="of all randomness (default 1)"
    )
    run.add_argument(
        "--repeat",
        type=_count,
        metavar="N",
        help=f"of each variant (default 1, in real time {REPEATS['real']}, in turns)",
    )
    run.add_argument("--out", type=Path, default=Path("captures"), metavar="DIR")
    _add_answer(run)
    run.set_defaults(command=_run)


def _add_settings(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of every variant, such as path.rtt=10ms",
    )


def _add_answer(run: argparse.ArgumentParser) -> None:
    """Add how the results of a run are told."""
    either = run.add_mutually_exclusive_group()
    either.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    either.add_argument(
        "--ktap", action="store_true", help="print KTAP and nothing else"
    )
    run.add_argument(
        "--kselftest",
        action="store_true",
        help="exit as a kselftest does: 0 pass, 1 fail, 4 skip",
    )
    run.add_argument(
        "--junit", type=Path, metavar="FILE", help="write JUnit XML to a file"
    )


def _add_report(report: argparse.ArgumentParser) -> None:
    report.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="a run-id folder"
    )
    either = report.add_mutually_exclusive_group()
    either.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    known = "; ".join(f"{name}: {each.about}" for name, each in FORMATS.items())
    either.add_argument("--format", choices=FORMATS, help=known)
    report.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="where to: a file, or a folder for files and for the page of several runs",
    )
    report.set_defaults(command=_report)


def _add_model(model: argparse.ArgumentParser) -> None:
    model.add_argument("experiment", help="a name or a .yaml file")
    model.add_argument("--variant", help="this one alone")
    _add_settings(model)
    either = model.add_mutually_exclusive_group()
    either.add_argument(
        "--against", type=Path, metavar="RUN", help="match with a stored run"
    )
    either.add_argument(
        "--totals",
        action="store_true",
        help="counters and rules alone, in memory that does not grow with the stream",
    )
    model.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    model.set_defaults(command=_model)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 1 << 32:
        raise argparse.ArgumentTypeError("must be from 0 to 2**32 - 1")
    return value


def _run(arguments: argparse.Namespace) -> int:
    names = arguments.experiments or experiment_names()
    scale = Scale.FULL if arguments.full else Scale.QUICK
    machine = MACHINES[arguments.machine]
    experiments = [
        on_machine(
            with_kernels(
                load_experiment(name, arguments.settings, scale, machine.clock),
                arguments.kernels,
            ),
            machine,
            chosen=bool(arguments.kernels),
        )
        for name in names
    ]
    for experiment in experiments:
        check_names(experiment)
        machine.check(experiment)
    plan = _plan(arguments, machine)
    results = []
    pages = []
    with watching(Console(stderr=True)) as watch, Workers() as workers:
        for experiment in experiments:
            kernels = build_kernels(experiment, watch)
            with using(kernels.values()):
                folder = record(experiment, kernels, plan, watch)
            results.append(measured_result(folder, watch, workers))
            pages.append(publish(folder, results[-1:]))
    if len(results) > 1:
        pages = [publish(arguments.out, results)]
    if arguments.junit:
        write_text(arguments.junit, junit_text(results))
    if arguments.ktap:
        print(ktap_text(results), end="")
    else:
        _show(results, pages, as_json=arguments.json)
    return kselftest_code(results) if arguments.kselftest else _exit_code(results)


def _plan(arguments: argparse.Namespace, machine: Machine) -> Plan:
    return Plan(
        machine=machine,
        seed=arguments.seed,
        repeats=arguments.repeat or REPEATS[machine.clock],
        out=arguments.out,
        command="python -m testbed " + shlex.join(sys.argv[1:]),
    )


def _report(arguments: argparse.Namespace) -> int:
    folders: Sequence[Path] = arguments.runs
    with watching(Console(stderr=True)) as watch, Workers() as workers:
        results = [measured_result(folder, watch, workers) for folder in folders]
    if arguments.format:
        _export(results, FORMATS[arguments.format], arguments.out)
        return _exit_code(results)
    if len(folders) > 1:
        pages = [publish(arguments.out or Path("captures"), results)]
    else:
        pages = [publish(arguments.out or folders[0], results)]
    _show(results, pages, as_json=arguments.json)
    return _exit_code(results)


def _export(
    results: Sequence[Result], how: TextFormat | FilesFormat, out: Path | None
) -> None:
    if isinstance(how, TextFormat):
        if out is None:
            print(how.text(results), end="")
        else:
            write_text(out, how.text(results))
        return
    for name, content in how.files(results):
        path = (out or Path()) / name
        with explained(path):
            write_whole(path, content)
        print(path)


def _model(arguments: argparse.Namespace) -> int:
    experiment = load_experiment(arguments.experiment, arguments.settings)
    variants = {each.name: each for each in experiment.variants}
    if arguments.variant:
        if arguments.variant not in variants:
            known = ", ".join(variants)
            raise SpecError(f"no variant {arguments.variant!r}; known: {known}")
        variants = {arguments.variant: variants[arguments.variant]}
    predictions = _predictions(arguments, variants)
    if arguments.json:
        print(json.dumps(predictions_json(experiment.name, predictions), indent=1))
    else:
        Console().print(prediction_table(predictions))
    return 0


def _predictions(
    arguments: argparse.Namespace, variants: Mapping[str, Variant]
) -> Sequence[Predicted | Counted]:
    if arguments.totals:
        return [count(variant) for variant in variants.values()]
    runs = tuple(measured_runs(arguments.against)) if arguments.against else ()
    traces = {each.run.variant: each.trace for each in reversed(runs)}
    return [predict(variant, traces.get(name)) for name, variant in variants.items()]


def _show(results: Sequence[Result], pages: Sequence[Path], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(results_json(results), indent=1, allow_nan=False))
        return
    console = Console()
    # Below this a table would crop digits; a narrow terminal wraps lines instead.
    console.width = max(console.width, _TABLE_WIDTH)
    console.print(verdict_table(results))
    for page in pages:
        console.print(f"report: {page}", highlight=False, soft_wrap=True)


def _exit_code(results: Sequence[Result]) -> int:
    kinds = {
        verdict.kind
        for result in results
        for verdict in result.verdicts
        if verdict.asked
    }
    return 0 if kinds <= {VerdictKind.REPRODUCED} else 1


def _claims(arguments: argparse.Namespace) -> int:
    path: Path = arguments.file
    try:
        drafted = draft(path.read_bytes(), str(path))
        if arguments.out:
            with arguments.out.open("x", encoding="utf-8") as file:
                file.write(drafted.yaml)
        else:
            print(drafted.yaml, end="")
    except FileExistsError as error:
        raise SpecError(f"{arguments.out} exists; it is not overwritten") from error
    except OSError as error:
        raise SpecError(f"{error.filename}: {error.strerror}") from error
    for each in drafted.missed:
        told = f"{path}:{each.line.number}: not understood: {short(each.text)}"
        print(told, file=sys.stderr)
    return 0


def _clean(arguments: argparse.Namespace) -> int:
    for told in clean(arguments.run, void=arguments.void):
        print(told)
    return 0


def _list(_arguments: argparse.Namespace) -> int:
    table = Table("kind", "name", "what it is", box=None, pad_edge=False)
    for name in experiment_names():
        table.add_row("experiment", name, load_experiment(name).patch.subject)
    for name, kernel in load_kernels().items():
        table.add_row("kernel", name, kernel.about)
    for name, machine in MACHINES.items():
        table.add_row("machine", name, f"{machine.clock} time")
    for name, about in topologies().items():
        table.add_row("topology", name, about)
    for name, meaning in MEANINGS.items():
        table.add_row("metric", name, f"{meaning} ({UNITS[name]})")
    Console().print(table)
    return 0
