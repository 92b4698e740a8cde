"""What the documents say: their commands, their outputs, their tables and examples."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
#: All that tells people what to type.
DOCUMENTS = (
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").glob("*.md")),
)
TESTBED = "python3 -m testbed"
#: How a command begins that stands within a line of text.
_INLINE = (TESTBED, "make ", "sudo ", "apt-get ", "pip ")
_LEFT_OUT = "..."


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind (the word behind the fence), its text, its place."""

    document: Path
    line: int
    kind: str
    text: str


@dataclass(frozen=True)
class Example:
    """A command and what the document says it prints; "" if it does not say."""

    place: str
    command: str
    output: str = ""


def blocks(document: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a document."""
    kind, begin, inside = "", 0, []
    for number, line in enumerate(document.read_text().splitlines(), start=1):
        if not line.startswith("```"):
            inside.append(line)
        elif begin:
            yield Block(document, begin, kind, "\n".join(inside))
            begin = 0
        else:
            kind, begin, inside = line.removeprefix("```"), number, []


def examples(document: Path) -> Iterator[Example]:
    """Yield the commands of a document: of sh and console blocks, and within lines."""
    for block in blocks(document):
        place = f"{document.name}:{block.line}"
        if block.kind == "sh":
            for command in _commands(block.text):
                yield Example(place, command)
        if block.kind == "console":
            for said in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, _, output = said.replace("\\\n", " ").partition("\n")
                yield Example(place, " ".join(command.split()), output)
    for command in _inline(document):
        yield Example(document.name, command)


def _commands(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        command = " ".join(re.sub(r"(^|\s)#.*", "", line).split())
        if command:
            yield command


def prose(document: Path) -> str:
    """Return a document without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.S | re.M)


def _inline(document: Path) -> Iterator[str]:
    for span in re.findall(r"`([^`]+)`", prose(document)):
        command = " ".join(span.split())
        if f"{command} ".startswith(_INLINE) and command not in ("make", TESTBED):
            yield command


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield the tables of a text: rows of cells, the heads first."""
    for found in re.findall(r"(?:^\|.*\|\n)+", text + "\n", flags=re.MULTILINE):
        rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in found.splitlines()
        ]
        yield [rows[0], *rows[2:]]


def sections(document: Path) -> dict[str, str]:
    """Return a document's sections by their headings of the second or third level."""
    parts = re.split(r"^###? (.+)$", document.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def words(output: str) -> list[str]:
    """Return the words of what was printed: no numbers, no rules, no wrapping."""
    return [word for word in output.split() if not re.search(r"\d|─", word)]


def says(printed: str, output: str) -> bool:
    """Tell whether an output was printed, in words; it may leave lines out by "..."."""
    at, have = 0, words(printed)
    for part in re.split(rf"^\s*{re.escape(_LEFT_OUT)}$", output, flags=re.MULTILINE):
        wanted = words(part)
        found = [
            start
            for start in range(at, len(have) - len(wanted) + 1)
            if have[start : start + len(wanted)] == wanted
        ]
        if not found:
            return False
        at = found[0] + len(wanted)
    return True
