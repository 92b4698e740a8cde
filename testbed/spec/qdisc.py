"""Qdiscs as data: what `tc` is told, and what it must say when asked back.

Each kind has a table of its options: how one is read from YAML, how it is written on a
tc command line, and where `tc -j qdisc show` repeats it. A new qdisc is a new table.
Read first: Qdisc, tc_commands, differences.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from testbed.errors import SpecError
from testbed.units import NS_PER_S, parse_rate, parse_ratio, parse_size, parse_time

Number = int | float


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one kind of qdisc.

    parse: YAML to the value, in base units.  write: name and value to tc's words.
    shown: the path of keys to it in what `tc -j` shows.  scale: base units in one unit
    of the shown number (tc shows seconds and bytes/s).  grain: how far the shown number
    may be off because tc rounds it, in base units; share: the same, relative to it;
    span: the same, as the ns that so many bytes take at the qdisc's rate.
    """

    parse: Callable[[object], Number]
    write: Callable[[str, Number], tuple[str, ...]]
    shown: tuple[str, ...]
    scale: Number = 1
    grain: Number = 0
    share: float = 1e-6
    span: int = 0


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise SpecError(f"{value!r} is not a count; write a whole number")


def _flag(value: object) -> int:
    if isinstance(value, bool):
        return int(value)
    raise SpecError(f"{value!r} is not a switch; write true or false")


def _plain(name: str, value: Number) -> tuple[str, ...]:
    return (name, str(value))


def _time(name: str, value: Number) -> tuple[str, ...]:
    return (name, f"{value / 1000:.3f}us")  # netem of iproute2 6.1 knows no ns


def _rate(name: str, value: Number) -> tuple[str, ...]:
    return (name, f"{value}bit")


def _percent(name: str, value: Number) -> tuple[str, ...]:
    return (name, f"{value * 100:.6f}%")


def _bare(name: str, value: Number) -> tuple[str, ...]:
    return (name if value else f"no{name}",)


def _counted(name: str) -> Option:
    return Option(_count, _plain, ("options", name))


_BITS = 8  # tc shows rates in bytes/s
_ROUND_KB = 1024  # tc shows 1024 Kb for what is nearly that
#: A burst is kept as its time at the rate: tc counts whole microseconds, then the ticks
#: of 64 ns in them, and shows as many bytes as whole microseconds of those are worth.
_BURST_SPAN = 2_000 + 64
_USEC = 1_000  # tc shows whole microseconds; netem keeps ticks of 64 ns
_CODEL = 2 * _USEC  # codel keeps units of 1024 ns, and tc rounds those down again


def _burst(*shown: str) -> Option:
    return Option(parse_size, _plain, shown, grain=_ROUND_KB, span=_BURST_SPAN)


