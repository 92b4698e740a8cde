"""The verb inspect: what the senders in any capture did. Imports little, to start fast.

What reads captures is imported when the verb runs: numba takes a while.

Exit codes: 0 whatever a capture says, 2 usage or a file that is no capture.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from testbed.errors import SpecError
from testbed.guarded import guarded, take_signals
from testbed.units import parse_time

if TYPE_CHECKING:
    from testbed.trace.inspection import Inspection

#: What flows can be ranked by: largest first, or the order of their first packets.
SORTS = ("order", "bytes", "packets", "retransmits", "duplicate_bytes", "reordered")

_TOP = 10
_TABLE_WIDTH = 110


def main(argv: Sequence[str]) -> int:
    """Run `inspect` with what follows it on the command line."""
    take_signals()
    parser = argparse.ArgumentParser(prog="testbed inspect")
    add_inspect(parser)
    return guarded(parser.parse_args(argv))


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="pcap or pcapng, plain, gzip or zstd; - is stdin",
    )
    parser.add_argument(
        "--flow", metavar="N|ADDR", help="one flow, or those of an address, in full"
    )
    parser.add_argument(
        "--top", type=int, default=_TOP, metavar="N", help="how many flows to show"
    )
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="bytes",
        metavar="KEY",
        help=f"what makes a flow come first: {', '.join(SORTS)} (default bytes)",
    )
    parser.add_argument(
        "--burst-gap",
        default="20us",
        metavar="TIME",
        help="packets within this time are one burst (default 20us)",
    )
    parser.add_argument(
        "--series", action="store_true", help="with --json: every packet as well"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    parser.set_defaults(command=_inspect)


def _inspect(arguments: argparse.Namespace) -> int:
    if arguments.series and not arguments.json:
        raise SpecError("--series is for --json")
    from testbed.inspected import to_json  # noqa: PLC0415
    from testbed.trace.inspection import inspect  # noqa: PLC0415
    from testbed.trace.reading import Options  # noqa: PLC0415

    options = Options(burst_ns=parse_time(arguments.burst_gap), series=arguments.series)
    inspections = [inspect(Path(file), options) for file in arguments.files]
    for each in inspections:
        for warning in each.warnings:
            print(f"testbed: {warning}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(to_json(inspections), allow_nan=False))
    else:
        _show(inspections, arguments)
    return 0


def _show(inspections: Sequence["Inspection"], arguments: argparse.Namespace) -> None:
    from testbed.report.flows import flow_table, flows_table  # noqa: PLC0415

    console = Console()
    console.width = max(console.width, _TABLE_WIDTH)
    for each in inspections:
        if arguments.flow is None:
            rows = each.flows.ranked(arguments.sort)[: max(0, arguments.top)]
            console.print(flows_table(each, rows))
            continue
        rows = each.flows.matching(arguments.flow)
        if not rows:
            raise SpecError(f"{each.file}: no flow {arguments.flow!r}")
        for row in rows[: max(0, arguments.top)]:
            console.print(flow_table(each, row))
