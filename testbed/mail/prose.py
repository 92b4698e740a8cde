"""What people write around their numbers: headings, and the path in half a sentence.

Read first: heading, sentence.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from testbed.mail.facts import Choice, Context, Fact, Figure, Found, Note, latency
from testbed.mail.numbers import NUMBER, RATE, TIME, rate, time

_PATCH = r"(?:patch(?:es)?|patch ?set|change|series|fix|commit)"
_THE = r"(?:the |this |these |following |my )*"
#: How a part of a tested section is headed, and whose part it is. A heading ends with
#: its colon or its line.
_HEADINGS: tuple[tuple[str, str], ...] = (
    (rf"before(?: {_THE}{_PATCH}|(?: [\w.-]+)?)", "before"),
    (rf"after(?: {_THE}{_PATCH}|(?: [\w.-]+)?)", "after"),
    (rf"(?:without|w/o|no) {_THE}{_PATCH}", "before"),
    (rf"(?:with|w/) {_THE}{_PATCH}(?: applied)?", "after"),
    (
        r"(?:base ?line|vanilla|stock|unpatched|old|original)(?: kernel| results?)?",
        "before",
    ),
    (r"(?:patched|new)(?: kernel| results?)?", "after"),
    (r"'?standard'? performance\b.*", "before"),
    (r"now (?:enable|with|apply|use|using) .*", "after"),
)
_DECORATION = r"[\s=*#~.'\"()\[\]-]*"
_LONGEST = 100


def heading(line: str, context: Context) -> Found | None:
    """Before patch :   Without the patch   == After ==   With this patch: 9.4Gbit/s"""
    for pattern, variant in _HEADINGS:
        match = re.match(
            rf"{_DECORATION}(?:{pattern})(?:{_DECORATION}$|\s*:\s*(?P<rest>.*))",
            line[:_LONGEST],
            re.I,
        )
        if match:
            rest = line[match.start("rest") :] if match["rest"] else ""
            own = "" if rest else line.strip()
            note = (Note(text=own),) if " on " in own or "limits" in own else ()
            context = replace(context, variant=variant)
            return Found(context=context, facts=note, rest=rest)
    return None


Reader = Callable[[re.Match[str]], tuple[Fact, ...]]


def _path(key: str, value: object, guess: str = "") -> tuple[Fact, ...]:
    return (Choice(section="path", key=key, value=value, guess=guess),)


def _average(match: re.Match[str]) -> tuple[Fact, ...]:
    # Of tcp_tso_rtt_log's mail, whose own numbers give TcpOutSegs / TcpInSegs.
    return (Figure(metric="segs_per_ack", value=Fraction(match[1])),)


def _nic(match: re.Match[str]) -> tuple[Fact, ...]:
    return _path("rate", rate(match[1], match[2]), "the NIC's; the path has no other")


def _mtu(match: re.Match[str]) -> tuple[Fact, ...]:
    if not match[2]:
        return _path("mtu", int(match[1]))
    guess = (
        f"{match[1]}K: of the packet, or of its payload? An MSS of 4096 over IPv6 with "
        "time stamps needs 4168"
    )
    return _path("mtu", int(match[1]) << 10, guess)


def _rate_limited(match: re.Match[str]) -> tuple[Fact, ...]:
    pacing = int(match[2]) * 8
    return (
        Choice(section="workload", key="flows", value=int(match[1])),
        Choice(section="workload", key="pacing_rate", value=pacing),
    )


def _rack(_match: re.Match[str]) -> tuple[Fact, ...]:
    return (
        Choice(section="", key="topology", value="rack_local"),
        Note(text="two hosts in the same rack"),
    )


def _latency(match: re.Match[str]) -> tuple[Fact, ...]:
    which = f"p{match['p'] or match['q']}" if match["p"] or match["q"] else "mean"
    scale = time("1", match["unit"] or "us")
    value = Fraction(match["value"]) * scale
    return (Figure(metric=latency(which), value=value, unit="ns"),)


def _throughput(match: re.Match[str]) -> tuple[Fact, ...]:
    value = Fraction(rate(match[1], match[2]))
    return (Figure(metric="throughput", value=value, unit="bit/s", rough=True),)


#: Parts of sentences, and what they say. Each is looked for anywhere in the line.
_SENTENCES: Mapping[str, Reader] = {
    rf"average of ({NUMBER}) (?:\w+ )?segments per TSO packet": _average,
    rf"{RATE}\s?(?:NICs?|links?|ethernet|bottleneck)": _nic,
    r"(\d{1,5})(K?) MTU\b": _mtu,
    r"\bMTU (?:of )?(\d{1,5})(K?)\b": _mtu,
    rf"{TIME} (?:rtt|round[- ]trip)(?: time)?(?: link| path)?": (
        lambda match: _path("rtt", time(match[1], match[2]))
    ),
    rf"\b(?:min_?)?rtt (?:of |is |= ?|: ?)?{TIME}": (
        lambda match: _path("rtt", time(match[1], match[2]))
    ),
    r"(\d{1,6}) flows rate-limited to (\d{1,15}) bytes per second": _rate_limited,
    r"(?:two )?hosts in the same rack": _rack,
    r"(?:\bp(?P<p>50|90|95|99|99\.9)"
    r"|\b(?P<q>50|90|95|99|99\.9)(?:th|%)(?: percentile)?)"
    r"(?:[ _-]?latency)?(?: (?:is|was))?\s*[:=]?\s*"
    rf"(?P<value>{NUMBER})\s*"
    r"(?P<unit>nsec|ns|usec|us|msec|ms)?\b": _latency,
}
_INSTEAD = re.compile(rf"{RATE} instead of {RATE}", re.I)
_FROM_TO = re.compile(rf"from {RATE} to {RATE}", re.I)
_THROUGHPUT = re.compile(
    rf"\s*(?:(?:throughput|bandwidth|bw|goodput)\b\s*[:=]?\s*)?{RATE}\W*", re.I
)
#: Words that carry nothing once the rest of their line was understood.
_FILLER = re.compile(r"\b(?:and|a|an|the|with|over|using|on|link|of)\b|\W", re.I)


def sentence(line: str, context: Context) -> Found:
    """Take what is known out of a sentence; what is left is the rest, if it is much."""
    facts: list[Fact] = []
    left = line
    for pattern, read in _SENTENCES.items():
        for match in re.finditer(pattern, left, re.I):
            facts.extend(read(match))
            left = left.replace(match[0], " ", 1)
    rest = line.strip() if _FILLER.sub("", left) else ""
    return Found(context=context, facts=tuple(facts), rest=rest)


def pair(line: str, context: Context) -> Found | None:
    """I reached 37Gbps instead of 20Gbps :, or: from 18.4Gbps to 19.7Gbps."""
    for pattern, order in ((_INSTEAD, (3, 1)), (_FROM_TO, (1, 3))):
        match = pattern.search(line)
        if match:
            before, after = (rate(match[at], match[at + 1]) for at in order)
            facts = (_of("before", before), _of("after", after))
            rest = (line[: match.start()] + line[match.end() :]).strip(" :.")
            # "I reached 37Gbps instead of 20Gbps :" has the run that did so below it.
            follows = "after" if line.rstrip().endswith(":") else context.variant
            return Found(
                context=replace(context, variant=follows),
                facts=facts,
                rest=line.strip() if rest else "",
            )
    return None


def _of(variant: str, bits: int) -> Figure:
    return Figure(
        metric="throughput",
        value=Fraction(bits),
        unit="bit/s",
        rough=True,
        variant=variant,
    )


def throughput(line: str, context: Context) -> Found | None:
    """Throughput: 9.41 Gbit/s"""
    match = _THROUGHPUT.fullmatch(line)
    return Found(context=context, facts=_throughput(match)) if match else None
