"""The report as one HTML file: no network, the same bytes for the same runs.

Everything that is text is escaped by the template, in one place. Markup already are
only the pictures, which come from plots.py, and the two scripts that draw the live one:
the charting library, and picture.js. The page names their hashes, so that a browser
runs no other and loads nothing. Without them the page is whole, but for that one
picture. Start with render.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from testbed.facts import MEANINGS
from testbed.measured import MeasuredRun
from testbed.ratio import Ratio
from testbed.report.drawn import Drawn
from testbed.report.figures import SEQUENCE, Figure
from testbed.report.grid import Grid
from testbed.report.kernels import flat, kernel_grids, kernel_lines
from testbed.report.library import chart_library
from testbed.report.live import SLICES, Live
from testbed.report.matching import (
    attribution_grid,
    divergence_grid,
    divergences,
    match_grid,
    unreached,
)
from testbed.report.meanings import (
    COUNTERS,
    MATCHING,
    RATIO,
    RULES,
    SAMPLES,
    VERDICTS,
    claimed_unit,
    is_counter,
    scope_of,
    titled,
    unit_of,
)
from testbed.report.moments import Moment
from testbed.report.numbers import NOTHING, amount, change, count, ends, listed
from testbed.report.plots import renamed
from testbed.report.result import Result
from testbed.report.words import ran_on, summary, void
from testbed.spec.codec import encode
from testbed.spec.experiment import Experiment
from testbed.store import Run
from testbed.trace.measurement import Summary
from testbed.units import NS_PER_S
from testbed.verdict import Verdict

_TEMPLATE, _STYLE, _SCRIPT = (
    Path(__file__).with_name(name)
    for name in ("page.html.j2", "page.css", "picture.js")
)
#: What the live picture can do: picture.js's name of it, and the button's text.
_CONTROLS = {
    "previous": "previous packet",
    "next": "next packet",
    "in": "zoom in",
    "out": "zoom out",
    "earlier": "earlier",
    "later": "later",
    "whole": "whole time",
}
_STATISTICS = ("n", "mean", "p50", "p90", "p99", "max")
_HOSTS = ("sender", "receiver")
_KERNELS_ABREAST = 6  # beside the first, in one table; it scrolls


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One variant's part of a claim, as text."""

    variant: str
    claimed: str
    measured: str
    model: str
    differs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One claim, as text. kind: the verdict as a CSS class."""

    metric: str
    scope: str
    rows: tuple[Row, ...]
    verdict: str
    kind: str
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What the page shows of one result."""

    anchor: str
    experiment: Experiment
    summary: str
    lines: tuple[Line, ...]
    voids: tuple[str, ...]
    commands: tuple[str, ...]
    ran_on: tuple[str, ...]
    kernels: Grid
    compared: tuple[Grid, ...]
    compared_lines: tuple[str, ...]
    runs: Grid
    settings: Grid
    metrics: tuple[Grid, ...]
    counters: Grid
    environments: tuple[tuple[str, str], ...]
    figures: tuple[tuple[Figure, Markup], ...]
    live: Live | None
    live_data: Markup
    moments: tuple[Moment, ...]
    model: tuple[Grid, ...]
    unreached: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script of the page. digest: of its text, SHA-256 in base64."""

    text: Markup
    digest: str


def render(every: Sequence[Drawn]) -> str:
    """Return the page of some results. Reads the environment that their runs stored.

    Raises Unavailable where the charting library is not installed.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    results = [each.result for each in every]
    scripts, style = _drawing() if any(each.live for each in every) else ((), "")
    return template.render(
        sections=[_section(f"r{at}", each) for at, each in enumerate(every, start=1)],
        scripts=scripts,
        style=Markup(_STYLE.read_text(encoding="utf-8") + style),  # noqa: S704  # ours
        controls=_CONTROLS,
        sequence=SEQUENCE,
        slices=count(SLICES),
        metrics=MEANINGS,
        unit_of=unit_of,
        definitions=_definitions(results),
        ratio=RATIO,
        samples=SAMPLES,
        matching=MATCHING,
        rules=RULES,
        verdicts={kind.value: meaning for kind, meaning in VERDICTS.items()},
    )


