"""The verb list: what there is to name on a command line."""

import argparse

from rich.console import Console
from rich.table import Table

from testbed.facts import MEANINGS, UNITS
from testbed.kernels.registry import load_kernels
from testbed.pipeline import MACHINES, topologies
from testbed.spec.load import experiment_names, load_experiment


def add_list(listed: argparse.ArgumentParser) -> None:
    """Say what the verb takes: nothing."""
    listed.set_defaults(command=_list)


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
