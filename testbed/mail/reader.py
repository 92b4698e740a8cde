"""Lines to a mail: whose it is, which patch, and where its tested section is.

Read first: read_mail, sections.
"""

import datetime
import email.errors
import email.header
import email.utils
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.mail.text import Line

HEADINGS = "Tested:, Test:, Testing:, Results:, Performance:, Benchmark:, Measurements:"
COMMANDS = "netperf, super_netperf, iperf, nstat"

_HEADING = re.compile(
    r" {0,4}(?:tested(?!-by)( [^:]{1,60})?|tests?|testing|(?:test |perf )?results?"
    r"|performance(?: results?| numbers?)?|benchmarks?|measurements?|numbers)"
    r"\s*:\s*(.*)",
    re.I,
)
_COMMAND = re.compile(
    r"[^\"]{0,80}?(?:^|[ /;])(?:super_netperf \d|netperf -|iperf3? -"
    r"|nstat (?:-|\||>|;))"
)
#: The first line that is no longer of a commit's message, or of the mail.
_END = re.compile(
    r"(?:[A-Z][a-z]+(?:-[A-Za-z]+)*-by|Fixes|Cc|Link|Closes): |--(?:-|$)|diff --git "
    r"|v\d+\s*:|(?:Re: )?\[[^\]]{0,40}PATCH|On .{8,200} wrote:$|.{1,200} \| +\d+ ?[+-]*"
)
#: A section without a heading may begin this many lines above its first command; there
#: is no maths behind it: a paragraph of six lines is a long one in a changelog.
_LEAD = 6
_HEADER = re.compile(r"[A-Z][A-Za-z-]{1,40}:(?: |$)")
_SUBJECT = re.compile(r"Subject:\s*(.*)|((?:Re: ?)?\[[^\]]{0,40}PATCH[^\]]{0,40}\].*)")
_AUTHOR = re.compile(r"(?:From|Author):\s+(\S.*)")
_DATE = re.compile(r"(?:Date|AuthorDate|CommitDate):\s+(.*)")
_MESSAGE_ID = re.compile(r"Message-I[dD]:\s*(<[^<>\s]{3,200}>)")
_COMMIT = re.compile(
    r"(?:commit |\[ Upstream commit |Commit: *|From )([0-9a-f]{12,40})"
    r"(?: \]| Mon Sep 17 .*|)"
)
_FIXES = re.compile(r"Fixes: ([0-9a-f]{8,40}\b.{0,200})")
_REPLY = re.compile(r"On (.{8,200}) wrote:$")
_APPLIED = re.compile(
    r"(?:Series |Both )?[Aa]pplied\b.{0,80}|.{0,20}do not apply.{0,80}"
)
_COMMIT_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A tested section: its lines, and the index of the line it begins at."""

    start: int
    depth: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """The patch that a tested section is of.

    tag: what stood in the subject's brackets.  date: ISO, empty if it is not said;
    from_reply: it is of a reply.  commit: up to 12 hex digits.  fate: a later line
    that says what became of the patch.  fixes: hash and title.
    """

    subject: str
    tag: str
    author: str
    date: str
    from_reply: bool
    message_id: str
    commit: str | None
    fixes: tuple[str, ...]
    fate: str


def sections(lines: Sequence[Line]) -> Iterator[Section]:
    """Yield the tested sections, the likeliest first.

    Those under a heading before those that only begin with a command; within each the
    least quoted first, and the last of a thread's versions before the earlier ones.
    """
    headed = [at for at, line in enumerate(lines) if _HEADING.fullmatch(line.text)]
    typed = [at for at, line in enumerate(lines) if _COMMAND.match(line.text)]
    for at in sorted(headed, key=lambda at: (lines[at].depth, -at)):
        yield _section(lines, at, at)
    for at in sorted(_firsts(lines, typed), key=lambda at: (lines[at].depth, -at)):
        yield _section(lines, _lead(lines, at), at)


def _firsts(lines: Sequence[Line], typed: Sequence[int]) -> Iterator[int]:
    """Yield the first command of each mail and depth: the others are in its section."""
    end = -1
    for at in typed:
        if at >= end:
            yield at
            end = at + len(_until_end(lines[at:], lines[at].depth))


def _lead(lines: Sequence[Line], first: int) -> int:
    """Return where the paragraph before that of line `first` begins."""
    start, blanks = first, 0
    while start > max(0, first - _LEAD):
        above = lines[start - 1]
        blanks += not above.text.strip()
        other = (
            above.depth != lines[first].depth
            or _HEADER.match(above.text)
            or _REPLY.fullmatch(above.text)
        )
        if other or blanks > 1 + (not lines[first - 1].text.strip()):
            break
        start -= 1
    return start


def _section(lines: Sequence[Line], start: int, first: int) -> Section:
    depth = lines[first].depth
    head = _HEADING.fullmatch(lines[start].text)
    body = list(lines[start:first]) + _until_end(lines[first:], depth)
    if head:
        at = lines[start]
        text = " ".join(each.strip() for each in head.groups() if each)
        body[0] = Line(number=at.number, depth=at.depth, text=text)
    return Section(start=start, depth=depth, lines=tuple(body))


def _until_end(lines: Sequence[Line], depth: int) -> list[Line]:
    found: list[Line] = []
    for line in lines:
        if line.depth < depth or (found and _END.match(line.text.strip())):
            break
        found.append(line)
    return found


def read_mail(lines: Sequence[Line], section: Section) -> Mail:
    """Return the patch that the section is of. SpecError if this is no mail at all."""
    top = _nearest(lines, section, _SUBJECT)
    subject = _subject(lines, top) if top is not None else _commit_title(lines, section)
    begin = _block(lines, top) if top is not None else 0
    author = _name(_last(lines[begin : section.start], section.depth, _AUTHOR))
    if not (subject and author):
        wanted = "Subject: or [PATCH ...]" if not subject else "From: or Author:"
        raise SpecError(f"this is no patch mail: there is no line with {wanted}")
    date, from_reply = _date(lines, begin, section, author)
    tag = re.match(r"(?:Re: ?)*\[([^\]]*)\]\s*", subject)
    return Mail(
        subject=re.sub(r"^(?:Re: ?)*(?:\[[^\]]*\]\s*)?", "", subject) or subject,
        tag=tag[1] if tag else "",
        author=author,
        date=date,
        from_reply=from_reply,
        message_id=_last(lines[begin : section.start], 0, _MESSAGE_ID),
        commit=_last(lines[: section.start], section.depth, _COMMIT)[:_COMMIT_DIGITS]
        or None,
        fixes=_fixes(lines, section),
        fate=_fate(lines[section.start :]),
    )


def _nearest(
    lines: Sequence[Line], section: Section, pattern: re.Pattern[str]
) -> int | None:
    for at in range(section.start - 1, -1, -1):
        if lines[at].depth <= section.depth and pattern.match(lines[at].text):
            return at
    return None


def _last(lines: Sequence[Line], depth: int, pattern: re.Pattern[str]) -> str:
    for line in reversed(lines):
        match = pattern.fullmatch(line.text.strip()) if line.depth <= depth else None
        if match:
            return match[1]
    return ""


def _subject(lines: Sequence[Line], at: int) -> str:
    match = _SUBJECT.match(lines[at].text)
    text = (match[1] or match[2] or "") if match else ""
    if match and match[1] is not None:
        for line in lines[at + 1 :]:
            if not line.text.startswith(" "):
                break
            text += " " + line.text.strip()
    return _decoded(text)


def _commit_title(lines: Sequence[Line], section: Section) -> str:
    """Return the title below the headers that git log or git show prints."""
    above = lines[: section.start]
    for at in range(len(above) - 1, -1, -1):
        if above[at].text.startswith("Author:"):
            texts = (line.text.strip() for line in above[at:])
            return next((t for t in texts if t and not _HEADER.match(t)), "")
    return ""


def _block(lines: Sequence[Line], at: int) -> int:
    """Return where the block of lines that line `at` is in begins."""
    while at > 0 and lines[at - 1].text.strip():
        at -= 1
    return at


def _decoded(text: str) -> str:
    try:
        words = str(email.header.make_header(email.header.decode_header(text)))
    except (LookupError, ValueError, email.errors.HeaderParseError):
        words = text
    return "".join(each if each.isprintable() else " " for each in words).strip()


def _name(text: str) -> str:
    if "@" not in text:  # a page of an archive left the address out
        return _decoded(text.strip(" <>[]"))
    name, address = email.utils.parseaddr(text)
    return _decoded(name or address or text)


_MONTHS = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<n>\d\d)-(?P<d>\d\d)"),
    re.compile(r"(?P<d>\d{1,2}) (?P<m>[A-Z][a-z]{2})[a-z]* (?P<y>\d{4})"),
    re.compile(
        r"(?P<m>[A-Z][a-z]{2})[a-z]* +(?P<d>\d{1,2}),? (?:[\d:]+ )?(?P<y>\d{4})"
    ),
)


def _iso(text: str) -> str:
    """Return the date in a text as ISO 8601, empty if there is none."""
    for pattern in _DATES:
        match = pattern.search(text)
        named = match.groupdict() if match else {}
        month = named.get("m", "").lower()
        if not match or (month and month not in _MONTHS):
            continue
        number = _MONTHS.index(month) + 1 if month else int(named["n"])
        try:
            return datetime.date(int(named["y"]), number, int(named["d"])).isoformat()
        except ValueError:
            continue
    return ""


def _date(
    lines: Sequence[Line], begin: int, section: Section, author: str
) -> tuple[str, bool]:
    """Return the date of the author's mail, and whether only a reply tells it."""
    for line in reversed(lines[begin : section.start]):
        header = _DATE.fullmatch(line.text) if line.depth == section.depth else None
        reply = _REPLY.fullmatch(line.text)
        said = header or (reply if reply and author in reply[1] else None)
        if said and _iso(said[1]):
            return _iso(said[1]), False
    for line in lines[section.start :]:
        reply = _REPLY.fullmatch(line.text)
        if reply and author in reply[1] and line.depth == section.depth:
            return _iso(reply[1]), True
    return "", False


def _fixes(lines: Sequence[Line], section: Section) -> tuple[str, ...]:
    found: list[str] = []
    for line in lines[section.start :]:
        text = line.text.strip()
        if text.startswith(("---", "diff --git ")) or line.depth < section.depth:
            break
        match = _FIXES.match(text)
        if match:
            found.append(match[1])
    return tuple(found)


def _fate(lines: Sequence[Line]) -> str:
    for line in reversed(lines):
        if line.depth == 0 and _APPLIED.fullmatch(line.text):
            return f"line {line.number}: {line.text}"
    return ""
