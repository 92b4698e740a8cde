"""netperf: its command lines and what it prints. Read first: read_command, OUTPUT.

The meaning of options and columns: netperf's manual (doc/netperf.html) and, for -K and
-q of a test, src/nettest_omni.c.
"""

import re
from collections.abc import Mapping, Sequence
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
    latency,
    read_options,
)
from testbed.mail.numbers import NUMBER, number, size
from testbed.mail.shell import Command, options
from testbed.units import NS_PER_S

_BITS = 8
_USEC = 1000
_STREAMS = ("TCP_STREAM", "TCP_SENDFILE", "TCP_MAERTS", "OMNI")

_GLOBAL_VALUES = "AaBbDFfHiILlnOoPptTvWwYyZ"
_TEST_VALUES = "bCDeGHkKlLmMoOpPqrRsStTuWX"


def _silent(_value: str) -> tuple[Fact, ...]:
    return ()


def _note(text: str) -> Reader:
    return lambda value: (Note(text=f"netperf {text} {value}".rstrip()),)


def _workload(key: str, value: object, guess: str = "") -> tuple[Fact, ...]:
    return (Choice(section="workload", key=key, value=value, guess=guess),)


def _length(value: str) -> tuple[Fact, ...] | None:
    """-l SECONDS, or -l -BYTES."""
    amount = size(value)
    if amount is None:
        return None
    if value.startswith("-"):
        return _workload("bytes", amount)
    return _workload("duration", amount * NS_PER_S)


def _sized(key: str) -> Reader:
    def read(value: str) -> tuple[Fact, ...] | None:
        amount = size(value.split(",", maxsplit=1)[0])
        return None if amount is None else _workload(key, amount)

    return read


def _messages(value: str) -> tuple[Fact, ...] | None:
    """-r REQUEST[,RESPONSE]; one number is both."""
    first, comma, second = value.partition(",")
    request, response = size(first), size(second if comma else first)
    if request is None or response is None:
        return None
    return _of_transactions(request, response)


def _of_transactions(request: int, response: int, guess: str = "") -> tuple[Fact, ...]:
    return (
        *_workload("request_size", request, guess),
        *_workload("response_size", response, guess),
    )


def _pacing(value: str) -> tuple[Fact, ...] | None:
    amount = size(value)
    return None if amount is None else _workload("pacing_rate", amount * _BITS)


def _congestion(value: str) -> tuple[Fact, ...] | None:
    name = value.split(",", maxsplit=1)[0]
    return _workload("congestion", name) if re.fullmatch(r"\w+", name) else None


#: Options before the "--". -H, -T, -P, -p, -v and so on change nothing that is claimed.
_GLOBAL: Mapping[str, Reader] = {
    "l": _length,
    "4": lambda _: _workload("family", 4),
    "6": lambda _: _workload("family", 6),
    "i": _note("-i"),
    "I": _note("-I"),
    "b": _note("-b"),
    "T": _note("-T"),
    "F": _note("-F"),
    **dict.fromkeys("HtcCDfjLnNOopPvVd", _silent),
}
#: Options after it.
_TEST: Mapping[str, Reader] = {
    "s": _sized("sndbuf"),
    "S": _sized("rcvbuf"),
    "m": _sized("send_size"),
    "M": _note("-- -M (the receiver reads what there is)"),
    "K": _congestion,
    "q": _pacing,
    "4": lambda _: _workload("family", 4),
    "6": lambda _: _workload("family", 6),
    "r": _messages,
    "b": _note("-- -b (transactions in flight)"),
    "D": _note("-- -D (no Nagle)"),
    **dict.fromkeys("oOkHPpt", _silent),
}


def read_command(command: Command, context: Context) -> Found | None:
    """Say what a netperf or super_netperf command asks for."""
    words = list(command.words)
    flows = ""
    if command.name == "super_netperf":
        flows = words.pop(0) if words and words[0].isdecimal() else ""
    if not words or not words[0].startswith("-"):
        return None
    at = words.index("--") if "--" in words else len(words)
    own = options(words[:at], _GLOBAL_VALUES)
    tests = options(words[at + 1 :], _TEST_VALUES)
    facts, missed = read_options(own, _GLOBAL)
    more, also_missed = read_options(tests, _TEST)
    test = dict(own).get("t", "TCP_STREAM").upper()
    sizes = dict(tests).get("r")
    facts = [*facts, *more, *_about_test(test, flows, dict(own), sizes)]
    asked = [
        each.value
        for each in facts
        if isinstance(each, Choice) and each.key == "sndbuf"
    ]
    after = replace(
        context,
        test=test,
        total=command.name == "super_netperf",
        selectors=_selectors((*own, *tests)),
        sndbuf=asked[-1] if asked and isinstance(asked[-1], int) else None,
    )
    return Found(context=after, facts=tuple(facts), rest=" ".join(missed + also_missed))


