"""The terminal's tables: claimed, measured, predicted; what the packets looked like.

One line holds one value claimed, measured and predicted, so that the numbers stand
below each other and any number of variants fits 80 columns. All text is rich.Text,
never markup: names and reasons come from files. Nothing is told by colour alone. Start
with verdict_table.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from testbed.ratio import Ratio
from testbed.report.grid import Grid
from testbed.report.kernels import kernel_grids, kernel_lines
from testbed.report.machines import machine_grid
from testbed.report.matching import (
    attribution_grid,
    divergence_lines,
    divergences,
    match_grid,
    unreached,
)
from testbed.report.meanings import PACKET_METRICS, claimed_unit, scope_of, unit_of
from testbed.report.numbers import NOTHING, amount, count, ends
from testbed.report.result import Result
from testbed.report.words import ran_on, summary, void
from testbed.verdict import Verdict, VerdictKind

_COLOURS = {
    VerdictKind.REPRODUCED: "bold green",
    VerdictKind.DIRECTION_ONLY: "bold yellow",
    VerdictKind.NOT_REPRODUCED: "bold red",
    VerdictKind.NOT_COMPARABLE: "bold magenta",
}
_STATISTICS = ("mean", "p50", "p90", "p99", "max")
_ABREAST = 3  # variants in one table of rules
_KERNELS_ABREAST = 2  # beside the first, in one table of kernels


def verdict_table(results: Sequence[Result]) -> RenderableType:
    """Return what the terminal shows of some results.

    Of one, all; of several, all their claims in one table, and the page has the rest.
    """
    if not results:
        return Text("nothing was run")
    parts = _result(results[0]) if len(results) == 1 else _results(results)
    return Group(*parts)


def machines_table(results: Sequence[Result]) -> RenderableType:
    """Return one experiment's results, a column for each machine that it ran on."""
    lines = dict.fromkeys(line for result in results for line in ran_on(result))
    grid = machine_grid(results)
    return Group(Text(grid.title, "bold"), *map(Text, lines), grid_table(grid))


def _results(results: Sequence[Result]) -> Iterator[RenderableType]:
    for result in results:
        yield from _heading(result)
        yield from (Text(void(run), "bold red") for run in result.voids)
    claiming = [result for result in results if result.verdicts]
    table = _claims_table()
    for result in claiming:
        table.add_section()
        table.add_row(Text(result.experiment.name, "bold"))
        for verdict in result.verdicts:
            _add_claim(table, verdict)
    if claiming:
        yield table
    for result in results:
        yield Text(result.experiment.name, "bold")
        if result.verdicts:
            yield from _reasons(result.verdicts)
        yield Text(summary(result), style="bold")
        yield from _compared(result)


def _compared(result: Result) -> Iterator[RenderableType]:
    """Hold kernels against each other, where the variants have several."""
    yield from (Text(line) for line in kernel_lines(result))
    yield from map(grid_table, kernel_grids(result, _KERNELS_ABREAST))


def _result(result: Result) -> Iterator[RenderableType]:
    yield from _heading(result)
    yield from (Text(void(run), "bold red") for run in result.voids)
    if result.verdicts:
        yield _claims(result.verdicts)
        yield from _reasons(result.verdicts)
    yield Text(summary(result), style="bold")
    yield from _compared(result)
    if result.runs:
        packets = _packets(result)
        if packets.row_count:
            yield packets
        yield from _model(result)


def _heading(result: Result) -> Iterator[Text]:
    patch = result.experiment.patch
    applied = [part for part in (patch.commit, patch.version) if part]
    yield Text(f"{patch.subject} ({', '.join(applied) or 'never applied'})", "bold")
    yield Text(f"experiment {result.experiment.name}")
    yield from (Text(line) for line in ran_on(result))


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def _claims(verdicts: Sequence[Verdict]) -> Table:
    table = _claims_table()
    for verdict in verdicts:
        _add_claim(table, verdict)
    return table


