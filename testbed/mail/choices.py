"""What a mail sets, for each variant, and as YAML. Read first: settle, write_sections.

What the specification would refuse is written as a comment with its reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.errors import SpecError
from testbed.mail.facts import Choice
from testbed.mail.recognise import Said
from testbed.mail.writing import percent, quoted, remark, short
from testbed.spec.path import Path
from testbed.spec.qdisc import parse_qdisc
from testbed.spec.workload import Workload
from testbed.units import NS_PER_S, format_rate, format_time

VARIANTS = ("before", "after")
#: netperf's own default duration, where a mail has no netperf command either.
_DURATION = 10 * NS_PER_S
_AMOUNTS = ("bytes", "duration")
_MESSAGES = ("request_size", "response_size")

#: Legal records whose keys a mail's values are tried in, one at a time.
_A_PATH = Path(rtt=0, rate=10**9, queue=1)
_A_STREAM = Workload(
    bytes=None,
    duration=NS_PER_S,
    send_size=1,
    sndbuf=None,
    rcvbuf=None,
    congestion="cubic",
    pacing_rate=None,
    family=4,
    sample_every=NS_PER_S,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A choice and the line that makes it; 0 if no line does."""

    choice: Choice
    line: int = 0


#: By section and key.
Settings = Mapping[tuple[str, str], Setting]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What both variants have in common, and what is each one's own."""

    common: Settings
    own: Mapping[str, Settings]


def settle(said: Sequence[Said]) -> Settled:
    """Return what is set for both variants, and for each alone."""
    every = {variant: _of(said, variant) for variant in VARIANTS}
    common = {
        key: each
        for key, each in every["before"].items()
        if key in every["after"] and every["after"][key].choice == each.choice
    }
    own = {
        variant: {key: each for key, each in found.items() if key not in common}
        for variant, found in every.items()
    }
    return Settled(common=common, own=own)


def _of(said: Sequence[Said], variant: str) -> dict[tuple[str, str], Setting]:
    """Return what is set for a variant; the last word counts.

    Path and workload are of both variants unless each has its own; a setting under a
    heading is of that heading alone.
    """
    others: dict[tuple[str, str], Setting] = {}
    own: dict[tuple[str, str], Setting] = {}
    for each in said:
        if isinstance(each.fact, Choice):
            setting = Setting(choice=each.fact, line=each.line.number)
            if each.variant in (None, variant):
                own = _with(own, setting)
            elif each.fact.section in ("path", "workload", ""):
                others = _with(others, setting)
    for setting in own.values():
        others = _with(others, setting)
    if not any(key in _AMOUNTS for _, key in others):
        others["workload", "duration"] = _guessed("the mail does not say")
    return _consistent(others)


def _consistent(
    found: dict[tuple[str, str], Setting],
) -> dict[tuple[str, str], Setting]:
    """Return settings that are legal together; transactions go on for a duration.

    A mail may have both a stream of bytes and transactions: the last one counts.
    """
    pair = [("workload", key) for key in _MESSAGES]
    if pair[0] not in found:
        return found
    ended = found.get(("workload", "bytes"))
    refused = [key for key in pair if _refused(found[key].choice)]
    if ended is not None and ended.line > found[pair[0]].line:
        return {key: each for key, each in found.items() if key not in pair}
    if ended is not None:
        del found["workload", "bytes"]
        found["workload", "duration"] = _guessed("the mail's transactions have none")
    if refused:  # the other one alone means nothing
        return {k: each for k, each in found.items() if k in refused or k not in pair}
    return found


def _with(
    found: Mapping[tuple[str, str], Setting], setting: Setting
) -> dict[tuple[str, str], Setting]:
    """Return what was found and one more; a stream has either bytes or a duration."""
    choice = setting.choice
    left = dict(found)
    if choice.section == "workload" and choice.key in _AMOUNTS:
        left = {key: one for key, one in left.items() if key[1] not in _AMOUNTS}
        if refused := _refused(choice):
            guess = f"the mail's {choice.key} of {choice.value}: {refused}"
            left["workload", "duration"] = _guessed(guess)
            return left
    left[choice.section, choice.key] = setting
    return left


def _guessed(why: str) -> Setting:
    guess = f"{why}; netperf's own default"
    return Setting(
        choice=Choice(section="workload", key="duration", value=_DURATION, guess=guess)
    )


def write_sections(settings: Settings, indent: str) -> list[str]:
    """Write settings as YAML below their sections: path, workload, sender, receiver."""
    lines: list[str] = []
    sections = dict.fromkeys(section for section, _ in settings if section)
    for top in dict.fromkeys(section.partition(".")[0] for section in sections):
        inner: list[str] = []
        for section in sections:
            if section == top:
                inner += _write(settings, section, indent + "  ")
            elif section.startswith(f"{top}."):
                name = section.partition(".")[2]
                below = _write(settings, section, indent + "    ")
                inner += _under(f"{indent}  {name}:", below)
        lines += _under(f"{indent}{top}:", inner)
    return lines


def _under(heading: str, lines: list[str]) -> list[str]:
    """Write lines below a key; without it if all are comments, for it would be null."""
    if all(line.lstrip().startswith("#") for line in lines):
        return lines
    return [heading, *lines]


def _write(settings: Settings, section: str, indent: str) -> list[str]:
    return [
        indent + _written(setting)
        for (own, _), setting in settings.items()
        if own == section
    ]


def _written(setting: Setting) -> str:
    choice = setting.choice
    text = f"{choice.key}: {_value(choice)}"
    refused = _refused(choice)
    if refused:
        return f"# line {setting.line}: {short(text)}: {short(refused)}"
    line = f"line {setting.line}" if setting.line else ""
    guess = f"guess: {short(choice.guess)}" if choice.guess else ""
    return text + remark("; ".join(each for each in (line, guess) if each))


def _value(choice: Choice) -> str:
    value = choice.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return percent(value)
    if isinstance(value, int):
        if choice.key in ("rtt", "duration"):
            return format_time(value)
        is_rate = choice.key in ("rate", "pacing_rate")
        return format_rate(value) if is_rate else str(value)
    if isinstance(value, Mapping):
        inner = (f"{quoted(str(k))}: {_item(v)}" for k, v in value.items())
        return f"{{fq: {{{', '.join(inner)}}}}}"
    return quoted(str(value))


def _item(value: object) -> str:
    return str(value) if isinstance(value, int) else quoted(str(value))


def _refused(choice: Choice) -> str:
    """Return why the specification does not take a value, empty if it does."""
    one: dict[str, Any] = {choice.key: choice.value}
    if choice.key == "bytes":
        one["duration"] = None
    if choice.key in _MESSAGES:
        one = dict.fromkeys(_MESSAGES, choice.value)
    try:
        if choice.section == "path":
            replace(_A_PATH, **one)
        elif choice.section == "path.link_sizes":
            replace(_A_PATH, link_sizes=one)
        elif choice.section == "workload":
            replace(_A_STREAM, **one)
        elif choice.key == "qdisc":
            value = choice.value
            parse_qdisc({"fq": value} if isinstance(value, Mapping) else value)
    except SpecError as error:
        return str(error)
    return ""
