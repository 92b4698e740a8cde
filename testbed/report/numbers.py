"""Numbers as people read them: the one place that writes a value with its unit.

Thousands are parted by a plain space, and units are ASCII, so that a table survives any
terminal, pipe and mail. Measured values are shown to three digits; whole numbers
(counters, packet sizes) to the last one. Start with amount.
"""

import math
from collections.abc import Sequence

from testbed.units import NS_PER_S

#: What is shown where there is no value.
NOTHING = "-"
_DIGITS = 3
_SCALES = {
    "ns": ((NS_PER_S, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")),
    "bit/s": (
        (1_000_000_000, "Gbit/s"),
        (1_000_000, "Mbit/s"),
        (1_000, "kbit/s"),
        (1, "bit/s"),
    ),
}


def amount(value: float | None, unit: str) -> str:
    """Write a value of a metric's unit: "44.2 Mbit/s", "325 ms", "2 896 B", "2.41".

    Times and rates bring their unit, since it changes with their size; so do bytes.
    What is counted in other units is a bare number.
    """
    if value is None:
        return NOTHING
    if unit in _SCALES:
        return _scaled(value, _SCALES[unit])
    return f"{count(round(value))} B" if unit == "bytes" else count(value)


def count(value: float) -> str:
    """Write a number of things: "1 397", and a mean of such: "2.41", "576.5"."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value):
        return f"{int(value):,}".replace(",", " ")
    return f"{value:,.{max(1, _decimals(value))}f}".replace(",", " ")


def ends(interval: tuple[float, float]) -> str:
    """Write the two ends of an interval of ratios: "1.09 to 1.74"."""
    return " to ".join(count(end) for end in interval)


def share(part: float, whole: float) -> str:
    """Write part of a whole in percent: "12.5%". Nothing of nothing is no share."""
    return f"{part / whole:.1%}" if whole else NOTHING


def change(claimed: float, measured: float | None) -> str:
    """Write by how much a measured value differs from the one claimed: "+1.2%"."""
    if measured is None or not claimed:
        return NOTHING
    return f"{measured / claimed - 1:+.1%}"


def milliseconds(ns: float) -> str:
    """Write a moment on a time axis, where all must have one unit: "12.345"."""
    return f"{ns / 1e6:.3f}"


def plural(number: int, thing: str, things: str = "") -> str:
    """Write "1 packet", "2 packets". things: where an s does not make the plural."""
    return f"{count(number)} {thing if number == 1 else things or thing + 's'}"


def listed(words: Sequence[str]) -> str:
    """Write "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _scaled(value: float, scales: Sequence[tuple[int, str]]) -> str:
    rounded = float(f"{value:.{_DIGITS}g}")  # 999.6 us is 1.00 ms
    for scale, unit in scales:
        if abs(rounded) >= scale:
            shown = rounded / scale
            # Below its smallest unit only a mean has digits behind the point.
            whole = scale == 1 and shown == int(shown)
            return f"{shown:.{0 if whole else _decimals(shown)}f} {unit}"
    return f"{count(rounded)} {scales[-1][1]}"


def _decimals(value: float) -> int:
    """Return how many digits behind the point make three in all."""
    if not value:
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))
