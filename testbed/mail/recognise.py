"""The lines of a tested section to facts, and to what was not understood.

One reader a kind of line, tried in a fixed order; the first that knows the line has it.
A new kind of line is one function and its place in _READERS. Read first: recognise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from testbed.mail import counters, iperf3, netperf, prose, settings
from testbed.mail.facts import Context, Fact, Found
from testbed.mail.shell import Command, commands
from testbed.mail.text import Line

#: A longer line is no output of a tool, and readers need not look at it.
_LONGEST = 2000
#: A longer section is none; a line takes up to a millisecond.
_MOST = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A fact, the line that says it, and whose it is: before, after, None for both."""

    fact: Fact
    line: Line
    variant: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A line, or the part of it, that nothing here understands."""

    line: Line
    text: str


def recognise(lines: Sequence[Line]) -> tuple[tuple[Said, ...], tuple[Missed, ...]]:
    """Return what the lines say, in order, and what of them was not understood."""
    said: list[Said] = []
    missed: list[Missed] = []
    context = Context()
    for line in _joined(lines[:_MOST]):
        found = _read(line.text, context)
        context = found.context
        for fact in found.facts:
            own = getattr(fact, "variant", None)
            said.append(Said(fact=fact, line=line, variant=own or context.variant))
        if found.rest:
            missed.append(Missed(line=line, text=found.rest))
    if len(lines) > _MOST:
        told = f"{len(lines) - _MOST} lines from here on, for that is no tested section"
        missed.append(Missed(line=lines[_MOST], text=told))
    return tuple(said), tuple(missed)


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Put together what a backslash at a line's end continues."""
    joined: list[Line] = []
    open_ = False
    for line in lines:
        if open_:
            text = joined[-1].text.removesuffix("\\") + " " + line.text.strip()
            joined[-1] = replace(joined[-1], text=text)
        else:
            joined.append(line)
        open_ = line.text.endswith("\\")
    return joined


def _read(text: str, context: Context) -> Found:
    if not text.strip():
        return Found(context=context)
    if len(text) > _LONGEST:
        return Found(context=context, rest=text)
    headed = prose.heading(text, context)
    if headed is not None:
        if not headed.rest:
            return headed
        inner = _read_line(headed.rest, headed.context)
        return replace(inner, facts=headed.facts + inner.facts)
    return _read_line(text, context)


def _read_line(text: str, context: Context) -> Found:
    for read in _READERS:
        found = read(text, context)
        if found is not None:
            return found
    return prose.sentence(text, context)


def command_line(text: str, context: Context) -> Found | None:
    """Read a line of shell commands; its first one must be known."""
    parts = commands(text)
    if not parts or parts[0].name not in settings.COMMANDS:
        return None
    facts: list[Fact] = []
    missed: list[str] = []
    for part in parts:
        found = _command(part, context)
        if found is None and part is parts[0]:
            return None
        if found is None:
            missed.append(" ".join((part.name, *part.words)))
            continue
        context = found.context
        facts.extend(found.facts)
        missed.extend([found.rest] if found.rest else [])
    return Found(context=context, facts=tuple(facts), rest="; ".join(missed))


def _command(command: Command, context: Context) -> Found | None:
    read = settings.COMMANDS.get(command.name) or settings.FILTERS.get(command.name)
    return read(command, context) if read else None


_READERS: tuple[Callable[[str, Context], Found | None], ...] = (
    command_line,
    *counters.OUTPUT,
    *iperf3.OUTPUT,
    *netperf.OUTPUT,
    settings.feature_shown,
    settings.sysctl_shown,
    prose.pair,
    prose.throughput,
)
