"""Bytes of a mail, by whatever route they came, to lines that know their place.

A mail may be an mbox, MIME, a page of an archive saved as text, quoted in a reply, or
all of it in one line. Nothing here knows what the lines mean. Read first: read_lines.
"""

import email
import re
from dataclasses import dataclass

#: RFC 5322, section 2.1.1: no line of a mail is longer, so one that is lost its breaks.
_LONGEST = 998
_MBOX = re.compile(rb"^(?=From \S+ +\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})", re.M)
_MIME = re.compile(
    rb"^content-transfer-encoding:\s*(?:base64|quoted-printable)"
    rb"|^content-type:\s*multipart/",
    re.M | re.I,
)
_HEADERS = (
    "Received|Message-I[Dd]|Subject|From|To|Cc|Date|In-Reply-To|References|Sender|"
    "Precedence|List-I[Dd]|X-[A-Z][A-Za-z-]*|Mime-Version|[A-Z][a-z]+-[a-z]+-by"
)
#: Where a mail without line breaks had one: each is the start of a line.
_BREAK = re.compile(
    rf" (?=(?:{_HEADERS}): )"
    r"| (?=On \w{3}, .{10,80} wrote: )|(?<= wrote:) | (?=> )"
    r"|(?<!=\d) (?=(?:[A-Z_]+=\w+ )?(?:\./)?(?:super_)?netperf -)"
    r"| (?=ethtool -|nstat[ ;]|ip link )"
    r"| (?=MIGRATED |Recv +Send|Socket +Socket|Size +Size +Size|bytes +bytes +bytes)"
    r"| (?=rto=\d)"
    r"| (?=\d+ +\d+ +\d+ +\d+\.\d\d +\d+\.\d\d )"
    r"|(?<=\d \d\d\.\d\d \d{5}\.\d\d) |(?<=\d\.\d\d \d{4}\.\d\d) "
    r"| (?=---? |diff --git |\S+/\S+\.[chS] \| )"
    r"|(?<=[a-z]\.) (?=[A-Z])|(?<= :) "
)
_QUOTE = re.compile(r"(?: ?>)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a mail.

    number: in the file, from 1 (in the decoded text, where a mail is encoded).  depth:
    how often it is quoted.  text: printable, without the marks of quoting.
    """

    number: int
    depth: int
    text: str


def read_lines(data: bytes) -> tuple[Line, ...]:
    """Return the lines of a file that holds a mail, whatever it really holds."""
    lines = re.split(r"\r\n|\r|\n", decode(data))
    return tuple(
        _line(number, piece)
        for number, text in enumerate(lines, start=1)
        for piece in (_BREAK.split(text) if len(text) > _LONGEST else [text])
    )


def _line(number: int, written: str) -> Line:
    text = written if written.isprintable() else _printable(written)
    quote = _QUOTE.match(text)
    marks = quote[0] if quote else ""
    rest = text[len(marks) :]
    rest = rest.removeprefix(" ") if marks else rest
    return Line(number=number, depth=marks.count(">"), text=rest.rstrip())


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def decode(data: bytes) -> str:
    """Return the text of a file; parts that MIME encodes are decoded."""
    return "".join(_readable(message) for message in _MBOX.split(data))


def _readable(message: bytes) -> str:
    head, _, _ = message.replace(b"\r\n", b"\n").partition(b"\n\n")
    if not _MIME.search(head):
        return _text(message, "utf-8")
    try:
        bodies = [
            _text(part.get_payload(decode=True) or b"", part.get_content_charset())
            for part in email.message_from_bytes(message).walk()
            if part.get_content_maintype() == "text"
        ]
    except RecursionError:  # parts within parts within parts
        return _text(message, "utf-8")
    return "\n".join([_text(head, "utf-8"), "", *bodies, ""])


def _text(data: object, charset: str | None) -> str:
    if not isinstance(data, bytes):
        return ""
    try:
        return data.decode(charset or "utf-8")
    except (LookupError, ValueError):
        unknown = charset not in (None, "utf-8")
        return _text(data, "utf-8") if unknown else data.decode("latin-1")
