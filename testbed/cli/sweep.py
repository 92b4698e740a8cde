"""The verb sweep: a grid of settings, every point an ordinary run."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from testbed.cli.answers import table_console
from testbed.cli.options import add_runs, add_settings, plan_of, typed
from testbed.errors import InfrastructureError
from testbed.export.swept import swept_csv, swept_json
from testbed.files import sha256
from testbed.kernels.cache import using
from testbed.pipeline import MACHINES, check_names, on_machine
from testbed.process import Workers
from testbed.progress import watching
from testbed.report.swept import Swept, broken_lines, charted, swept_grid, swept_page
from testbed.report.table import grid_table
from testbed.spec.choose import with_kernels
from testbed.spec.experiment import Experiment, Scale
from testbed.spec.grid import parse_axis, points_of
from testbed.spec.load import load_experiment
from testbed.store import explained, write_text
from testbed.sweep.cluster import record_on
from testbed.sweep.here import record_here
from testbed.sweep.run import sweep
from testbed.sweep.task import Points, kernels_of, tasks_of

_MOST_ROWS = 40  # of the table on the terminal; the page has all
_MOST_COLUMNS = 4


def add_sweep(verb: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    verb.add_argument("experiment", help="a name, or a .yaml file")
    verb.add_argument(
        "--grid",
        action="append",
        required=True,
        metavar="KEY=V1,V2",
        help="an axis: any key that --set takes, or kernel; several make a grid",
    )
    verb.add_argument(
        "--machine",
        choices=MACHINES,
        default="uml",
        help="uml: virtual time (default); the others as `run` has them",
    )
    add_runs(verb)
    add_settings(verb)
    verb.add_argument(
        "--dask",
        metavar="tcp://HOST:PORT",
        help="run the points on a dask.distributed cluster, by its scheduler's address",
    )
    verb.add_argument("--json", action="store_true", help="print JSON and nothing else")
    verb.set_defaults(command=_sweep)


def _sweep(arguments: argparse.Namespace) -> int:
    axes = tuple(parse_axis(each) for each in arguments.grid)
    machine = MACHINES[arguments.machine]
    base = _load(arguments, ())
    points = points_of(axes, partial(_load, arguments))
    for each in points:
        check_names(each.experiment)
        machine.check(each.experiment)
    plan = replace(plan_of(arguments, machine), abreast=1)
    kept = Points(arguments.out, base.name)
    arguments.lost = (
        f"; finished points are in {kept.home}, the same command goes on from there"
    )
    with watching(Console(stderr=True), quiet=arguments.quiet) as watch:
        tasks, without = tasks_of(points, plan, watch)
        recorder = (
            partial(record_on, arguments.dask, kept) if arguments.dask else record_here
        )
        with using(kernels_of(tasks)), Workers() as workers:
            results, broken = sweep(tasks, recorder, kept, workers, watch)
    swept = Swept(
        experiment=points[0].experiment,
        axes=axes,
        points=results,
        broken=tuple((each.at, each.why) for each in (*without, *broken)),
        command=typed(),
    )
    _tell(swept, _publish(swept, kept), as_json=arguments.json)
    return InfrastructureError.exit_code if swept.broken else 0


def _load(arguments: argparse.Namespace, settings: Sequence[str]) -> Experiment:
    """Return the experiment with --set, and what a point sets beside it."""
    machine = MACHINES[arguments.machine]
    scale = Scale.FULL if arguments.full else Scale.QUICK
    every = (*arguments.settings, *settings)
    loaded = load_experiment(arguments.experiment, every, scale, machine.clock)
    chosen = with_kernels(loaded, arguments.kernels)
    return on_machine(chosen, machine, chosen=bool(arguments.kernels))


def _publish(swept: Swept, kept: Points) -> Path:
    """Write page, JSON and CSV; return their folder: the same for the same grid."""
    axes = json.dumps([(each.key, each.values) for each in swept.axes])
    folder = kept.home / f"sweep-{sha256(axes.encode())[:12]}"
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "sweep.html", swept_page(swept))
    write_text(folder / "sweep.csv", swept_csv(swept))
    write_text(folder / "sweep.json", _json(swept))
    return folder


def _json(swept: Swept) -> str:
    return json.dumps(swept_json(swept), indent=1, allow_nan=False) + "\n"


def _tell(swept: Swept, folder: Path, *, as_json: bool) -> None:
    if as_json:
        print(_json(swept), end="")
        return
    console = table_console()
    names = charted(swept)[:_MOST_COLUMNS]
    grid = swept_grid(swept, names, _MOST_ROWS)
    console.print(Text(grid.title, "bold"))
    console.print(grid_table(replace(grid, title=grid.head[0])))
    rows = sum(len(each.figures) for each in swept.points)
    if rows > _MOST_ROWS:
        console.print(f"  and {rows - _MOST_ROWS} rows more, in sweep.csv")
    for line in broken_lines(swept):
        console.print(Text(f"broken: {line}", "bold red"), soft_wrap=True)
    page = folder / "sweep.html"
    console.print(f"page: {page}", highlight=False, soft_wrap=True)
