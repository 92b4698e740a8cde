"""The verb report: stored runs rendered again, as a page or in a format."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from testbed.cli.answers import exit_code, show
from testbed.cli.options import add_quiet
from testbed.export.formats import FORMATS, FilesFormat, TextFormat
from testbed.files import write_whole
from testbed.pipeline import measured_result, publish
from testbed.process import Workers
from testbed.progress import watching
from testbed.report.result import Result
from testbed.store import explained, write_text


def add_report(report: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    report.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="a run-id folder"
    )
    either = report.add_mutually_exclusive_group()
    either.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    known = "; ".join(f"{name}: {each.about}" for name, each in FORMATS.items())
    either.add_argument("--format", choices=FORMATS, help=known)
    report.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="where to: a file, or a folder for files and for the page of several runs",
    )
    add_quiet(report)
    report.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> int:
    folders: Sequence[Path] = arguments.runs
    with (
        watching(Console(stderr=True), quiet=arguments.quiet) as watch,
        Workers() as workers,
    ):
        results = [measured_result(folder, watch, workers) for folder in folders]
    if arguments.format:
        _export(results, FORMATS[arguments.format], arguments.out)
        return exit_code(results)
    from testbed.report.drawn import draw  # noqa: PLC0415  # has matplotlib imported

    folder = folders[0] if len(folders) == 1 else Path("captures")
    page = publish(arguments.out or folder, [draw(each) for each in results])
    show(results, [page], as_json=arguments.json)
    return exit_code(results)


def _export(
    results: Sequence[Result], how: TextFormat | FilesFormat, out: Path | None
) -> None:
    if isinstance(how, TextFormat):
        if out is None:
            print(how.text(results), end="")
        else:
            write_text(out, how.text(results))
        return
    for name, content in how.files(results):
        path = (out or Path()) / name
        with explained(path):
            write_whole(path, content)
        print(path)
