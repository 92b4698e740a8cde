"""Kernels held against each other: what differs between the variants, and what not.

Nothing to show where all variants ran on one kernel. Start with kernel_lines.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from testbed.facts import UNITS
from testbed.measured import MeasuredRun
from testbed.report.grid import Grid
from testbed.report.numbers import NOTHING, amount, change, listed, plural
from testbed.report.result import Result
from testbed.spec.codec import encode
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import KernelIdentity
from testbed.store import Run

#: What tells two kernels apart, beside their names.
_PARTS = {
    "arch": "architecture",
    "release": "release",
    "source": "source",
    "config_sha256": ".config",
    "compiler": "compiler",
}
#: What a variant is called, not what it is.
_NAMES = ("name", "about", "kernel")
#: What a change of the sender shows in; "" where the host does not matter.
_COMPARED = (
    *("throughput", "transactions", "latency", "IpOutRequests", "IpInReceives"),
    *("TcpOutSegs", "TcpRetransSegs", "tso_size", "ack_stretch", "send_gap"),
)


def kernels_differ(result: Result) -> bool:
    """Tell whether the variants ran on more than one kernel."""
    return len({run.kernel.name for run in result.stored()}) > 1


def also_differ(result: Result) -> Sequence[str]:
    """Name every setting and condition that differs between the variants too."""
    settings = _settings_that_differ(result.experiment)
    return (*settings, *_conditions(result.stored()))


def kernel_lines(result: Result) -> Sequence[str]:
    """Say whether the variants differ in their kernel alone, in what, and in what not.

    Nothing where they have one kernel.
    """
    if not kernels_differ(result):
        return ()
    more = also_differ(result)
    difference = _kernel_difference(_first_runs(result), alone=not more)
    return (*_alone_or_not(more), *difference)


def kernel_grids(result: Result, abreast: int) -> Iterator[Grid]:
    """Yield what was measured, side by side; nothing where all had one kernel.

    A mean over a variant's repeats, and how far it is from the first variant's.
    abreast: how many variants beside the first one grid has room for.
    """
    if not kernels_differ(result) or not result.runs:
        return
    first, *others = result.variants()
    for at in range(0, len(others), abreast):
        yield _grid(result, first, others[at : at + abreast])


def _grid(result: Result, first: str, others: Sequence[str]) -> Grid:
    heads = (f"{name}:\n{part}" for name in others for part in ("", f"to {first}"))
    return Grid(
        title="measured",
        head=("sender", f"{first}:", *heads),
        rows=tuple(_rows(result, first, others)),
    )


def _rows(
    result: Result, first: str, others: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    for metric in _COMPARED:
        unit = UNITS.get(metric, "")
        base = _mean(result.runs, first, metric)
        values = [_mean(result.runs, name, metric) for name in others]
        if base is None and not any(values):
            continue
        shown = (
            cell
            for value in values
            for cell in (
                amount(value, unit),
                change(base, value) if base is not None else NOTHING,
            )
        )
        yield (metric, amount(base, unit), *shown)


def _mean(runs: Sequence[MeasuredRun], variant: str, metric: str) -> float | None:
    values = [
        each.value(metric, "sender") for each in runs if each.run.variant == variant
    ]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _first_runs(result: Result) -> Sequence[Run]:
    found: dict[str, Run] = {}
    for run in result.stored():
        found.setdefault(run.variant, run)
    return tuple(found.values())


def _alone_or_not(more: Sequence[str]) -> Iterator[str]:
    if not more:
        yield "the variants differ in their kernel alone"
        return
    yield f"the variants differ in their kernel and in {listed(more)};"
    yield "  --kernel a=... --kernel b=... compares kernels alone"


def _kernel_difference(runs: Sequence[Run], *, alone: bool) -> Iterator[str]:
    kernels = [run.kernel for run in runs]
    common = [each for each in kernels[0].patches if _everywhere(each, kernels)]
    differ = [
        label
        for name, label in _PARTS.items()
        if len({getattr(each, name) for each in kernels}) > 1
    ]
    for run in runs:
        own = [each for each in run.kernel.patches if each not in common]
        told = [run.kernel.name]
        told += [run.kernel.release] if "release" in differ else []
        told += [f"with {listed(own)}"] if own else []
        yield f"  {run.variant}: {', '.join(told)}"
    if differ:
        yield f"  not the same: {listed(differ)}"
    same = [label for label in _PARTS.values() if label not in differ]
    same += [plural(len(common), "patch", "patches")] if common else []
    settings = (
        ["machine", "seed", "topology", "path", "workload", "every setting and switch"]
        if alone
        else []
    )
    yield f"  the same: {listed([*same, *settings])}"
    if len({each.build_id for each in kernels}) < len({each.name for each in kernels}):
        yield "  two have one build id: what differs was not compiled into the kernel"


def _everywhere(patch: str, kernels: Sequence[KernelIdentity]) -> bool:
    return all(patch in each.patches for each in kernels)


def _settings_that_differ(experiment: Experiment) -> Iterator[str]:
    flats = [
        {name: value for name, value in flat(encode(each)) if name not in _NAMES}
        for each in experiment.variants
    ]
    for name in dict.fromkeys(name for each in flats for name in each):
        if len({each.get(name) for each in flats}) > 1:
            yield name


def _conditions(runs: Sequence[Run]) -> Iterator[str]:
    """Name what the runs had around them, if it differs between variants."""
    for name in ("machine", "clock", "seed"):
        had: dict[str, set[object]] = {}
        for run in runs:
            had.setdefault(run.variant, set()).add(getattr(run, name))
        if any(each != had[runs[0].variant] for each in had.values()):
            yield name


def flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield each leaf of nested mappings as its dotted path, and as text."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from flat(each, (*path, str(name)))
    else:
        yield ".".join(path), json.dumps(value, ensure_ascii=False).strip('"')
