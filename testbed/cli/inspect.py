"""The verb inspect: what the senders in any capture did. Imports little, to start fast.

What reads captures and what draws tables is imported when the verb runs, and needs it.

Exit codes: 0 whatever a capture says, 2 usage or a file that is no capture.
"""

import argparse
import gc
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.guarded import guarded, take_signals
from testbed.errors import SpecError
from testbed.report.plain import printable
from testbed.units import parse_time

if TYPE_CHECKING:
    from testbed.model.fit import Fit
    from testbed.trace.inspection import Inspection

#: What flows can be ranked by: largest first, or the order of their first packets.
SORTS = ("order", "bytes", "packets", "retransmits", "duplicate_bytes", "reordered")

_PICTURES = (".png", ".svg", ".pdf")
_TOP = 10
_TABLE_WIDTH = 110


def main(argv: Sequence[str]) -> int:
    """Run `inspect` with what follows it on the command line, as a whole process."""
    take_signals()
    # numpy would start threads that nothing here has work for, and what is told of many
    # flows has no cycles to look for, again and again.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    parser = argparse.ArgumentParser(prog="testbed inspect")
    add_inspect(parser)
    return guarded(parser.parse_args(argv))


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="pcap or pcapng, plain, gzip or zstd; - is stdin, a pipe is waited for",
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
    _add_answer(parser)
    parser.set_defaults(command=_inspect)


def _add_answer(parser: argparse.ArgumentParser) -> None:
    """Add what is told of the flows."""
    parser.add_argument(
        "--series", action="store_true", help="with --json: every packet as well"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON and nothing else: of --flow, or else of all flows",
    )
    parser.add_argument(
        "--model",
        action="store_true",
        help="which of Linux's rules explains the packet sizes of --flow, or else of "
        "the first flow shown",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw that flow: sizes, and sequence over time (.png, .svg or .pdf)",
    )


def _inspect(arguments: argparse.Namespace) -> int:
    if arguments.series and not arguments.json:
        raise SpecError("--series is for --json")
    if arguments.plot:
        _check_picture(arguments.plot)
    from testbed.inspected import encoded  # noqa: PLC0415
    from testbed.trace.inspection import inspect  # noqa: PLC0415
    from testbed.trace.reading import Options  # noqa: PLC0415

    burst_ns = parse_time(arguments.burst_gap)
    packets = arguments.series or arguments.model or arguments.plot is not None
    options = Options(burst_ns=burst_ns, series=packets)
    _tell(f"{file}: a pipe; waiting for who writes" for file in _pipes(arguments.files))
    inspections = [inspect(Path(file), options) for file in arguments.files]
    _tell(warning for each in inspections for warning in each.warnings)
    chosen = [_rows(each, arguments) for each in inspections]
    looked_at = [rows[: max(0, arguments.top)] for rows in chosen]
    if arguments.plot:
        _plot(inspections, looked_at, arguments.plot)
    fits = _fits(inspections, looked_at) if arguments.model else [{}] * len(looked_at)
    if arguments.json:
        only = () if arguments.flow is None else chosen
        for piece in encoded(inspections, fits, only=only, series=arguments.series):
            print(piece, end="")
        print()
    else:
        _show(inspections, looked_at, fits, in_full=arguments.flow is not None)
    return 0


def _check_picture(path: Path) -> None:
    if path.suffix not in _PICTURES:
        known = ", ".join(_PICTURES)
        raise SpecError(f"{path}: no picture of these kinds: {known}")
    if not path.parent.is_dir():
        raise SpecError(f"{path}: there is no folder {path.parent}")


def _pipes(files: Iterable[str]) -> list[str]:
    return [file for file in files if Path(file).is_fifo()]


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"testbed: {printable(line)}", file=sys.stderr)


def _rows(inspection: "Inspection", arguments: argparse.Namespace) -> Sequence[int]:
    """Return the flows asked for, the first first."""
    flows = inspection.flows
    if arguments.flow is None:
        return flows.ranked(arguments.sort)
    rows = flows.matching(arguments.flow)
    if not rows:
        raise SpecError(f"{inspection.file}: no flow {arguments.flow!r}")
    return rows


def _plot(
    inspections: Sequence["Inspection"],
    looked_at: Sequence[Sequence[int]],
    picture: Path,
) -> None:
    """Draw the first flow that is looked at."""
    from testbed.files import write_whole  # noqa: PLC0415
    from testbed.report.plots import Side, overview  # noqa: PLC0415
    from testbed.store import explained  # noqa: PLC0415

    for each, rows in zip(inspections, looked_at, strict=True):
        if rows:
            trace = each.traces[rows[0]]
            side = Side(name=str(trace.flow), place=1, trace=trace, tcp_info=())
            drawn = io.BytesIO()
            overview(side, picture.suffix[1:], drawn)
            with explained(picture):
                write_whole(picture, drawn.getvalue())
            return
    raise SpecError(f"{inspections[0].file}: no flow to draw")


def _fits(
    inspections: Sequence["Inspection"], looked_at: Sequence[Sequence[int]]
) -> Sequence[Mapping[int, "Fit"]]:
    """Return the fit of the first flow looked at in each capture."""
    from testbed.model.fit import fit  # noqa: PLC0415

    return [
        {row: fit(each.traces[row]) for row in rows[:1]}
        for each, rows in zip(inspections, looked_at, strict=True)
    ]


def _show(
    inspections: Sequence["Inspection"],
    looked_at: Sequence[Sequence[int]],
    fits: Sequence[Mapping[int, "Fit"]],
    *,
    in_full: bool,
) -> None:
    from rich.console import Console  # noqa: PLC0415

    from testbed.report.fitting import fit_table  # noqa: PLC0415
    from testbed.report.flows import flow_table, flows_table  # noqa: PLC0415

    console = Console()
    console.width = max(console.width, _TABLE_WIDTH)
    for each, rows, fitted in zip(inspections, looked_at, fits, strict=True):
        if in_full:
            for row in rows:
                console.print(flow_table(each, row))
        else:
            console.print(flows_table(each, rows))
        for row, found in fitted.items():
            console.print(fit_table(found, f"what explains flow {row + 1}"))
