"""The verb doctor: what this host can do, what is missing, and what would give it."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.doctor.finding import Finding, is_ready
from testbed.doctor.trials import findings
from testbed.errors import Unavailable

_FORMAT = 1
_WIDTH = 80


def add_doctor(doctor: argparse.ArgumentParser) -> None:
    """Say what the verb takes. Under sudo it tries things as root."""
    doctor.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    doctor.set_defaults(command=_doctor, takes_root=True)


def _doctor(arguments: argparse.Namespace) -> int:
    with Console(stderr=True).status("trying; a guest that never boots takes a while"):
        found = findings()
    ready = is_ready(found)
    if arguments.json:
        told = [asdict(each) for each in found]
        answer = {"format": _FORMAT, "ready": ready, "findings": told}
        print(json.dumps(answer, indent=1))
    else:
        _show(found, ready=ready)
    return 0 if ready else Unavailable.exit_code


def _show(found: Sequence[Finding], *, ready: bool) -> None:
    console = Console()
    console.width = max(console.width, _WIDTH)
    console.print(table_of(found))
    end = "can run" if ready else "cannot run; see UML boot"
    console.print(f"the default machine, uml, {end}", highlight=False)


def table_of(found: Sequence[Finding]) -> Table:
    """Return the table of what was found: of what is missing, with its remedy."""
    table = Table("capability", "", "what was seen", box=None, pad_edge=False)
    for each in found:
        told = Text(each.told)
        if each.remedy:
            told.append(f"\nto fix it: {each.remedy}", style="yellow")
        mark = Text("yes", style="green") if each.ok else Text("NO", style="bold red")
        table.add_row(Text(each.name), mark, told)
    return table
