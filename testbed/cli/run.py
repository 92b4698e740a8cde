"""The verb run: experiments recorded, measured and judged."""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from testbed.choosing import AUTO, Choice, Refusal, choose, ready
from testbed.cli.answers import exit_code, show, show_machines
from testbed.cli.options import add_runs, add_settings, plan_of
from testbed.errors import PlacedError, TestbedError, Unavailable
from testbed.export.junit import junit_text
from testbed.export.ktap import kselftest_code, ktap_text
from testbed.machine.sharing import MOST_LOAD, require_quiet
from testbed.pipeline import (
    MACHINES,
    check_names,
    measured_result,
    publish,
    recorded,
)
from testbed.process import Workers
from testbed.progress import watching
from testbed.report.result import Result
from testbed.spec.choose import with_kernels
from testbed.spec.experiment import Experiment, Scale
from testbed.spec.load import experiment_names, load_experiment
from testbed.store import write_text

if TYPE_CHECKING:
    from testbed.report.drawn import Drawn


def add_run(run: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    run.add_argument(
        "experiments", nargs="*", help="names or .yaml files; none: all shipped ones"
    )
    run.add_argument(
        "--machine",
        dest="machines",
        action="append",
        choices=(*MACHINES, AUTO),
        help="uml: virtual time (default); uml-real, qemu, host: real time, for CPU "
        "and rates; auto: the best that can do it. Several are shown side by side",
    )
    add_runs(run)
    add_settings(run)
    _add_force(run)
    _add_answer(run)
    run.set_defaults(command=_run, lost="; every run that had not ended is void")


def _add_force(run: argparse.ArgumentParser) -> None:
    """Add what overrules a check."""
    run.add_argument(
        "--force-load",
        action="store_true",
        help=f"run in real time on a host with a load beyond {MOST_LOAD:g} a processor",
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


def _run(arguments: argparse.Namespace) -> int:
    choices, refusals = _choices(arguments)
    if _is_side_by_side(arguments):
        return _show_machines(arguments, choices, refusals)
    results, drawn, pages = _results(arguments, choices)
    if len(results) > 1:
        pages = [publish(arguments.out, drawn)]
    if arguments.ktap:
        print(ktap_text(results), end="")
    else:
        show(results, pages, as_json=arguments.json)
    if arguments.junit:  # last, so that where it cannot be written, the rest is told
        write_text(arguments.junit, junit_text(results))
    return kselftest_code(results) if arguments.kselftest else exit_code(results)


def _is_side_by_side(arguments: argparse.Namespace) -> bool:
    several = len(set(arguments.machines or ())) > 1
    if several and (arguments.ktap or arguments.kselftest or arguments.junit):
        raise PlacedError(
            "--machine: several are for people and --json; give KTAP, JUnit and "
            "kselftest one machine"
        )
    return several


def _choices(
    arguments: argparse.Namespace,
) -> tuple[Sequence[Choice], Sequence[Refusal]]:
    """Return what is to run where; with several machines, also what cannot.

    Raises Unavailable where nothing can run, or the only machine asked for cannot.
    """
    machines = dict.fromkeys(arguments.machines or ["uml"])
    names = arguments.experiments or experiment_names()
    found = [_choice_or_refusal(arguments, *each) for each in product(names, machines)]
    refusals = [each for each in found if isinstance(each, Refusal)]
    choices = {
        (each.machine.name, each.experiment.name): each
        for each in found
        if isinstance(each, Choice)
    }
    if refusals and not (choices and _is_side_by_side(arguments)):
        raise refusals[0].error
    return list(choices.values()), refusals


def _choice_or_refusal(
    arguments: argparse.Namespace, name: str, machine: str
) -> Choice | Refusal:
    try:
        return _quiet(arguments, _choice(arguments, name, machine))
    except Unavailable as error:
        return Refusal(machine=machine, experiment=name, error=error)


def _quiet(arguments: argparse.Namespace, choice: Choice) -> Choice:
    """Return the choice, if the host is quiet enough for its clock."""
    if choice.machine.clock == "real" and not arguments.force_load:
        require_quiet()
    return choice


def _choice(arguments: argparse.Namespace, name: str, machine: str) -> Choice:
    scale = Scale.FULL if arguments.full else Scale.QUICK
    chosen = bool(arguments.kernels)

    def load(clock: str) -> Experiment:
        loaded = load_experiment(name, arguments.settings, scale, clock)
        check_names(loaded)
        return with_kernels(loaded, arguments.kernels)

    if machine == AUTO:
        choice = choose(load, chosen=chosen)
        told = f"{choice.experiment.name}: machine {choice.machine.name}: {choice.why}"
        Console(stderr=True).print(told, highlight=False, soft_wrap=True, markup=False)
        return choice
    asked = MACHINES[machine]
    return Choice(
        machine=asked,
        experiment=ready(load(asked.clock), asked, chosen=chosen),
        why="the user said so",
    )


def _results(
    arguments: argparse.Namespace, choices: Sequence[Choice]
) -> tuple[list[Result], list["Drawn"], list[Path]]:
    """Run what was chosen, a machine after another; return results, pictures, pages."""
    from testbed.report.drawn import draw  # noqa: PLC0415  # has matplotlib imported

    results: list[Result] = []
    drawn: list[Drawn] = []
    pages: list[Path] = []
    machines = dict.fromkeys(choice.machine for choice in choices)
    with (
        watching(Console(stderr=True), quiet=arguments.quiet) as watch,
        Workers() as workers,
    ):
        for machine in machines:
            plan = plan_of(arguments, machine)
            own = [each.experiment for each in choices if each.machine is machine]
            with recorded(own, plan, watch) as folders:
                for folder in folders:
                    results.append(measured_result(folder, watch, workers))
                    drawn.append(draw(results[-1]))
                    pages.append(publish(folder, drawn[-1:]))
    return results, drawn, pages


def _show_machines(
    arguments: argparse.Namespace,
    choices: Sequence[Choice],
    refusals: Sequence[Refusal],
) -> int:
    """Run each choice, show what came of it, and whatever did not; return exit code.

    One that cannot run, or is void, does not keep the others from being shown.
    """
    results: list[Result] = []
    pages: list[Path] = []
    lost = list(refusals)
    for choice in choices:
        try:
            result, _drawn, page = _results(arguments, [choice])
        except TestbedError as error:
            name = choice.experiment.name
            lost.append(
                Refusal(machine=choice.machine.name, experiment=name, error=error)
            )
            continue
        results += result
        pages += page
    show_machines(results, lost, pages, as_json=arguments.json)
    codes = [each.error.exit_code for each in lost]
    return max([*codes, 0]) if codes else exit_code(results)
