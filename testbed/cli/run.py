"""The verb run: experiments recorded, measured and judged."""

import argparse
import shlex
import sys
from pathlib import Path

from rich.console import Console

from testbed.cli.answers import exit_code, show
from testbed.cli.options import add_settings
from testbed.export.junit import junit_text
from testbed.export.ktap import kselftest_code, ktap_text
from testbed.machine.machine import Machine
from testbed.pipeline import (
    MACHINES,
    REPEATS,
    Plan,
    check_names,
    measured_result,
    on_machine,
    publish,
    recorded,
)
from testbed.process import Workers
from testbed.progress import watching
from testbed.report.drawn import draw
from testbed.spec.choose import with_kernels
from testbed.spec.experiment import Scale
from testbed.spec.load import experiment_names, load_experiment
from testbed.store import write_text


def add_run(run: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
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
    add_settings(run)
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
    run.set_defaults(command=_run, lost="; every run that had not ended is void")


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
    results, drawn, pages = [], [], []
    with (
        watching(Console(stderr=True)) as watch,
        Workers() as workers,
        recorded(experiments, plan, watch) as folders,
    ):
        for folder in folders:
            results.append(measured_result(folder, watch, workers))
            drawn.append(draw(results[-1]))
            pages.append(publish(folder, drawn[-1:]))
    if len(results) > 1:
        pages = [publish(arguments.out, drawn)]
    if arguments.junit:
        write_text(arguments.junit, junit_text(results))
    if arguments.ktap:
        print(ktap_text(results), end="")
    else:
        show(results, pages, as_json=arguments.json)
    return kselftest_code(results) if arguments.kselftest else exit_code(results)


def _plan(arguments: argparse.Namespace, machine: Machine) -> Plan:
    return Plan(
        machine=machine,
        seed=arguments.seed,
        repeats=arguments.repeat or REPEATS[machine.clock],
        out=arguments.out,
        command="python -m testbed " + shlex.join(sys.argv[1:]),
    )