def _drawing() -> tuple[tuple[Script, ...], str]:
    """Return the scripts that draw the live pictures, and the library's style."""
    library = chart_library()
    texts = (library.script, _SCRIPT.read_text(encoding="utf-8"))
    return tuple(map(_script, texts)), library.style


def _script(text: str) -> Script:
    if "</script" in text.lower():
        raise ValueError("a script that would end before its end")
    digest = hashlib.sha256(text.encode()).digest()
    return Script(
        text=Markup(text),  # noqa: S704  # an installed package's, or ours
        digest=base64.b64encode(digest).decode(),
    )


def _section(anchor: str, drawn: Drawn) -> Section:
    result = drawn.result
    firsts = [result.first(name) for name in result.variants()]
    return Section(
        anchor=anchor,
        experiment=result.experiment,
        summary=summary(result),
        lines=tuple(_line(verdict) for verdict in result.verdicts),
        voids=tuple(void(run) for run in result.voids),
        commands=tuple(dict.fromkeys(run.command for run in result.stored())),
        ran_on=tuple(ran_on(result)),
        kernels=_kernels(result.stored()),
        compared=tuple(kernel_grids(result, _KERNELS_ABREAST)),
        compared_lines=tuple(kernel_lines(result)),
        runs=_runs(result.stored()),
        settings=_settings(result.experiment),
        metrics=tuple(_metrics(firsts)),
        counters=_counters(result, firsts),
        environments=tuple(_environment(each.run) for each in firsts),
        figures=tuple(
            (each, Markup(renamed(each.svg, anchor)))  # noqa: S704  # by plots.py
            for each in drawn.figures
        ),
        live=drawn.live,
        live_data=Markup(drawn.live.text if drawn.live else ""),  # noqa: S704  # JSON
        moments=drawn.moments,
        model=tuple(_model(result)),
        unreached=tuple(unreached(result)),
    )


def _line(verdict: Verdict) -> Line:
    claim = verdict.claim
    unit = claimed_unit(claim)
    values = (
        Row(
            variant=variant,
            claimed=amount(claimed, unit),
            measured=amount(verdict.measured.get(variant), unit),
            model=amount(verdict.model.get(variant), unit),
            differs=change(claimed, verdict.measured.get(variant)),
        )
        for variant, claimed in claim.claimed.items()
    )
    return Line(
        metric=claim.metric,
        scope=scope_of(claim),
        rows=(*values, *([_ratio(verdict.ratio)] if verdict.ratio else [])),
        verdict=verdict.kind.value,
        kind=verdict.kind.name.lower().replace("_", "-"),
        why=verdict.why,
        source=claim.source,
    )


def _ratio(ratio: Ratio) -> Row:
    """Return what a claim was judged by in real time, with its interval."""
    spread = f" [{ends(ratio.interval)}]" if ratio.interval else ""
    return Row(
        variant=f"{ratio.over}/{ratio.under}",
        claimed=amount(ratio.claimed, ""),
        measured=amount(ratio.measured, "") + spread,
        model=NOTHING,
        differs=change(ratio.claimed, ratio.measured),
    )


def _model(result: Result) -> Iterator[Grid]:
    """Return what the model's page says, nothing where it reaches no variant."""
    if any(result.predicted(name) for name in result.variants()):
        yield match_grid(result)
        for each, found in divergences(result):
            yield divergence_grid(each, found, result.first(each.variant))
        yield attribution_grid(result, result.variants())


