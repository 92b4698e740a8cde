"""docs/troubleshooting.md shows messages as the program prints them."""

import ast
import re
from functools import cache

import pytest
from documents import CHECKOUT, blocks

PAGE = CHECKOUT / "docs/troubleshooting.md"
#: A text of the sources with fewer letters than this is too short to be known by.
_LEAST = 6
#: What stands before the text of an error, and before its remedy: added when printed.
_BEFORE = re.compile("^(testbed: |  to fix it: )")
_VALUE = "\0"  # in a text of the sources
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
                found |= {_BEFORE.sub("", each) for each in _text(node).split("\n")}
    told = sorted(each for each in found if sum(map(str.isalpha, each)) >= _LEAST)
    return tuple(re.compile(re.escape(each).replace(_VALUE, ".+")) for each in told)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return _VALUE


def is_known(line: str) -> bool:
    return any(each.fullmatch(line) for each in texts())


@pytest.mark.parametrize("line", MESSAGES)
def test_a_message_is_in_the_sources(line: str) -> None:
    text = _BEFORE.sub("", line)

    # Remedies that are several are joined where they are printed.
    known = is_known(text) or all(map(is_known, text.split("; or ")))
    assert known, f"nothing prints {text!r}"


def test_a_message_that_nothing_prints_would_be_found() -> None:
    assert not is_known("a guest needs netperf, and has not")
    assert not is_known("give it a rest")
