"""The figures of a mail as claims in YAML. Read first: write_claims."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from testbed.facts import is_metric
from testbed.mail.facts import Figure
from testbed.mail.recognise import Said
from testbed.mail.writing import amount, quoted, remark, short

#: What takes no time, or does not happen, in virtual time.
_OF_A_REAL_CLOCK = ("cpu", "context_switches")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What the mail says of one metric in one variant.

    figures: as often as it says it.  lines: where.  unsure: no heading says whose.
    """

    figures: tuple[Figure, ...]
    lines: tuple[int, ...]
    unsure: bool

    def written(self) -> str:
        """Write the mean."""
        values = [each.value for each in self.figures]
        return amount(sum(values, Fraction(0)) / len(values), self.figures[0].unit)

    def spread(self) -> str:
        """Say of how many values it is the mean; empty for one."""
        if len(self.figures) == 1:
            return ""
        values = [each.value for each in self.figures]
        unit = self.figures[0].unit
        least, most = amount(min(values), unit), amount(max(values), unit)
        return f"mean of {len(values)}, {least} to {most}"


def write_claims(said: Sequence[Said], source: str) -> list[str]:
    """Write what can be measured as claims, and the other figures as comments."""
    figures = _figures(said)
    here = {name: values for name, values in figures.items() if _is_measured(name)}
    lines = (
        ["claims:"] if here else ["# ask: no figure was found that could be claimed"]
    )
    for name, values in here.items():
        lines += _claim(name, values, source)
    elsewhere = {name: values for name, values in figures.items() if name not in here}
    if elsewhere:
        lines.append("# Figures that no metric here measures:")
    for name, values in elsewhere.items():
        told = "; ".join(_told(variant, value) for variant, value in values.items())
        lines.append(f"#   {name}: {told}")
    return lines


def _told(variant: str, value: Value) -> str:
    spread = value.spread()
    return f"{variant} {value.written()}" + (f" ({spread})" if spread else "")


def _claim(name: str, values: Mapping[str, Value], source: str) -> list[str]:
    lines = [f"  - metric: {name}"]
    for variant, value in values.items():
        unsure = "guess: no heading says whose it is" if value.unsure else ""
        remarks = "; ".join(each for each in (value.spread(), unsure) if each)
        lines.append(f"    {variant}: {value.written()}{remark(remarks)}")
    numbers = sorted({line for value in values.values() for line in value.lines})
    plural = "line" if len(numbers) == 1 else "lines"
    where = short(f"{plural} {', '.join(str(each) for each in numbers)}")
    if name in _OF_A_REAL_CLOCK:
        lines.append("    needs: real")
    return [
        *lines,
        "    within: 10%",
        f"    source: {quoted(f'{source}, {where}')}",
        f"    why: drafted{remark('ask: how near is near enough, and why?')}",
    ]


def _figures(said: Sequence[Said]) -> dict[str, dict[str, Value]]:
    """Return metric to variant to value, before first, in the mail's order.

    What no heading claims is taken to be with the patch.
    """
    found: dict[str, dict[str, list[Said]]] = {}
    for each in said:
        if isinstance(each.fact, Figure):
            by_variant = found.setdefault(each.fact.metric, {})
            by_variant.setdefault(each.variant or "after", []).append(each)
    return {
        metric: {
            variant: _value(by_variant[variant])
            for variant in ("before", "after")
            if variant in by_variant
        }
        for metric, by_variant in found.items()
    }


def _value(said: Sequence[Said]) -> Value:
    """Return the figures; a sentence's do not count where a tool printed the same."""
    pairs = [(each.fact, each) for each in said if isinstance(each.fact, Figure)]
    exact = [pair for pair in pairs if not pair[0].rough] or pairs
    return Value(
        figures=tuple(figure for figure, _ in exact),
        lines=tuple(each.line.number for _, each in exact),
        unsure=any(each.variant is None for _, each in exact),
    )


def _is_measured(metric: str) -> bool:
    return is_metric(metric) or re.fullmatch(r"[A-Z]\w*", metric) is not None
