"""Stored runs held against each other: what was measured, and what else differs.

A side is a stored run, or one variant of it; A is what the others are compared with.
Variants are paired by name; where each side has only one, they are paired whatever
their names are. Start with compare.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.facts import UNITS
from testbed.measured import MeasuredRun
from testbed.report.kernels import flat
from testbed.report.numbers import NOTHING
from testbed.spec.codec import encode

#: Statistics shown beside the mean of a metric that has more than one sample.
_STATISTICS = ("p50", "p99")
_HOSTS = ("sender", "receiver")
#: What a variant is called, not what it is; its kernel has facts of its own.
_NAMES = ("name", "about", "kernel")
#: Lists too long to read, of what the settings or the counters say already.
_UNREAD = ("counters", "links")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Runs that were stored together. label: "A", "B", ...; runs: in their order."""

    label: str
    runs: tuple[MeasuredRun, ...]

    def of(self, variant: str) -> tuple[MeasuredRun, ...]:
        """Return the repeats of a variant."""
        return tuple(each for each in self.runs if each.run.variant == variant)

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the variants there are."""
        return tuple(dict.fromkeys(each.run.variant for each in self.runs))

    @property
    def title(self) -> str:
        """What it is, in words."""
        run = self.runs[0].run
        return f"{self.label}: {run.experiment.name} {run.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure on each side: a metric's mean or quantile, a counter, a rule's share.

    host: "sender" or "receiver".  values: means over the repeats, None where unknown.
    ranges: the least and the most of the repeats, None where there is but one.
    """

    kind: str
    name: str
    host: str
    unit: str
    values: tuple[float | None, ...]
    ranges: tuple[tuple[float, float] | None, ...]

    @property
    def differs(self) -> bool:
        """Tell whether the sides have different values."""
        return len(set(self.values)) > 1

    def ratio(self, at: int) -> float | None:
        """Return a side's value over the first side's, None where there is none."""
        base, value = self.values[0], self.values[at]
        return value / base if base and value is not None else None

    def overlaps(self, at: int) -> bool:
        """Tell whether the repeats of a side and of the first have values in common.

        Only where both were repeated.
        """
        base, own = self.ranges[0], self.ranges[at]
        return bool(base and own and base[0] <= own[1] and own[0] <= base[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One variant on every side. names: what each side calls it."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """What it is called."""
        return " against ".join(dict.fromkeys(self.names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A condition in which the sides differ. pair: of which pair; "" of all alike."""

    pair: str
    what: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Sides against the first. same: groups of conditions in which nothing differs.

    unpaired: variants that some sides lack, by label.
    """

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    same: tuple[str, ...]
    unpaired: Mapping[str, tuple[str, ...]]


def compare(stored: Sequence[Sequence[MeasuredRun]]) -> Comparison:
    """Return stored runs compared with the first. Raises SpecError for no pair."""
    if not 1 < len(stored) <= len(_LETTERS):
        raise SpecError(f"give 2 to {len(_LETTERS)} runs to compare, not {len(stored)}")
    sides = tuple(
        Side(label=label, runs=tuple(runs))
        for label, runs in zip(_LETTERS, stored, strict=False)
    )
    names = _paired(sides)
    facts = {
        _titled(each): [
            dict(_facts(side.of(name))) for side, name in zip(sides, each, strict=True)
        ]
        for each in names
    }
    return Comparison(
        sides=sides,
        pairs=tuple(_pair(sides, each) for each in names),
        differences=tuple(_differences(facts)),
        same=tuple(_same(facts)),
        unpaired=_unpaired(sides, names),
    )


def _paired(sides: Sequence[Side]) -> list[tuple[str, ...]]:
    shared = [
        name
        for name in sides[0].variants
        if all(name in each.variants for each in sides)
    ]
    if shared:
        return [(name,) * len(sides) for name in shared]
    if all(len(each.variants) == 1 for each in sides):
        return [tuple(each.variants[0] for each in sides)]
    had = "; ".join(f"{each.label} has {', '.join(each.variants)}" for each in sides)
    raise SpecError(
        f"no variant is on all sides: {had}. To compare two of other names, give their "
        "folders: RUN/before RUN/after"
    )


def _titled(names: Sequence[str]) -> str:
    return " against ".join(dict.fromkeys(names))


def _unpaired(
    sides: Sequence[Side], names: Sequence[tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    found = {}
    for at, side in enumerate(sides):
        taken = {each[at] for each in names}
        left = tuple(name for name in side.variants if name not in taken)
        if left:
            found[side.label] = left
    return found


def _pair(sides: Sequence[Side], names: tuple[str, ...]) -> Pair:
    groups = [side.of(name) for side, name in zip(sides, names, strict=True)]
    rows = (*_metrics(groups), *_rules(groups), *_counters(groups))
    return Pair(names=names, rows=rows)


def _metrics(groups: Sequence[Sequence[MeasuredRun]]) -> Iterator[Row]:
    every = [each for group in groups for each in group]
    for name in dict.fromkeys(name for each in every for name in each.metrics):
        found = [each.metrics[name].summary() for each in every if name in each.metrics]
        several = any(summary.n > 1 for summary in found)
        for statistic in ("", *(_STATISTICS if several else ())):
            full = f"{name}.{statistic}" if statistic else name
            values = [
                [each.value(full, "sender") for each in group] for group in groups
            ]
            yield _row("metric", full, "sender", UNITS.get(name, ""), values)


def _rules(groups: Sequence[Sequence[MeasuredRun]]) -> Iterator[Row]:
    every = [each.attribution or {} for group in groups for each in group]
    for rule in dict.fromkeys(rule for each in every for rule in each):
        values = [
            [
                None if each.attribution is None else each.attribution.get(rule, 0.0)
                for each in group
            ]
            for group in groups
        ]
        yield _row("rule", rule, "sender", "share", values)


def _counters(groups: Sequence[Sequence[MeasuredRun]]) -> Iterator[Row]:
    every = [each for group in groups for each in group]
    for host in _HOSTS:
        moved = {name for each in every for name in each.counters.get(host, {})}
        for name in sorted(moved):
            values = [[each.value(name, host) for each in group] for group in groups]
            yield _row("counter", name, host, "", values)


def _row(
    kind: str,
    name: str,
    host: str,
    unit: str,
    found: Sequence[Sequence[float | None]],
) -> Row:
    known = [[value for value in each if value is not None] for each in found]
    return Row(
        kind=kind,
        name=name,
        host=host,
        unit=unit,
        values=tuple(sum(each) / len(each) if each else None for each in known),
        ranges=tuple(
            (min(each), max(each)) if len(each) > 1 else None for each in known
        ),
    )


def _facts(runs: Sequence[MeasuredRun]) -> Iterator[tuple[str, str]]:
    """Yield what the repeats of a variant were run on and with: "group: name", text."""
    run = runs[0].run
    yield "experiment", run.experiment.name
    yield "scale", run.experiment.scale.value
    yield "machine", run.machine
    yield "clock", run.clock
    yield "seeds", ", ".join(str(each.run.seed) for each in runs)
    yield "testbed", run.version
    for name, text in flat(encode(run.kernel)):
        yield f"kernel: {name}", text
    for name, text in flat(encode(run.spec())):
        if name not in _NAMES:
            yield f"settings: {name}", text
    for name, text in flat(run.environment()):
        if not any(part in name.split(".") for part in _UNREAD):
            yield f"environment: {name}", text


def _names(facts: Mapping[str, Sequence[Mapping[str, str]]]) -> Sequence[str]:
    every = (name for sides in facts.values() for each in sides for name in each)
    return tuple(dict.fromkeys(every))


def _differences(
    facts: Mapping[str, Sequence[Mapping[str, str]]],
) -> Iterator[Difference]:
    for what in _names(facts):
        found = {
            pair: tuple(each.get(what, NOTHING) for each in sides)
            for pair, sides in facts.items()
        }
        alike = len(set(found.values())) == 1
        for pair, values in list(found.items())[: 1 if alike else None]:
            if len(set(values)) > 1:
                yield Difference(pair="" if alike else pair, what=what, values=values)


def _same(facts: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[str]:
    differ = {each.what.partition(":")[0] for each in _differences(facts)}
    for group in dict.fromkeys(name.partition(":")[0] for name in _names(facts)):
        if group not in differ:
            yield group
