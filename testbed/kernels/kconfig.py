"""Kernel configuration as text: fragments, .config files, what did not take and why."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import SpecError

_SET = re.compile(r"(CONFIG_\w+)=(.+)")
_UNSET = re.compile(r"# (CONFIG_\w+) is not set")
_NEXT_ENTRY = re.compile(
    r"^\s*(?:(?:menu)?config|choice|endchoice|menu|endmenu|if|endif|source|comment)\b",
    re.MULTILINE,
)
NOT_SET = "n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An option that reads back differently from what was asked."""

    name: str
    asked: str
    got: str


def parse_config(text: str, where: str) -> dict[str, str]:
    """Return the options a fragment or a .config gives, a later line over an earlier.

    Values are as written, quotes included; "is not set" is n. where: names the text in
    the SpecError that a line of any other form raises.
    """
    options = {}
    for number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if match := _UNSET.fullmatch(written):
            options[match[1]] = NOT_SET
        elif match := _SET.fullmatch(written):
            options[match[1]] = match[2]
        elif written and not written.startswith("#"):
            raise SpecError(
                f"{where}, line {number}: {written!r} is no option; "
                "write CONFIG_NAME=value or # CONFIG_NAME is not set"
            )
    return options


def render_config(options: Mapping[str, str]) -> str:
    """Write options as a fragment that parse_config() reads back."""
    return "".join(f"{name}={value}\n" for name, value in options.items())


def refused(
    asked: Mapping[str, str], resolved: Mapping[str, str]
) -> tuple[Refused, ...]:
    """Compare a fragment with the .config that came of it."""
    return tuple(
        Refused(name=name, asked=value, got=resolved.get(name, NOT_SET))
        for name, value in asked.items()
        if resolved.get(name, NOT_SET) != value
    )


def explain(option: Refused, kconfigs: Iterable[Path], tree: Path) -> str:
    """Say what was asked, what came, and the likely reason, from the Kconfig files."""
    symbol = option.name.removeprefix("CONFIG_")
    start = re.compile(rf"^[ \t]*(?:menu)?config {symbol}$", re.MULTILINE)
    for path in kconfigs:
        text = path.read_text(encoding="utf-8", errors="replace")
        if match := start.search(text):
            before, after = text[: match.start()], text[match.end() :]
            line = before.count("\n") + 1
            place = f"{path.relative_to(tree)}:{line}"
            return f"{_difference(option)}; {_reason(option, before, after)} ({place})"
    return f"{_difference(option)}; this kernel has no option of that name"


def _difference(option: Refused) -> str:
    return f"{option.name}: asked for {option.asked}, got {option.got}"


def _reason(option: Refused, before: str, after: str) -> str:
    """Guess from the option's own entry, which ends where the next one starts."""
    entry = _NEXT_ENTRY.split(after, maxsplit=1)[0]
    needs = re.findall(r"^\s+depends on (.+)$", entry, re.MULTILINE)
    prompt = r'^\s+(?:bool|tristate|int|hex|string|prompt)\s+"'
    choices = re.findall(r"^\s*(choice|endchoice)\b", before, re.MULTILINE)
    if option.asked == NOT_SET:
        return "something else that is on selects it"
    if not re.search(prompt, entry, re.MULTILINE):
        return "it cannot be set by hand"
    if choices and choices[-1] == "choice":
        return "it is one of a choice, and another one of it was taken"
    if needs:
        return f"it depends on {' && '.join(needs)}"
    return "a menu around it is off, or the value is out of range"
