"""Machines side by side: one experiment, a column for each machine that ran it.

The last column says how far apart the machines are. Start with machine_grid.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from testbed.report.grid import Grid
from testbed.report.meanings import claimed_unit, unit_of
from testbed.report.numbers import NOTHING, amount
from testbed.report.result import Result
from testbed.verdict import VerdictKind

#: What is shown of an experiment that claims nothing.
_USUAL = ("IpOutRequests", "IpInReceives", "TcpOutSegs", "throughput")


def machine_grid(results: Sequence[Result]) -> Grid:
    """Return a table of what machines measured in one experiment.

    results: of the same experiment, one a machine, of the same variants.
    """
    names = [machine_of(result) for result in results]
    claims = results[0].experiment.claims
    rows = [*(_claimed(results) if claims else _usual(results)), _verdicts(results)]
    return Grid(
        title=results[0].experiment.name,
        head=("", "claimed", *names, "spread"),
        rows=tuple(rows),
    )


def machine_of(result: Result) -> str:
    """Return the name of the machine that all runs of a result were on."""
    return result.runs[0].run.machine


def spread(values: Sequence[float | None]) -> float | None:
    """Return by what share the largest exceeds the smallest.

    None where one is unknown or 0, or there is but one.
    """
    known = [each for each in values if each is not None]
    if len(known) < len(values) or len(known) <= 1 or min(known) <= 0:
        return None
    return max(known) / min(known) - 1


def _claimed(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    for place, claim in enumerate(results[0].experiment.claims):
        verdicts = [result.verdicts[place] for result in results]
        unit = claimed_unit(claim)
        for variant, claimed in claim.claimed.items():
            values = [each.measured.get(variant) for each in verdicts]
            yield _row(f"{claim.metric} {variant}", unit, claimed, values)


def _usual(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    for metric in _USUAL:
        for variant in results[0].variants():
            values = [_median(result, variant, metric) for result in results]
            yield _row(f"{metric} {variant}", unit_of(metric), None, values)


def _median(result: Result, variant: str, metric: str) -> float | None:
    runs = [each for each in result.runs if each.run.variant == variant]
    values = [each.value(metric, "sender") for each in runs]
    known = [each for each in values if each is not None]
    return median(known) if known else None


def _row(
    name: str, unit: str, claimed: float | None, values: Sequence[float | None]
) -> tuple[str, ...]:
    apart = spread(values)
    shown = (amount(each, unit) for each in values)
    told = NOTHING if apart is None else f"{apart:.1%}"
    return (name, amount(claimed, unit), *shown, told)


def _verdicts(results: Sequence[Result]) -> tuple[str, ...]:
    told = []
    for result in results:
        kinds = [verdict.kind for verdict in result.verdicts]
        done = kinds.count(VerdictKind.REPRODUCED)
        told.append(f"{done} of {len(kinds)}" if kinds else NOTHING)
    return ("claims reproduced", "", *told, "")
