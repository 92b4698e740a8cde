"""The only parser (and printer) of quantities with units.

Inside the program a time is an int of nanoseconds, a size an int of bytes, a rate an
int of bit/s; text such as "40ms", "100gbit" or "64KB" exists in YAML, on the command
line and in what is shown, nowhere else.
"""

import re
from collections.abc import Mapping
from fractions import Fraction

from testbed.errors import SpecError

NS_PER_S = 1_000_000_000

TIME_UNITS: Mapping[str, int] = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "min": 60 * NS_PER_S,
}
#: Sizes follow kernel and tc usage: KB is 1024 bytes ("64 KB of payload" is 65536).
SIZE_UNITS: Mapping[str, int] = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
RATE_UNITS: Mapping[str, int] = {
    "bit": 1,
    "kbit": 1_000,
    "mbit": 1_000_000,
    "gbit": 1_000_000_000,
}

#: No quantity takes as many characters, and int() refuses a number of thousands.
_MOST = (1 << 62) - 1  # what 64 bits hold, with room to add to it
_LONGEST = 100


def parse_time(text: object) -> int:
    """Return the nanoseconds that text such as "40ms" means. A bare 0 needs no unit."""
    return _parse(text, TIME_UNITS, "a time", "40ms")


def parse_size(text: object) -> int:
    """Return the bytes that text such as "64KB" means. A bare number is bytes."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    return _parse(text, {**SIZE_UNITS, "": 1}, "a size", "64KB")


def parse_rate(text: object) -> int:
    """Return the bit/s that text such as "100gbit" means. A bare 0 needs no unit."""
    return _parse(text, RATE_UNITS, "a rate", "100gbit")


def parse_share(text: object) -> Fraction:
    """Return the exact fraction that text such as "15%" or "0.5%" means."""
    return Fraction(_parse(text, {"%": 10**9}, "a share", "15%"), 100 * 10**9)


def parse_ratio(text: object) -> float:
    """Return what parse_share() returns, as the nearest float."""
    return float(parse_share(text))


def _parse(text: object, units: Mapping[str, int], what: str, example: str) -> int:
    if text == 0 and not isinstance(text, bool):
        return 0
    written = str(text).strip()
    if len(written) > _LONGEST:
        raise SpecError(
            f"{written[:_LONGEST]!r}... is not {what}; write it like {example}"
        )
    match = re.fullmatch(r"(\d+(?:_\d+)*(?:\.\d+)?)\s*([A-Za-z%]*)", written)
    if isinstance(text, bool) or match is None or match[2] not in units:
        known = ", ".join(unit for unit in units if unit)
        raise SpecError(
            f"{written!r} is not {what}; write it like {example} (units: {known})"
        )
    value = Fraction(match[1].replace("_", "")) * units[match[2]]
    if value.denominator != 1:
        smallest = min(units, key=lambda unit: units[unit])
        raise SpecError(f"{written!r} is not a whole number of {smallest or 'units'}")
    if value > _MOST:
        raise SpecError(f"{written!r} is more than can be counted here")
    return int(value)


def format_time(ns: int) -> str:
    """Write nanoseconds in the largest unit that keeps them whole: "40ms"."""
    return _format(ns, {unit: TIME_UNITS[unit] for unit in ("s", "ms", "us", "ns")})


def format_rate(bits: int) -> str:
    """Write bit/s in the largest unit that keeps them whole: 10**9 -> "1gbit"."""
    return _format(bits, RATE_UNITS)


def format_size(size: int) -> str:
    """Write bytes in the largest unit that keeps them whole: 65536 -> "64KB"."""
    return _format(size, SIZE_UNITS)


def _format(value: int, units: Mapping[str, int]) -> str:
    by_size = sorted(units.items(), key=lambda item: -item[1])
    for unit, scale in by_size:
        if value and value % scale == 0:
            return f"{value // scale}{unit}"
    return f"0{by_size[-1][0]}"
