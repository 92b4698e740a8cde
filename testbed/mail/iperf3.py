"""iperf3: its command lines and what it prints. Read first: read_command, OUTPUT.

The meaning of options: `iperf3 --help` and src/iperf_api.c of 3.12; the workload is
drafted as our own.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from testbed.mail.facts import (
    Choice,
    Context,
    Fact,
    Figure,
    Found,
    Note,
    Reader,
    read_options,
)
from testbed.mail.numbers import NUMBER, size
from testbed.mail.shell import Command, options
from testbed.units import NS_PER_S

#: Long options that say something, and their letters; F is ours for one without.
_LONG: Mapping[str, str] = {
    "client": "c",
    "time": "t",
    "bytes": "n",
    "length": "l",
    "congestion": "C",
    "parallel": "P",
    "window": "w",
    "bitrate": "b",
    "bandwidth": "b",
    "fq-rate": "F",
    "interval": "i",
    "port": "p",
    "version4": "4",
    "version6": "6",
    "json": "J",
    "verbose": "V",
    "server": "s",
    "reverse": "R",
}
_VALUES = "ctnlCPwbFipAOMTBfSk"
#: unit_atof_rate(), src/units.c: powers of 1000 for a rate, of 1024 for a size.
_RATES: Mapping[str, int] = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def _workload(key: str, value: object, guess: str = "") -> tuple[Fact, ...]:
    return (Choice(section="workload", key=key, value=value, guess=guess),)


def _size(key: str, guess: str = "") -> Reader:
    def read(text: str) -> tuple[Fact, ...] | None:
        amount = size(text.upper())
        return None if amount is None else _workload(key, amount, guess)

    return read


def _seconds(text: str) -> tuple[Fact, ...] | None:
    if not re.fullmatch(r"\d{1,9}", text):
        return None
    return _workload("duration", int(text) * NS_PER_S)


def _flows(text: str) -> tuple[Fact, ...] | None:
    return _workload("flows", int(text)) if re.fullmatch(r"\d{1,6}", text) else None


def _rate(text: str) -> tuple[Fact, ...] | None:
    match = re.fullmatch(rf"({NUMBER})([KMG]?)", text.upper())
    if match is None:
        return None
    return _workload("pacing_rate", int(Fraction(match[1]) * _RATES[match[2]]))


def _window(text: str) -> tuple[Fact, ...] | None:
    found = _size("sndbuf")(text), _size("rcvbuf")(text)
    return None if found[0] is None or found[1] is None else (*found[0], *found[1])


def _congestion(text: str) -> tuple[Fact, ...] | None:
    return _workload("congestion", text) if re.fullmatch(r"\w+", text) else None


def _silent(_text: str) -> tuple[Fact, ...]:
    return ()


def _note(text: str, *, gap: bool = False) -> Reader:
    return lambda value: (Note(text=f"iperf3 {text} {value}".rstrip(), gap=gap),)


_OPTIONS: Mapping[str, Reader] = {
    "t": _seconds,
    "n": _size("bytes", "of all streams together, if there are several"),
    "l": _size("send_size"),
    "C": _congestion,
    "P": _flows,
    "w": _window,
    "F": _rate,
    "b": _note("-b (paced by the program, not the kernel)", gap=True),
    "R": _note("-R (the server sends)", gap=True),
    "u": _note("-u (UDP)", gap=True),
    "Z": _note("-Z (sendfile)"),
    "O": _note("-O (seconds left out)"),
    "4": lambda _: _workload("family", 4),
    "6": lambda _: _workload("family", 6),
    **dict.fromkeys("cipsJVfABTD1", _silent),
}


def read_command(command: Command, context: Context) -> Found | None:
    """Say what an iperf3 command asks for."""
    given = options(_shortened(command.words), _VALUES)
    if not given or not given[0][0]:
        return None
    facts, missed = read_options(given, _OPTIONS)
    letters = {letter for letter, _value in given}
    if "c" in letters and not letters & set("tn"):
        facts.extend(_workload("duration", 10 * NS_PER_S, "iperf3's own default"))
    flows = [
        each.value for each in facts if isinstance(each, Choice) and each.key == "flows"
    ]
    streams = flows[-1] if flows and isinstance(flows[-1], int) else 1
    after = replace(context, test="TCP_STREAM", selectors=(), streams=streams)
    return Found(context=after, facts=tuple(facts), rest=" ".join(missed))


def _shortened(words: tuple[str, ...]) -> list[str]:
    """Return the words with long options as letters; `--x=1` is `--x 1`."""
    short: list[str] = []
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in _LONG:
            short += [f"-{_LONG[name]}", *([value] if equals else [])]
        else:
            short.append(word)
    return short


# ---- what it prints

_ROW = re.compile(
    rf"\[ *(?P<who>\d{{1,5}}|SUM)\](?:\[\w+\])? +{NUMBER}- *{NUMBER} +sec +"
    rf"{NUMBER} +[KMGT]?Bytes +(?P<rate>{NUMBER}) +(?P<unit>[KMGT]?)bits/sec"
    r"(?P<rest>.*)"
)
_UNITS: Mapping[str, int] = {**_RATES, "T": 10**12}
_TALK = re.compile(
    r"\s*(?:\[ *ID\].*(?:Interval|Transfer).*|(?:- ){3,}-?|-{10,}"
    r"|Connecting to host .*, port \d+|Server listening on \d+.*"
    r"|\[ *\d+\] local \S+ port \d+ connected to \S+ port \d+|iperf Done\.)\s*"
)


def row(line: str, context: Context) -> Found | None:
    """[  5]   0.00-10.00  sec  10.9 GBytes  9.41 Gbits/sec           receiver"""
    if _TALK.fullmatch(line):
        return Found(context=context)
    match = _ROW.fullmatch(line.strip())
    if match is None:
        return None
    rest = match["rest"].split()
    is_all = (match["who"] == "SUM") == (context.streams > 1)
    if not is_all or not rest or rest[-1] not in ("sender", "receiver"):
        return Found(context=context)
    if rest[-1] == "sender":
        again = rest[0] if rest[0].isdecimal() else ""
        retransmits = Figure(metric="TcpRetransSegs", value=Fraction(again or 0))
        return Found(context=context, facts=(retransmits,) if again else ())
    value = Fraction(match["rate"]) * _UNITS[match["unit"]]
    return Found(
        context=context,
        facts=(Figure(metric="throughput", value=value, unit="bit/s"),),
    )


#: What iperf3 prints.
OUTPUT = (row,)
