"""Options that several verbs take."""

import argparse
import shlex
import sys
from pathlib import Path

from testbed.machine.machine import Machine
from testbed.pipeline import REPEATS, Plan

#: Every repeat has a folder from the start, so a slip of the hand would fill a disk.
_MOST_REPEATS = 1000


def add_settings(verb: argparse.ArgumentParser) -> None:
    """Add --set, which changes keys of every variant."""
    verb.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of every variant, such as path.rtt=10ms",
    )


def add_runs(verb: argparse.ArgumentParser) -> None:
    """Add what says how runs are made: at which scale, on what, how often, where to."""
    verb.add_argument(
        "--full", action="store_true", help="send what was published, not a tenth of it"
    )
    verb.add_argument(
        "--kernel",
        dest="kernels",
        action="append",
        default=[],
        metavar="[VARIANT=]NAME",
        help="the kernel of every variant, or of one; NAME+FILE has a patch on top. "
        "Names that are no variant's (a=6.1 b=6.12) compare kernels with each other",
    )
    verb.add_argument(
        "--seed", type=_seed, default=1, help="of all randomness (default 1)"
    )
    verb.add_argument(
        "--repeat",
        type=_count,
        metavar="N",
        help=f"of each variant (default 1, in real time {REPEATS['real']}, in turns)",
    )
    verb.add_argument("--out", type=Path, default=Path("captures"), metavar="DIR")
    add_quiet(verb)


def add_quiet(verb: argparse.ArgumentParser) -> None:
    """Add --quiet, which leaves the progress out."""
    verb.add_argument(
        "--quiet", "-q", action="store_true", help="do not tell how far things are"
    )


def plan_of(arguments: argparse.Namespace, machine: Machine) -> Plan:
    """Return the plan that the options of add_runs() make, on a machine."""
    return Plan(
        machine=machine,
        seed=arguments.seed,
        repeats=arguments.repeat or REPEATS[machine.clock],
        out=arguments.out,
        command=typed(),
    )


def typed() -> str:
    """Return the command line, as it can be typed again."""
    return "python -m testbed " + shlex.join(sys.argv[1:])


def _count(text: str) -> int:
    return _number(text, 1, _MOST_REPEATS)


def _seed(text: str) -> int:
    return _number(text, 0, (1 << 32) - 1)


def _number(text: str, least: int, most: int) -> int:
    # int() refuses thousands of digits, and argparse would name this function.
    if text.isascii() and text.isdigit() and len(text) <= len(str(most)):
        value = int(text)
        if least <= value <= most:
            return value
    raise argparse.ArgumentTypeError(f"must be a number from {least} to {most}")