_FQ = {
    "limit": _counted("limit"),
    "flow_limit": _counted("flow_limit"),
    "quantum": Option(parse_size, _plain, ("options", "quantum")),
    "initial_quantum": Option(parse_size, _plain, ("options", "initial_quantum")),
    "maxrate": Option(parse_rate, _rate, ("options", "maxrate"), _BITS),
    "pacing": Option(_flag, _bare, ("options", "pacing")),
}
_NETEM = {
    "limit": _counted("limit"),
    "delay": Option(
        parse_time, _time, ("options", "delay", "delay"), NS_PER_S, grain=_USEC
    ),
    "rate": Option(parse_rate, _rate, ("options", "rate", "rate"), _BITS),
    "loss": Option(parse_ratio, _percent, ("options", "loss-random", "loss")),
}
_TBF = {
    "rate": Option(parse_rate, _rate, ("options", "rate"), _BITS),
    "burst": _burst("options", "burst"),
    "limit": Option(parse_size, _plain, ("options", "limit")),
}
_FQ_CODEL = {
    "limit": _counted("limit"),
    "target": Option(parse_time, _time, ("options", "target"), _USEC, grain=_CODEL),
    "interval": Option(parse_time, _time, ("options", "interval"), _USEC, grain=_CODEL),
    "ce_threshold": Option(
        parse_time, _time, ("options", "ce_threshold"), _USEC, grain=_CODEL
    ),
    "ecn": Option(_flag, _bare, ("options", "ecn")),
}
#: htb's options are those of its one class, whose rate is shown in four digits.
_HTB = {
    "rate": Option(parse_rate, _rate, ("rate",), share=1e-3),
    "burst": _burst("burst"),
    "cburst": _burst("cburst"),
}
QDISCS: Mapping[str, Mapping[str, Option]] = MappingProxyType(
    {
        "fq": _FQ,
        "netem": _NETEM,
        "tbf": _TBF,
        "fq_codel": _FQ_CODEL,
        "htb": _HTB,
        "pfifo": {"limit": _counted("limit")},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Qdisc:
    """A queueing discipline on an interface, and the one its packets pass on to.

    options: in base units (ns, bytes, bit/s, packets, fractions).
    """

    kind: str
    options: Mapping[str, Number] = field(default_factory=dict)
    child: "Qdisc | None" = None

    def __post_init__(self) -> None:
        options_of(self.kind)
        for name in self.options:
            option_of(self.kind, name)

    def chain(self) -> Iterator["Qdisc"]:
        """Yield this qdisc and those below it, outermost first."""
        yield self
        if self.child is not None:
            yield from self.child.chain()


def options_of(kind: str) -> Mapping[str, Option]:
    """Return the options a kind of qdisc has. SpecError if there is no such kind."""
    if kind not in QDISCS:
        raise SpecError(f"there is no qdisc {kind!r} here; known: {', '.join(QDISCS)}")
    return QDISCS[kind]


def option_of(kind: str, name: str) -> Option:
    """Return one option of a kind of qdisc. SpecError if it has none of that name."""
    table = options_of(kind)
    if name not in table:
        raise SpecError(f"{kind} has no {name!r}; it has: {', '.join(table)}")
    return table[name]


def parse_qdisc(value: object) -> Qdisc:
    """Return the qdisc that YAML such as `fq` or `{fq: {flow_limit: 200}}` means."""
    if isinstance(value, str):
        return Qdisc(kind=value)
    if not isinstance(value, Mapping) or len(value) != 1:
        raise SpecError(f"{value!r} is no qdisc; write fq, or {{fq: {{limit: 1000}}}}")
    ((kind, options),) = value.items()
    if not isinstance(options, Mapping):
        raise SpecError(f"{kind}: {options!r} is no mapping of options")
    parsed = {
        name: option_of(str(kind), str(name)).parse(text)
        for name, text in options.items()
    }
    return Qdisc(kind=str(kind), options=parsed)


def tc_commands(device: str, qdisc: Qdisc) -> tuple[tuple[str, ...], ...]:
    """Return the tc command lines that put qdisc on device, in order.

    The n-th qdisc of the chain has handle n0:, and its child hangs on class n0:1.
    """
    commands: list[tuple[str, ...]] = []
    parent: tuple[str, ...] = ("root",)
    for level, each in enumerate(qdisc.chain(), start=1):
        words = _words(each)
        handle = f"{level}0:"
        where = ("dev", device, *parent, "handle", handle, each.kind)
        if each.kind == "htb":
            commands.append(("tc", "qdisc", "replace", *where, "default", "1"))
            class_ = ("dev", device, "parent", handle, "classid", f"{handle}1", "htb")
            commands.append(("tc", "class", "replace", *class_, *words))
        else:
            commands.append(("tc", "qdisc", "replace", *where, *words))
        parent = ("parent", f"{handle}1")
    return tuple(commands)


def _words(qdisc: Qdisc) -> tuple[str, ...]:
    table = QDISCS[qdisc.kind]
    words = (table[name].write(name, value) for name, value in qdisc.options.items())
    return tuple(word for group in words for word in group)


def differences(
    qdisc: Qdisc,
    qdiscs_shown: Sequence[Mapping[str, object]],
    classes_shown: Sequence[Mapping[str, object]],
) -> tuple[tuple[str, object, object], ...]:
    """Return (what, wanted, got) for whatever tc does not show as it was asked for.

    qdiscs_shown: `tc -r -j qdisc show dev D`.  classes_shown: parse_classes() of
    `tc class show dev D`.
    """
    found: list[tuple[str, object, object]] = []
    for level, each in enumerate(qdisc.chain(), start=1):
        handle = f"{level}0:"
        shown = _at(qdiscs_shown, handle)
        if shown.get("kind") != each.kind:
            found.append((f"qdisc {handle}", each.kind, shown.get("kind")))
            continue
        told = _at(classes_shown, f"{handle}1") if each.kind == "htb" else shown
        rate = each.options.get("rate", 0)
        for name, wanted in each.options.items():
            option = QDISCS[each.kind][name]
            got = _look_up(told, option)
            if not _equal(wanted, got, option, rate):
                found.append((f"{each.kind} {name}", wanted, got))
    return tuple(found)


def parse_classes(text: str) -> tuple[dict[str, object], ...]:
    """Return what `tc class show` says of htb classes, in base units.

    It has no JSON in iproute2 6.1.  A line reads `class htb 20:1 root leaf 30: prio 0
    rate 1Gbit ceil 1Gbit burst 262000b cburst 262000b`.
    """
    lines = (line.split() for line in text.splitlines())
    return tuple(
        {
            "handle": words[2],
            "rate": parse_rate(_word_after(words, "rate").lower()),
            "burst": parse_size(_word_after(words, "burst").upper()),
            "cburst": parse_size(_word_after(words, "cburst").upper()),
        }
        for words in lines
        if words[:2] == ["class", "htb"]
    )


def _word_after(words: Sequence[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else ""


def _at(shown: Sequence[Mapping[str, object]], handle: str) -> Mapping[str, object]:
    return next((each for each in shown if each.get("handle") == handle), {})


def _look_up(shown: Mapping[str, object], option: Option) -> Number | None:
    value: object = shown
    for key in option.shown:
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return int(value)
    return value * option.scale if isinstance(value, int | float) else None


def _equal(wanted: Number, got: Number | None, option: Option, rate: Number) -> bool:
    spanned = option.span * rate / (_BITS * NS_PER_S)
    slack = max(option.grain, abs(wanted) * option.share, spanned)
    return abs((got or 0) - wanted) <= slack  # tc leaves out what is zero
