"""The parser of the whole command line, and one command run.

Exit codes: 0 every claim reproduced (or none made; claims that take another clock,
scale or more repeats do not count), 1 a claim was not, 2 usage or a bad file, 3
something needed is unavailable here, 4 the infrastructure failed and the run is void,
130 interrupted.
"""

import argparse
from collections.abc import Sequence

import testbed
from testbed.cli.claims import add_claims
from testbed.cli.clean import add_clean
from testbed.cli.compare import add_compare
from testbed.cli.doctor import add_doctor
from testbed.cli.guarded import guarded, take_signals
from testbed.cli.inspect import add_inspect
from testbed.cli.kernel import add_kernel
from testbed.cli.listing import add_list
from testbed.cli.model import add_model
from testbed.cli.report import add_report
from testbed.cli.run import add_run
from testbed.cli.sweep import add_sweep

#: In the order in which help lists them.
_VERBS = (
    ("run", add_run, "run experiments, print verdicts, report"),
    ("report", add_report, "render stored runs again"),
    ("compare", add_compare, "stored runs against each other"),
    ("sweep", add_sweep, "a grid of settings, as many points at once as cores"),
    ("inspect", add_inspect, "what the senders in a capture did"),
    ("model", add_model, "what the sender model predicts"),
    ("claims", add_claims, "draft an experiment from a patch mail's tested section"),
    ("doctor", add_doctor, "what this host can do, tried, and what would fix it"),
    ("clean", add_clean, "remove what killed runs left"),
    ("list", add_list, "experiments, kernels, machines, metrics"),
    ("kernel", add_kernel, "list, build, show or remove kernels"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    take_signals()
    return guarded(_parser().parse_args(argv))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="testbed", description=testbed.__doc__)
    parser.add_argument("--version", action="version", version=testbed.__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, add, about in _VERBS:
        add(verbs.add_parser(name, help=about))
    return parser