def _claims_table() -> Table:
    table = _table()
    table.padding = (0, 0)  # or it would not fit
    table.add_column("claim", overflow="fold")
    table.add_column("variant", overflow="fold")
    for name in ("claimed", "measured", "model"):
        table.add_column(name, justify="right", no_wrap=True, overflow="fold")
    table.add_column("verdict", overflow="fold", min_width=len("not reproduced"))
    return table


def _add_claim(table: Table, verdict: Verdict) -> None:
    claim = verdict.claim
    told = Text(verdict.kind.value, _COLOURS[verdict.kind])
    heads = [Text(claim.metric, "bold"), Text(f"  {scope_of(claim)}")]
    unit = claimed_unit(claim)
    for at, (variant, claimed) in enumerate(claim.claimed.items()):
        measured = verdict.measured.get(variant)
        table.add_row(
            heads[at] if at < len(heads) else Text(),
            Text(variant),
            Text(amount(claimed, unit)),
            Text(amount(measured, unit)),
            Text(amount(verdict.model.get(variant), unit)),
            told if at == 0 else Text(),
        )
    if len(claim.claimed) < len(heads):
        table.add_row(heads[1])
    if verdict.ratio:
        _add_ratio(table, verdict.ratio)


def _add_ratio(table: Table, ratio: Ratio) -> None:
    """Add what a claim was judged by in real time, and its interval below it."""
    shown = amount(ratio.measured, "")
    row = ("ratio", amount(ratio.claimed, ""), shown, NOTHING)
    table.add_row(Text(), *map(Text, row), Text())
    if ratio.interval:
        table.add_row("", Text("  95%"), "", Text(ends(ratio.interval)), "", "")


def _reasons(verdicts: Sequence[Verdict]) -> Iterator[RenderableType]:
    yield Text("why", "bold")
    for verdict in verdicts:
        claim = verdict.claim
        reason = Text(f"{claim.metric}, {claim.host}: {verdict.why}")
        yield Padding(reason, (0, 0, 0, 2))


def _packets(result: Result) -> Table:
    table = _table()
    table.add_column("packets", overflow="fold")
    for name in ("n", *_STATISTICS):
        table.add_column(name, justify="right", no_wrap=True, overflow="fold")
    measured = {name: result.first(name).metrics for name in result.variants()}
    for metric in PACKET_METRICS:
        variants = [name for name in measured if metric in measured[name]]
        if not variants:
            continue
        table.add_row(Text.assemble((metric, "bold"), f"  {_unit_note(metric)}"))
        for variant in variants:
            each = measured[variant][metric]
            found = each.summary()
            values = [getattr(found, name) for name in _STATISTICS]
            shown = [Text(amount(value, each.unit)) for value in values]
            table.add_row(Text(f"  {variant}"), Text(count(found.n)), *shown)
    return table


def _model(result: Result) -> Iterator[RenderableType]:
    variants = [name for name in result.variants() if result.predicted(name)]
    matched = match_grid(result)
    if matched.rows:
        yield grid_table(matched)
    told = (divergence_lines(*each) for each in divergences(result))
    for line in (*chain.from_iterable(told), *unreached(result)):
        yield Padding(Text(line), (0, 0, 0, 2))
    for at in range(0, len(variants), _ABREAST):
        yield grid_table(attribution_grid(result, variants[at : at + _ABREAST]))


def grid_table(grid: Grid) -> Table:
    """Return a table of texts as the terminal shows it."""
    table = _table()
    table.add_column(Text(grid.title), overflow="fold")
    for name in grid.head[1:]:
        table.add_column(Text(name), justify="right", no_wrap=True, overflow="fold")
    for name, *values in grid.rows:
        table.add_row(Text(f"  {name}"), *map(Text, values))
    return table


def _unit_note(metric: str) -> str:
    unit = unit_of(metric)
    return "time" if unit == "ns" else unit
