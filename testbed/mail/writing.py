"""How a draft writes numbers, text and remarks. Nothing here knows a mail."""

import json
import math
from collections.abc import Mapping
from fractions import Fraction

_LONG = 100
_RATES = {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}
_TIMES = {"ms": 10**6, "us": 10**3, "ns": 1}
_PERCENT_DIGITS = 9  # what units.parse_share() takes


def quoted(text: str) -> str:
    """Write text as a YAML string that cannot be read as anything else."""
    return json.dumps(printable(text), ensure_ascii=False)


def printable(text: str) -> str:
    """Return text that YAML takes and one line holds."""
    return "".join(each if each.isprintable() else " " for each in text)


def short(text: str) -> str:
    """Return text for one line of a comment, cut where it is long."""
    text = " ".join(printable(text).split())
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."


def remark(text: str) -> str:
    """Write a comment behind a value; nothing if there is nothing to say."""
    return f"  # {text}" if text else ""


def amount(value: Fraction, unit: str) -> str:
    """Write a figure: 44.22mbit, 183us, 58659110, 3.7."""
    if unit == "bit/s":
        return _in_units(round(value), _RATES)
    if unit == "ns":
        return _in_units(round(value), _TIMES)
    return str(value) if value.denominator == 1 else f"{float(value):.10g}"


def percent(share: float) -> str:
    """Write a share from 0 to 1 as percent."""
    digits = f"{share * 100:.{_PERCENT_DIGITS}f}".rstrip("0").rstrip(".")
    return f"{digits}%"


def _in_units(value: int, units: Mapping[str, int]) -> str:
    """Write a whole number, exactly, in the largest unit it reaches."""
    reached = [name for name, scale in units.items() if value >= scale]
    name = reached[0] if reached else list(units)[-1]
    whole, part = divmod(value, units[name])
    digits = f"{part:0{round(math.log10(units[name]))}d}".rstrip("0") if part else ""
    return f"{whole}.{digits}{name}" if digits else f"{whole}{name}"
