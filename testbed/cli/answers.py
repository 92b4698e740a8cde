"""How the results of runs are told: a table or JSON, and the exit code."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from testbed.choosing import Refusal
from testbed.export.contract import results_json
from testbed.report.result import Result
from testbed.report.table import machines_table, verdict_table
from testbed.verdict import VerdictKind

_TABLE_WIDTH = 80
_MACHINES_WIDTH = 100


def show(results: Sequence[Result], pages: Sequence[Path], *, as_json: bool) -> None:
    """Print the verdicts and where the pages are, or JSON and nothing else."""
    if as_json:
        print(json.dumps(results_json(results), indent=1, allow_nan=False))
        return
    console = table_console()
    console.print(verdict_table(results))
    _show_pages(console, pages)


def show_machines(
    results: Sequence[Result],
    refusals: Sequence[Refusal],
    pages: Sequence[Path],
    *,
    as_json: bool,
) -> None:
    """Print what machines measured side by side, and which could not, and why."""
    if as_json:
        refused = [
            {
                "machine": each.machine,
                "experiment": each.experiment,
                "why": str(each.error),
                "exit_code": each.error.exit_code,
            }
            for each in refusals
        ]
        told = {**results_json(results), "refused": refused}
        print(json.dumps(told, indent=1, allow_nan=False))
        return
    console = table_console(_MACHINES_WIDTH)
    for name in dict.fromkeys(result.experiment.name for result in results):
        own = [result for result in results if result.experiment.name == name]
        console.print(machines_table(own))
    for each in refusals:
        told_why = Text(f"{each.experiment}: machine {each.machine}: ")
        console.print(told_why.append(str(each.error)), soft_wrap=True)
    _show_pages(console, pages)


def _show_pages(console: Console, pages: Sequence[Path]) -> None:
    for page in pages:
        console.print(f"report: {page}", highlight=False, soft_wrap=True)


def table_console(least: int = _TABLE_WIDTH) -> Console:
    """Return a console for stdout that is wide enough for tables: least columns."""
    console = Console()
    # Below this a table would crop digits; a narrow terminal wraps lines instead.
    console.width = max(console.width, least)
    return console


def exit_code(results: Sequence[Result]) -> int:
    """Return 0 if every claim that this machine can judge was reproduced, else 1."""
    kinds = {
        verdict.kind
        for result in results
        for verdict in result.verdicts
        if verdict.asked
    }
    return 0 if kinds <= {VerdictKind.REPRODUCED} else 1
