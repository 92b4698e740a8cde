"""docs/troubleshooting.md shows messages as the program prints them."""

import ast
import re
from functools import cache

import pytest
from documents import CHECKOUT, blocks

PAGE = CHECKOUT / "docs/troubleshooting.md"
#: A text of the sources with fewer letters than this is too short to be known by.
_LEAST = 6
#: The form of all remedies, of which this says nothing.
_ANY_REMEDY = re.escape("  to fix it: ") + ".+"
MESSAGES = [
    pytest.param(line, id=line[:60])
    for block in blocks(PAGE)
    if block.kind == "text"
    for line in block.text.splitlines()
    if line != "..."
]


@cache
def texts() -> tuple[re.Pattern[str], ...]:
    """Return every line of text in the sources, with anything for its values."""
    found: set[str] = set()
    for path in (CHECKOUT / "testbed").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr | ast.Constant):
                found |= set(_pattern(node).split(re.escape("\n")))
    found.discard(_ANY_REMEDY)
    return tuple(re.compile(each) for each in sorted(found) if _letters(each) >= _LEAST)


def is_known(line: str) -> bool:
    return any(each.fullmatch(line) for each in texts())


def _pattern(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_pattern, node.values))
    if isinstance(node, ast.Constant):
        return re.escape(node.value) if isinstance(node.value, str) else ""
    return ".+"


def _letters(pattern: str) -> int:
    return sum(character.isalpha() for character in pattern)


@pytest.mark.parametrize("line", MESSAGES)
def test_a_message_is_in_the_sources(line: str) -> None:
    # What stands before the text of an error is added where it is printed; remedies
    # that are several are joined there.
    text = re.sub(r"^(testbed: |  to fix it: )", "", line)

    known = is_known(line) or is_known(text) or all(map(is_known, text.split("; or ")))
    assert known, f"nothing prints {text!r}"


def test_a_message_that_nothing_prints_would_be_found() -> None:
    assert not is_known("the kernel is tired, 4 of 5")
    assert not is_known("  to fix it: give it a rest")