def _about_test(
    test: str, flows: str, own: Mapping[str, str], sizes: str | None
) -> list[Fact]:
    """Return what the kind of test and its defaults say; sizes: of -r, if any."""
    facts: list[Fact] = []
    duration = 10 * NS_PER_S
    if test == "TCP_RR":
        if sizes is None:
            facts.extend(_of_transactions(1, 1, "netperf's own default, no -r"))
        if own.get("l", "").startswith("-"):
            facts.append(Note(text=f"netperf -l {own['l']} (transactions)", gap=True))
            facts.extend(_workload("duration", duration, "-l counts transactions"))
    elif test not in _STREAMS:
        facts.append(Note(text=f"the test is {test}; no workload is", gap=True))
    if flows:
        facts.extend(_workload("flows", int(flows)))
    if "l" not in own:
        facts.extend(_workload("duration", duration, "netperf's own default, no -l"))
    return facts


def _selectors(given: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    for letter, value in given:
        if letter in "oOk" and letter:
            return tuple(each.upper() for each in value.split(",") if each)
    return ()


# ---- what it prints

_TITLE = re.compile(
    r"(?:MIGRATED |OMNI )?(?:TCP|UDP|OMNI|SCTP|Send|TCP_\w+)[ _\w]* TEST from .*?"
    r"(?:AF_INET6?)?(?: : .*)?"
)
#: The words that the heads of netperf's tables are made of.
_HEAD_WORDS = frozenset(
    [
        "recv",
        "send",
        "socket",
        "message",
        "elapsed",
        "size",
        "time",
        "throughput",
        "bytes",
        "secs.",
        "secs",
        "seconds",
        "utilization",
        "service",
        "demand",
        "local",
        "remote",
        "/remote",
        "%",
        "s",
        "us/kb",
        "us/tr",
        "cpu",
        "util",
        "units",
        "request",
        "resp.",
        "response",
        "trans.",
        "trans",
        "rate",
        "per",
        "sec",
        "per.",
        "minimum",
        "maximum",
        "mean",
        "median",
        "50th",
        "90th",
        "95th",
        "99th",
        "percentile",
        "latency",
        "microseconds",
        "usec",
        "usecs",
        "transactions/s",
        "trans/s",
        "stddev",
        "retransmissions",
        "retransmits",
        "final",
        "type",
        "address",
    ]
)
#: The unit of throughput as a table's head writes it, and its bit/s.
_HEAD_UNITS: Mapping[str, int] = {
    "10^3bits/s": 10**3,
    "10^6bits/s": 10**6,
    "10^9bits/s": 10**9,
    "KBytes/s": _BITS << 10,
    "MBytes/s": _BITS << 20,
    "GBytes/s": _BITS << 30,
}
_INT = r"\d{1,15}"
_STREAM_ROW = re.compile(
    rf"\s*({_INT})\s+({_INT})\s+({_INT})\s+{NUMBER}\s+({NUMBER})((?:\s+-?{NUMBER})*)"
)
_RR_ROW = re.compile(rf"\s*{_INT}\s+{_INT}\s+{_INT}\s+{_INT}\s+{NUMBER}\s+({NUMBER})")
_RR_SECOND_ROW = re.compile(rf"\s*{_INT}\s+{_INT}")
_CPU_COLUMNS = ("local CPU, %", "remote CPU, %", "local us/KB", "remote us/KB")


def title(line: str, context: Context) -> Found | None:
    """MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to remote () ..."""
    if not _TITLE.fullmatch(line.strip()):
        return None
    facts = _workload("family", 6) if "AF_INET6" in line else ()
    test = "TCP_RR" if "REQUEST/RESPONSE" in line else context.test
    return Found(context=replace(context, test=test), facts=facts)


def head(line: str, context: Context) -> Found | None:
    """Recv   Send    Send ... bytes  bytes   bytes    secs.    10^6bits/sec"""
    words = [word for word in re.split(r"[\s,]+", line) if word]
    units = [_HEAD_UNITS.get(re.sub(r"/sec$", "/s", word)) for word in words]
    known = [
        unit is not None or word.lower() in _HEAD_WORDS
        for word, unit in zip(words, units, strict=True)
    ]
    if not words or not all(known):
        return None
    rates = [unit for unit in units if unit is not None]
    return Found(context=replace(context, rate=rates[0]) if rates else context)


def stream_row(line: str, context: Context) -> Found | None:
    """87380 2000000 2000000    0.36         44.22, and the CPU columns of -c -C."""
    match = _STREAM_ROW.fullmatch(line)
    if match is None or context.test.endswith("RR"):
        return None
    _, socket, message, throughput, more = match.groups()
    facts: list[Fact] = [
        Figure(
            metric="throughput", value=Fraction(throughput) * context.rate, unit="bit/s"
        ),
        *_workload("send_size", int(message)),
    ]
    if context.sndbuf is not None and int(socket) != 2 * context.sndbuf:
        guess = f"half the {socket} of the table: net.core.wmem_max cut what was asked"
        facts.extend(_workload("sndbuf", int(socket) // 2, guess))
    for name, value in zip(_CPU_COLUMNS, more.split(), strict=False):
        if (known := number(value)) is not None:
            facts.append(Figure(metric=f"netperf {name}", value=known, unit="CPU"))
    return Found(context=context, facts=tuple(facts))


def rr_row(line: str, context: Context) -> Found | None:
    """16384  87380  1        1       10.00    25000.00, and the row below it."""
    if not context.test.endswith("RR") or context.selectors:
        return None
    if _RR_SECOND_ROW.fullmatch(line):
        return Found(context=context)
    match = _RR_ROW.fullmatch(line)
    if match is None:
        return None
    rate = Figure(metric="transactions", value=Fraction(match[1]))
    return Found(context=context, facts=(rate,))


def selected_row(line: str, context: Context) -> Found | None:
    """One value for each column that -o or -O asked for: 77  138  183  8542.19"""
    values = re.split(r"[,\s]+", line.strip())
    if not context.selectors or len(values) != len(context.selectors):
        return None
    pairs = list(zip(context.selectors, values, strict=True))
    if all(number(value) is None for _, value in pairs):
        return None
    facts = [_selected(name, value, context) for name, value in pairs]
    return Found(context=context, facts=tuple(each for each in facts if each))


def key_value(line: str, context: Context) -> Found | None:
    """THROUGHPUT=9415.21, as -k prints."""
    match = re.fullmatch(r"\s*([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)=(\S*)\s*", line)
    if match is None:
        return None
    if match[1] == "THROUGHPUT_UNITS":
        unit = _HEAD_UNITS.get(match[2].replace("/sec", "/s"))
        return Found(context=replace(context, rate=unit) if unit else context)
    fact = _selected(match[1], match[2], context)
    return Found(context=context, facts=(fact,)) if fact else None


def _selected(name: str, text: str, context: Context) -> Fact | None:
    value = number(text)
    if value is None:
        return Note(text=f"netperf {name}: {text}")
    if name == "THROUGHPUT":
        return _throughput(value, context)
    if name.endswith("_LATENCY"):
        return Figure(metric=latency(name[:-8].lower()), value=value * _USEC, unit="ns")
    if name == "LOCAL_TRANSPORT_RETRANS":
        return Figure(metric="TcpRetransSegs", value=value)
    return Note(text=f"netperf {name}: {text}")


def _throughput(value: Fraction, context: Context) -> Figure:
    if context.test.endswith("RR"):
        return Figure(metric="transactions", value=value)
    return Figure(metric="throughput", value=value * context.rate, unit="bit/s")


def total(line: str, context: Context) -> Found | None:
    """Return the one number that super_netperf prints: the flows' sum."""
    value = number(line.strip())
    if not context.total or value is None:
        return None
    note = Note(text=f"{line.strip()} is super_netperf's total over its flows")
    return Found(context=context, facts=(_throughput(value, context), note))


#: What netperf prints, in the order in which a line is tried.
OUTPUT = (title, selected_row, stream_row, rr_row, key_value, total, head)
