"""Qdiscs as data: what `tc` is told, and what it must say when asked back.

Each kind has a table of its options: how one is parsed from YAML, how it is written on
a tc command line, and where `tc -j qdisc show` repeats it. A new qdisc is a new table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from testbed.errors import SpecError
from testbed.units import NS_PER_S, parse_rate, parse_share, parse_size, parse_time

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one kind of qdisc.

    parse: YAML text to the value (ints in base units).  write: the value to tc words.
    shown: the path of keys below "options" in `tc -j qdisc show`.  scale: what one unit
    of the shown number is in base units (tc shows seconds and bytes/s).
    """

    parse: Callable[[str | int], int | float]
    write: Callable[[str, int | float], tuple[str, ...]]
    shown: tuple[str, ...]
    scale: float = 1


def _count(text: str | int) -> int:
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    raise SpecError(f"{text!r} is not a count; write a whole number")


def _flag(text: str | int) -> int:
    if isinstance(text, bool):
        return int(text)
    raise SpecError(f"{text!r} is not a switch; write true or false")


def _plain(name: str, value: float) -> tuple[str, ...]:
    return (name, str(value))


def _time(name: str, value: float) -> tuple[str, ...]:
    return (name, f"{value}ns")


def _rate(name: str, value: float) -> tuple[str, ...]:
    return (name, f"{value}bit")


def _share(text: str | int) -> float:
    return float(parse_share(text))


def _percent(name: str, value: float) -> tuple[str, ...]:
    return (name, f"{value * 100:.6f}%")


def _bare(name: str, value: float) -> tuple[str, ...]:
    return (name,) if value else (f"no{name}",)


def _count_option(name: str) -> Option:
    return Option(_count, _plain, (name,))


_LIMIT = _count_option("limit")
_BYTES_PER_S = 8  # tc prints rates in bytes/s

QDISCS: Mapping[str, Mapping[str, Option]] = MappingProxyType(
    {
        "fq": {
            "limit": _LIMIT,
            "flow_limit": _count_option("flow_limit"),
            "quantum": Option(parse_size, _plain, ("quantum",)),
            "initial_quantum": Option(parse_size, _plain, ("initial_quantum",)),
            "maxrate": Option(parse_rate, _rate, ("maxrate",), _BYTES_PER_S),
            "pacing": Option(_flag, _bare, ("pacing",)),
        },
        "netem": {
            "limit": _LIMIT,
            "delay": Option(parse_time, _time, ("delay", "delay"), NS_PER_S),
            "rate": Option(parse_rate, _rate, ("rate", "rate"), _BYTES_PER_S),
            "loss": Option(_share, _percent, ("loss-random", "loss")),
        },
        "tbf": {
            "rate": Option(parse_rate, _rate, ("rate",), _BYTES_PER_S),
            "burst": Option(parse_size, _plain, ("burst",)),
            "limit": Option(parse_size, _plain, ("limit",)),
        },
        "fq_codel": {
            "limit": _LIMIT,
            "target": Option(parse_time, _time, ("target",), 1_000),
            "interval": Option(parse_time, _time, ("interval",), 1_000),
            "ecn": Option(_flag, _bare, ("ecn",)),
        },
        "pfifo": {"limit": _LIMIT},
    }
)
