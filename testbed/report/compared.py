"""A comparison as people read it: on the terminal, and as a page.

Start with comparison_table and comparison_page.
"""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from testbed.report.comparing import Comparison, Pair, Row
from testbed.report.grid import Grid
from testbed.report.numbers import NOTHING, amount, count, listed, plural, share
from testbed.report.sheet import Part, Sheet, render_sheet
from testbed.report.table import grid_table
from testbed.spec.experiment import Scale

_ABREAST = 2  # sides beside the first, in one table of the terminal
_OVERLAP = "~"
_SHORT = 60  # what a terminal shows of a condition's value
_READ_BACK = "environment"
_KINDS = {"metric": "Metrics", "rule": "Data packets cut by", "counter": "Counters"}


def comparison_table(found: Comparison) -> RenderableType:
    """Return what the terminal shows: every metric's mean, and all that differs."""
    return Group(*_terminal(found))


def comparison_page(found: Comparison) -> str:
    """Return the page: every figure and every difference."""
    title = " against ".join(each.title for each in found.sides)
    parts = [
        Part(
            title="What differs, and what does not",
            lines=tuple(_said(found)),
            grids=(_differences(found),),
        )
    ]
    for pair in found.pairs:
        parts.append(Part(title=pair.title, lines=tuple(_about(found, pair))))
        parts += [
            Part(title="", grids=(_grid(found, rows, _KINDS[kind], pair, _all(found)),))
            for kind in _KINDS
            if (rows := [row for row in pair.rows if row.kind == kind])
        ]
    parts.append(
        Part(title="What ran", lines=tuple(_commands(found)), preformatted=True)
    )
    return render_sheet(Sheet(title=title, lines=tuple(_legend(found)), parts=parts))


def _terminal(found: Comparison) -> Iterator[RenderableType]:
    yield from (Text(each.title, "bold") for each in found.sides)
    yield from (Text(line) for line in _said(found))
    yield from map(_indented, _differing(found))
    others = range(1, len(found.sides))
    for pair in found.pairs:
        shown = [each for each in pair.rows if _is_brief(each)]
        for at in range(0, len(others), _ABREAST):
            few = others[at : at + _ABREAST]
            yield grid_table(_grid(found, shown, pair.title, pair, few))
        left = len(pair.rows) - len(shown)
        if left:
            told = f"{plural(left, 'figure')} more, the same on all sides"
            yield _indented(told)
    yield from (Text(line) for line in _legend(found))


def _indented(line: str) -> RenderableType:
    return Padding(Text(line), (0, 0, 0, 2))


def _differing(found: Comparison) -> Iterator[str]:
    """Say each difference in a line; of what was read back the names are enough."""
    read_back = []
    for each in found.differences:
        what = f"{each.pair}: {each.what}" if each.pair else each.what
        if _group(each.what) == _READ_BACK:
            read_back.append(each.what.partition(": ")[2])
            continue
        values = (
            f"{side.label} {_cut(value)}"
            for side, value in zip(found.sides, each.values, strict=True)
        )
        yield f"{what}: {', '.join(values)}"
    if read_back:
        yield f"{_READ_BACK}: {', '.join(dict.fromkeys(read_back))}"


def _is_brief(row: Row) -> bool:
    return row.differs or (row.kind == "metric" and "." not in row.name)


def _all(found: Comparison) -> Sequence[int]:
    return range(1, len(found.sides))


def _grid(
    found: Comparison,
    rows: Sequence[Row],
    title: str,
    pair: Pair,
    others: Sequence[int],
) -> Grid:
    base = found.sides[0].label
    heads = (
        part
        for at in others
        for part in (found.sides[at].label, f"{found.sides[at].label}/{base}")
    )
    return Grid(
        title=title,
        head=(pair.title, base, *heads),
        rows=tuple(
            (
                _name(row),
                _amount(row.values[0], row.unit),
                *(text for at in others for text in _against(row, at)),
            )
            for row in rows
        ),
    )


def _name(row: Row) -> str:
    if row.kind == "rule":
        return f"cut by {row.name}"
    return row.name if row.host == "sender" else f"{row.host}: {row.name}"


def _against(row: Row, at: int) -> tuple[str, str]:
    ratio = row.ratio(at)
    shown = NOTHING if ratio is None else f"{ratio:.4g}"
    if row.values[at] == row.values[0]:
        shown = "="
    elif row.overlaps(at):
        shown += _OVERLAP
    return _amount(row.values[at], row.unit), shown


def _amount(value: float | None, unit: str) -> str:
    if value is not None and unit == "share":
        return share(value, 1)
    return amount(value, unit)


def _said(found: Comparison) -> Iterator[str]:
    if found.same:
        yield f"the same: {listed(found.same)}"
    what = list(dict.fromkeys(_group(each.what) for each in found.differences))
    yield f"different: {listed(what)}" if what else "nothing differs but the run"
    for label, names in found.unpaired.items():
        yield f"not on all sides: {listed(names)}, of {label}"


def _group(what: str) -> str:
    return what.partition(":")[0]


def _differences(found: Comparison) -> Grid:
    return Grid(
        title="What differs",
        head=("what differs", *(each.label for each in found.sides)),
        rows=tuple(
            (
                f"{each.pair}: {each.what}" if each.pair else each.what,
                *each.values,
            )
            for each in found.differences
        ),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def _about(found: Comparison, pair: Pair) -> Iterator[str]:
    for side, name in zip(found.sides, pair.names, strict=True):
        runs = side.of(name)
        about = runs[0].run.spec().about
        yield (
            f"{side.label}: {name}, {about}, kernel {runs[0].run.kernel.release}, "
            f"{plural(len(runs), 'run')}, {count(len(pair.rows))} figures"
        )


def _legend(found: Comparison) -> Iterator[str]:
    runs = [each.run for side in found.sides for each in side.runs]
    if any(each.repeat > 1 for each in runs):
        yield (
            "a value is the mean over the repeats; "
            f"{_OVERLAP} where the repeats of both sides overlap"
        )
    if any(each.experiment.scale is not Scale.FULL for each in runs):
        yield "scale quick: not all of what was published was sent"


def _commands(found: Comparison) -> Iterator[str]:
    for side in found.sides:
        for command in dict.fromkeys(each.run.command for each in side.runs):
            yield f"{side.label}: {command}"
