"""Numbers as mails write them: "65,945.29", "1M", "37Gbps", "183 usec"."""

import re
from collections.abc import Mapping
from fractions import Fraction

#: More digits than this are no measurement, and no float holds them all.
_DIGITS = 15
NUMBER = rf"\d{{1,{_DIGITS}}}(?:\.\d{{1,{_DIGITS}}})?"
RATE = rf"({NUMBER})\s?([KMG])(?:bits?/s(?:ec)?|bps|bits?ps|bits?|b/s)\b"
TIME = rf"({NUMBER})\s?(nsec|ns|usec|us|msec|ms|secs?|s)\b"

_RATES: Mapping[str, int] = {"K": 10**3, "M": 10**6, "G": 10**9}
_TIMES: Mapping[str, int] = {
    "ns": 1,
    "nsec": 1,
    "us": 10**3,
    "usec": 10**3,
    "ms": 10**6,
    "msec": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "secs": 10**9,
}
#: netperf's src/netsh.c, convert(): capitals are powers of 1024, small ones of 1000.
_SIZES: Mapping[str, int] = {
    "": 1,
    "K": 1 << 10,
    "M": 1 << 20,
    "G": 1 << 30,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
}


def number(text: str) -> Fraction | None:
    """Return the number that text is, thousands grouped or not; None if it is none."""
    plain = text.replace(",", "")
    return Fraction(plain) if re.fullmatch(NUMBER, plain) else None


def size(text: str) -> int | None:
    """Return the bytes of netperf's "1M" or "-2000000" (its sign is left off)."""
    match = re.fullmatch(rf"-?(\d{{1,{_DIGITS}}})([KMGkmg]?)", text)
    return int(match[1]) * _SIZES[match[2]] if match else None


def rate(amount: str, prefix: str) -> int:
    """Return the bit/s of the two groups of RATE."""
    return int(Fraction(amount) * _RATES[prefix.upper()])


def time(amount: str, unit: str) -> int:
    """Return the ns of the two groups of TIME."""
    return int(Fraction(amount) * _TIMES[unit.lower()])
