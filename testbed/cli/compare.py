"""The verb compare: stored runs against each other, from their stored facts alone."""

import argparse
import json
from pathlib import Path

from rich.console import Console

from testbed.cli.answers import table_console
from testbed.export.comparison import comparison_json
from testbed.pipeline import measured_runs
from testbed.report.compared import comparison_page, comparison_table
from testbed.report.comparing import compare
from testbed.store import explained, write_text

_PAGE = "compare.html"


def add_compare(verb: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    verb.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="run-id folders, or folders of one variant in them; the first is A",
    )
    verb.add_argument("--json", action="store_true", help="print JSON and nothing else")
    verb.add_argument(
        "--out",
        type=Path,
        default=Path("captures"),
        metavar="DIR",
        help=f"where {_PAGE} goes (default captures)",
    )
    verb.set_defaults(command=_compare)


def _compare(arguments: argparse.Namespace) -> int:
    found = compare([tuple(measured_runs(folder)) for folder in arguments.runs])
    page = arguments.out / _PAGE
    with explained(arguments.out):
        arguments.out.mkdir(parents=True, exist_ok=True)
    write_text(page, comparison_page(found))
    if arguments.json:
        print(json.dumps(comparison_json(found), indent=1, allow_nan=False))
        return 0
    console: Console = table_console()
    console.print(comparison_table(found))
    console.print(f"page: {page}", highlight=False, soft_wrap=True)
    return 0