def _kernels(runs: Sequence[Run]) -> Grid:
    """Return what ran, a column for each kernel and machine that differs."""
    ran: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        ran.setdefault(_identity(run), []).append(run.variant)
    names = [listed(tuple(dict.fromkeys(variants))) for variants in ran.values()]
    labels = (
        *("release", "name", "commit", "build id", "patches", ".config sha256"),
        "source",
    )
    return Grid(
        title="Kernel and machine",
        head=("of", *names),
        rows=tuple(zip((*labels, "compiler", "machine", "clock"), *ran, strict=True)),
    )


def _identity(run: Run) -> tuple[str, ...]:
    kernel = run.kernel
    patches = "\n".join(kernel.patches) or "none"
    return (
        *(kernel.release, kernel.name, kernel.commit or "-", kernel.build_id, patches),
        *(kernel.config_sha256, kernel.source, kernel.compiler),
        *(run.machine, run.clock),
    )


def _runs(runs: Sequence[Run]) -> Grid:
    head = ("variant", "repeat", "seed", "state", "machine's time", "wall time")
    return Grid(
        title="Runs",
        head=(*head, "run id and folder"),
        rows=tuple(
            (
                *(run.variant, str(run.repeat), str(run.seed), run.state),
                amount(run.virtual_seconds * NS_PER_S, "ns"),
                amount(run.wall_seconds * NS_PER_S, "ns"),
                f"{run.run_id}/{run.variant}/{run.repeat}",
            )
            for run in runs
        ),
    )


def _settings(experiment: Experiment) -> Grid:
    """Return what differs between the variants, as they were asked for."""
    every = [dict(flat(encode(each))) for each in experiment.variants]
    names = dict.fromkeys(name for flat in every for name in flat)
    rows = [(name, *(flat.get(name, "-") for flat in every)) for name in names]
    return Grid(
        title="What differs between the variants",
        head=("setting", *(each.name for each in experiment.variants)),
        rows=tuple(row for row in rows if row[0] != "name" and len(set(row[1:])) > 1),
    )


def _metrics(firsts: Sequence[MeasuredRun]) -> Iterator[Grid]:
    names = dict.fromkeys(name for each in firsts for name in each.metrics)
    for name in names:
        measured = {
            each.run.variant: each.metrics[name]
            for each in firsts
            if name in each.metrics
        }
        unit = next(iter(measured.values())).unit
        found = {variant: each.summary() for variant, each in measured.items()}
        single = all(each.n == 1 for each in found.values())
        statistics = ("mean",) if single else _STATISTICS
        yield Grid(
            title=titled(name, unit),
            head=("variant", *(("value",) if single else _STATISTICS)),
            rows=tuple(
                (variant, *_statistics(each, statistics, unit))
                for variant, each in found.items()
            ),
        )


def _statistics(found: Summary, names: Sequence[str], unit: str) -> Iterator[str]:
    for name in names:
        yield amount(getattr(found, name), "" if name == "n" else unit)


def _counters(result: Result, firsts: Sequence[MeasuredRun]) -> Grid:
    """Return what nstat counted on both hosts, what was claimed first."""
    named = [verdict.claim.metric for verdict in result.verdicts]
    claimed = [name for name in named if is_counter(name)]
    columns = [
        (host, each.run.variant, each.counters.get(host, {}))
        for host in _HOSTS
        for each in firsts
    ]
    counted = sorted({name for _, _, counters in columns for name in counters})
    return Grid(
        title="nstat counters",
        head=("counter", *(f"{host}:\n{variant}" for host, variant, _ in columns)),
        rows=tuple(
            (name, *(count(counters.get(name, 0)) for _, _, counters in columns))
            for name in dict.fromkeys((*claimed, *counted))
        ),
    )


def _environment(run: Run) -> tuple[str, str]:
    found = json.dumps(run.environment(), indent=1, sort_keys=True, ensure_ascii=False)
    return run.variant, found


def _definitions(results: Sequence[Result]) -> Mapping[str, str]:
    """Return what the counters mean that the results claim something about."""
    claimed = {v.claim.metric for result in results for v in result.verdicts}
    return {name: told for name, told in COUNTERS.items() if name in claimed}
