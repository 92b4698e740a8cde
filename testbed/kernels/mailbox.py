"""What a file of mails holds: the diffs of one series, in order. Nothing is applied.

A mailbox as an archive gives it has the cover letter, every reply and often an older
version too; only the newest version's patches count, by their "[PATCH v2 1/3]".
"""

import email
import gzip
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header

from testbed.errors import SpecError

_MAIL_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From \S+ .*\d{4}\r?$", re.M)
_HEADERS = re.compile(rb"\A(?:[A-Za-z-]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+\r?\n")
_SUBJECT = re.compile(rb"^Subject:", re.M | re.I)
_REPLY = re.compile(r"\s*(?:re|aw|antw|fwd?|sv)\s*:", re.I)
_TAGS = re.compile(r"\s*((?:\[[^\]]*\]\s*)*)(.*)", re.S)
_IS_PATCH = re.compile(r"PATCH|\bRFC\b|\bRFT\b", re.I)
_VERSION = re.compile(r"(?:\b|PATCH)v(\d+)\b", re.I)
_NUMBER = re.compile(r"(?<![\d/])(\d+)/(\d+)(?![\d/])")
_DIFF = re.compile(rb"^(?:diff --git |--- [^\n]*\n\+\+\+ )", re.M)
_GZIP = b"\x1f\x8b"
#: More than any series unpacks to; a mailbox that does is none.
_MOST_BYTES = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A mail that may be a patch.

    tagged: whether its subject has a [PATCH] of some kind.  number, of: the 1 and the 3
    of 1/3; 0 and 0 where there is no such thing.
    """

    title: str
    reply: bool
    tagged: bool
    version: int
    number: int
    of: int
    body: bytes

    @property
    def cover(self) -> bool:
        """Tell whether this is the 0/3 of a series."""
        return self.of > 0 and self.number == 0


def diffs(data: bytes, where: str) -> tuple[tuple[str, bytes], ...]:
    """Return title and text of each diff in a file, in the order to be applied.

    A file that is no mail is one diff, as it stands, with the title "". Raises
    SpecError, which names the file by where, for a series that is not whole or not one.
    """
    if data.startswith(_GZIP):  # as archives hand a thread out
        data = _unpacked(data, where)
    starts = [match.start() for match in _MAIL_START.finditer(data)]
    if not starts and not _is_mail(data):
        return (("", data),)
    starts = starts or [0]
    bounds = zip(starts, [*starts[1:], len(data)], strict=True)
    mails = [read_mail(data[start:end]) for start, end in bounds]
    chosen = choose(mails, where)
    return tuple((each.title if len(chosen) > 1 else "", each.body) for each in chosen)


def choose(mails: Sequence[Mail], where: str) -> tuple[Mail, ...]:
    """Return the patches among some mails, in the order to be applied."""
    fresh = [each for each in mails if not each.reply]
    patches = [each for each in fresh if each.tagged]
    patches = patches or [each for each in fresh if _DIFF.search(each.body)]
    newest = max((each.version for each in patches), default=1)
    kept = [each for each in patches if each.version == newest and not each.cover]
    if not kept:
        raise SpecError(
            f"{where} holds no diff, only "
            + ("a cover letter: leave it out" if patches else "replies or prose")
        )
    numbered = [each for each in kept if each.of]
    if not numbered:
        return tuple(kept)
    if len(numbered) < len(kept):
        apart = next(each.title for each in kept if not each.of)
        raise SpecError(
            f"{where} holds a series and a patch of its own, {apart!r}; "
            "keep one of them in the file"
        )
    return _in_order(numbered, where)


def _in_order(numbered: Sequence[Mail], where: str) -> tuple[Mail, ...]:
    found: dict[int, Mail] = {}
    for each in numbered:
        known = found.setdefault(each.number, each)
        if known.of != each.of or _diff(known) != _diff(each):
            raise SpecError(
                f"{where} holds two patches {each.number}/{each.of}, {known.title!r} "
                f"and {each.title!r}; keep one series in the file"
            )
    of = numbered[0].of
    if {each.of for each in numbered} != {of}:
        raise SpecError(f"{where} holds parts of two series; keep one in the file")
    missing = [str(at) for at in range(1, of + 1) if at not in found]
    if missing and len(found) > 1:  # one alone is a file of git format-patch
        raise SpecError(
            f"{where} lacks {', '.join(missing)} of the {of} patches of its series; "
            "get the whole thread (b4 am, or the archive's mbox)"
        )
    return tuple(found[at] for at in sorted(found))


def read_mail(data: bytes) -> Mail:
    """Return one mail, with what mail does to a text (base64 and the like) undone."""
    data = re.sub(rb"\AFrom [^\n]*\n", b"", data)
    message = email.message_from_bytes(data)
    subject = _decoded(str(message.get("Subject", "")))
    match = _TAGS.match(_REPLY.sub("", subject))
    tags, title = (match[1], match[2]) if match else ("", subject)
    number = _NUMBER.search(tags)
    version = _VERSION.search(tags)
    parts = [part for part in message.walk() if part.get_content_maintype() == "text"]
    bodies = [part.get_payload(decode=True) for part in parts]
    return Mail(
        title=" ".join((f"{number[0]} {title}" if number else title).split()),
        reply=bool(_REPLY.match(subject)),
        tagged=bool(_IS_PATCH.search(tags)),
        version=int(version[1]) if version else 1,
        number=int(number[1]) if number else 0,
        of=int(number[2]) if number else 0,
        body=b"".join(body + b"\n" for body in bodies if isinstance(body, bytes)),
    )


def _is_mail(data: bytes) -> bool:
    headers = _HEADERS.match(data)
    return headers is not None and _SUBJECT.search(headers[0]) is not None


def _diff(mail: Mail) -> bytes:
    """Return the part of a mail that is the diff, without what stands before it."""
    start = _DIFF.search(mail.body)
    return mail.body[start.start() :] if start else b""


def _decoded(subject: str) -> str:
    try:
        return str(make_header(decode_header(subject)))
    except (HeaderParseError, LookupError, ValueError):
        return subject


def _unpacked(data: bytes, where: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError) as error:
        raise SpecError(f"{where} cannot be unpacked: {error}") from error
    if len(unpacked) > _MOST_BYTES:
        raise SpecError(f"{where} unpacks to more than {_MOST_BYTES} bytes")
    return unpacked
