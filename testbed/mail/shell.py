"""Command lines in mails, taken apart; nothing is ever run. Read first: commands."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

#: A line this long is no command that a person typed.
_LONGEST = 2000
_PROMPT = re.compile(r"\s*(?:\[[^\]]{0,60}\]|[\w.@:~/-]{0,60})\s?[#$]\s*(?=\S)")
_SETTING = re.compile(r"[A-Za-z_]\w*=\S*")
_JOINTS = {";", "|", "||", "&&", "&", ";;", "(", ")"}
#: Words that run the command behind them and their options, and how many words of
#: their own come before it.
_PREFIXES = {"do": 0, "then": 0, "time": 0, "sudo": 0, "nice": 0, "taskset": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One simple command.

    name: without its folder.  words: its arguments.  target: the file that its output
    goes to, if any.
    """

    name: str
    words: tuple[str, ...]
    target: str


def commands(line: str) -> tuple[Command, ...]:
    """Return the simple commands of a line; none if a shell would not take it."""
    if len(line) > _LONGEST:
        return ()
    prompt = _PROMPT.match(line)
    lexer = shlex.shlex(
        line[prompt.end() :] if prompt else line, posix=True, punctuation_chars=";|&<>"
    )
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that never closes
        return ()
    found = (_command(part) for part in _split(words))
    return tuple(each for each in found if each is not None)


def _split(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _JOINTS:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _command(part: Sequence[str]) -> Command | None:
    words = list(part)
    target = ""
    for at, word in enumerate(words):
        if word.startswith((">", "<")):
            target = words[at + 1] if at + 1 < len(words) else ""
            words = words[:at]
            break
    words = _without_prefixes(words)
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    return Command(name=name, words=tuple(words[1:]), target=target)


def _without_prefixes(words: list[str]) -> list[str]:
    while words:
        if words[:2] == ["perf", "stat"]:
            words = words[2:]
            while words and words[0].startswith("-"):
                words = words[2 if words[0] in ("-e", "-r", "-C", "-p") else 1 :]
        elif words[:3] == ["ip", "netns", "exec"]:
            words = words[4:]
        elif words[0] in _PREFIXES:
            own = _PREFIXES[words.pop(0)]
            while words and words[0].startswith("-"):
                words.pop(0)
            words = words[own:]
        elif _SETTING.fullmatch(words[0]):
            words = words[1:]
        else:
            break
    return words


def options(words: Sequence[str], with_value: str) -> tuple[tuple[str, str], ...]:
    """Return (letter, value) for each option, as getopt(3) would; "" where it has none.

    with_value: the letters that take one.  A word that is no option has the letter "".
    """
    found: list[tuple[str, str]] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not re.match(r"-[A-Za-z0-9]", word):
            found.append(("", word))
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            value = ""
            if letter in with_value:
                value, letters = letters or (left.pop(0) if left else ""), ""
            found.append((letter, value))
    return tuple(found)
