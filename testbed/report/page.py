"""The report as one HTML file: no network, no script, the same bytes for the same runs.

Everything that is text is escaped by the template, in one place; only the pictures are
markup, and they come from plots.py. Start with render.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from testbed.claims import Verdict
from testbed.measured import MeasuredRun
from testbed.report.figures import Figure, Grid, figures
from testbed.report.meanings import (
    COUNTERS,
    SAMPLES,
    VERDICTS,
    scope_of,
    unit_of,
)
from testbed.report.numbers import amount, change, count
from testbed.report.result import Result
from testbed.report.table import summary
from testbed.spec.codec import encode
from testbed.spec.experiment import Experiment
from testbed.store import Run
from testbed.trace.metrics import METRICS

_TEMPLATE = Path(__file__).with_name("page.html.j2")
_STATISTICS = ("mean", "p50", "p90", "p99", "max")
_HOSTS = ("sender", "receiver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One variant's part of a claim, as text."""

    variant: str
    claimed: str
    measured: str
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
    voids: tuple[Run, ...]
    commands: tuple[str, ...]
    kernels: Grid
    settings: Grid
    metrics: tuple[Grid, ...]
    counters: tuple[Grid, ...]
    environments: tuple[tuple[str, str], ...]
    figures: tuple[tuple[Figure, Markup], ...]


def render(results: Sequence[Result]) -> str:
    """Return the page of some results. Reads the environment that their runs stored."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        sections=[_section(at, each) for at, each in enumerate(results, start=1)],
        metrics=METRICS,
        unit_of=unit_of,
        definitions=_definitions(results),
        samples=SAMPLES,
        verdicts={kind.value: meaning for kind, meaning in VERDICTS.items()},
    )


def _section(at: int, result: Result) -> Section:
    drawn = figures(result, f"r{at}")
    firsts = [result.first(name) for name in result.variants()]
    return Section(
        anchor=f"r{at}",
        experiment=result.experiment,
        summary=summary(result),
        lines=tuple(_line(verdict) for verdict in result.verdicts),
        voids=result.voids,
        commands=tuple(dict.fromkeys(run.command for run in result.stored())),
        kernels=_kernels(result.stored()),
        settings=_settings(result.experiment),
        metrics=tuple(_metrics(firsts)),
        counters=tuple(_counters(result, host, firsts) for host in _HOSTS),
        environments=tuple(_environment(each.run) for each in firsts),
        # The pictures are the one thing on the page that is markup already.
        figures=tuple((each, Markup(each.svg)) for each in drawn),  # noqa: S704
    )


def _line(verdict: Verdict) -> Line:
    claim = verdict.claim
    unit = unit_of(claim.metric)
    return Line(
        metric=claim.metric,
        scope=scope_of(claim),
        rows=tuple(
            Row(
                variant=variant,
                claimed=amount(claimed, unit),
                measured=amount(verdict.measured.get(variant), unit),
                differs=change(claimed, verdict.measured.get(variant)),
            )
            for variant, claimed in claim.claimed.items()
        ),
        verdict=verdict.kind.value,
        kind=verdict.kind.name.lower().replace("_", "-"),
        why=verdict.why,
        source=claim.source,
    )


def _kernels(runs: Sequence[Run]) -> Grid:
    head = (
        *("run", "state", "kernel", "build id", "patches", "source", "compiler"),
        *("machine", "clock", "seed", "wall time", "machine's time"),
    )
    columns = [head, *(_identity(run) for run in runs)]
    return Grid(
        title="Kernel and machine",
        head=tuple(column[0] for column in columns),
        rows=tuple(zip(*(column[1:] for column in columns), strict=True)),
    )


def _identity(run: Run) -> tuple[str, ...]:
    kernel = run.kernel
    return (
        f"{run.variant}, repeat {run.repeat}",
        run.state,
        f"{kernel.release} ({kernel.name})",
        kernel.build_id,
        "\n".join(kernel.patches) or "none",
        kernel.source,
        kernel.compiler,
        run.machine,
        run.clock,
        str(run.seed),
        *(amount(s * 1e9, "ns") for s in (run.wall_seconds, run.virtual_seconds)),
    )


def _settings(experiment: Experiment) -> Grid:
    """Return what differs between the variants, as they were asked for."""
    every = [dict(_flat(encode(each), ())) for each in experiment.variants]
    names = dict.fromkeys(name for flat in every for name in flat)
    rows = [(name, *(flat.get(name, "-") for flat in every)) for name in names]
    return Grid(
        title="What differs between the variants",
        head=("setting", *(each.name for each in experiment.variants)),
        rows=tuple(row for row in rows if row[0] != "name" and len(set(row[1:])) > 1),
    )


def _flat(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _flat(each, (*path, str(name)))
    else:
        yield ".".join(path), json.dumps(value, ensure_ascii=False).strip('"')


def _metrics(firsts: Sequence[MeasuredRun]) -> Iterator[Grid]:
    names = dict.fromkeys(name for each in firsts for name in each.metrics)
    for name in names:
        measured = [
            (each.run, each.metrics[name]) for each in firsts if name in each.metrics
        ]
        rows = []
        for run, metric in measured:
            found = metric.summary()
            values = (getattr(found, each) for each in _STATISTICS)
            shown = (amount(value, metric.unit) for value in values)
            rows.append((run.variant, count(found.n), *shown))
        yield Grid(title=name, head=("variant", "n", *_STATISTICS), rows=tuple(rows))


def _counters(result: Result, host: str, firsts: Sequence[MeasuredRun]) -> Grid:
    """Return what nstat counted on a host, what was claimed first."""
    on_host = [v.claim.metric for v in result.verdicts if v.claim.on == host]
    claimed = [name for name in on_host if name not in METRICS]
    counted = sorted({name for each in firsts for name in each.counters.get(host, {})})
    return Grid(
        title=f"{host}: nstat counters",
        head=("counter", *(each.run.variant for each in firsts)),
        rows=tuple(
            (
                name,
                *(count(each.counters.get(host, {}).get(name, 0)) for each in firsts),
            )
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
