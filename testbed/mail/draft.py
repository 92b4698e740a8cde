"""A patch mail to the draft of an experiment: it loads, and asks what is not said.

Read first: draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.mail.choices import Settled, settle, write_sections
from testbed.mail.claims import write_claims
from testbed.mail.facts import Figure, Note
from testbed.mail.reader import COMMANDS, HEADINGS, Mail, Section, read_mail, sections
from testbed.mail.recognise import Missed, Said, recognise
from testbed.mail.text import Line, read_lines
from testbed.mail.writing import quoted, remark, short

#: A file may have a line "Tested:" a thousand times; the likeliest come first.
_TRIED = 10
#: No mail or thread is larger.
_LARGEST = 4_000_000  # bytes
_FAR = 5_000_000  # ns; a longer RTT is no rack's


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The YAML of an experiment, and the lines it takes no account of."""

    yaml: str
    missed: tuple[Missed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A tested section, and what was understood of it and what not."""

    section: Section
    said: tuple[Said, ...]
    missed: tuple[Missed, ...]

    def has_figures(self) -> bool:
        """Tell whether anything was measured."""
        return any(isinstance(each.fact, Figure) for each in self.said)


def draft(data: bytes, name: str) -> Draft:
    """Return the draft that the mail in a file gives.

    Raises SpecError, which says what was looked for, if it is no patch mail or has no
    tested section.
    """
    if len(data) > _LARGEST:
        raise SpecError(f"{name}: {len(data)} bytes are no mail; give it one thread")
    lines = read_lines(data)
    read = _best(lines)
    if read is None:
        raise SpecError(
            f"{name}: no tested section: looked for a line that begins with one of "
            f"{HEADINGS}, and for a command line of {COMMANDS}"
        )
    try:
        mail = read_mail(lines, read.section)
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from error
    return Draft(yaml="\n".join(_document(mail, read, name)), missed=read.missed)


def _best(lines: Sequence[Line]) -> _Read | None:
    """Return the likeliest section with figures, or else the likeliest."""
    first: _Read | None = None
    for _, section in zip(range(_TRIED), sections(lines), strict=False):
        said, missed = recognise(section.lines)
        read = _Read(section=section, said=said, missed=missed)
        if read.has_figures():
            return read
        first = first or read
    return first


def _document(mail: Mail, read: _Read, name: str) -> list[str]:
    settled = settle(read.said)
    lines = read.section.lines
    question = f'Does what the mail of "{mail.subject}" says still hold?'
    return [
        f"# Drafted by `testbed claims` from {short(name)}, lines {lines[0].number} to "
        f"{lines[-1].number}.",
        '# The numbers are the mail\'s; each "guess" and "ask" is yours to settle.',
        f"question: {quoted(question)}",
        *_patch(mail),
        *_topology(settled),
        *write_sections(settled.common, ""),
        *_variants(settled),
        *_gaps(read.said),
        *write_claims(read.said, f"[{mail.tag}]" if mail.tag else "the mail"),
        *_notes(read.said),
        "",
    ]


def _patch(mail: Mail) -> list[str]:
    ask = "ask: the mail does not say"
    tag = f"[{mail.tag}] " if mail.tag else ""
    date = "guess: as a reply quotes it" if mail.from_reply else ""
    commit = "guess: is it the hash upstream?" if mail.commit else ask
    return [
        "patch:",
        f"  subject: {quoted(mail.subject)}",
        f"  author: {quoted(mail.author)}",
        f"  date: {quoted(mail.date or 'unknown')}{remark(date if mail.date else ask)}",
        f"  commit: {quoted(mail.commit) if mail.commit else 'null'}{remark(commit)}",
        f"  version: null{remark('ask: which kernel has it first, such as v3.19?')}",
        f"  mail: {quoted(f'{tag}{mail.subject} {mail.message_id}'.rstrip())}",
        f"  fate: {quoted(mail.fate or 'unknown')}"
        + remark("ask: applied, reverted, rewritten since?"),
        *(f"  # Fixes: {short(each)}" for each in mail.fixes),
    ]


def _topology(settled: Settled) -> list[str]:
    path = {key for section, key in settled.common if section == "path"}
    missing = [key for key in ("rtt", "rate", "queue") if key not in path]
    lines = []
    if missing:
        lines.append(
            f"# ask: the mail does not say the path's {', '.join(missing)}; guess: as "
            "in defaults.yaml"
        )
    rtt = settled.common.get(("path", "rtt"))
    if ("", "topology") in settled.common:
        lines.append("topology: rack_local")
    elif rtt is not None and isinstance(rtt.choice.value, int):
        topology = "long_haul" if rtt.choice.value > _FAR else "rack_local"
        lines.append(f"topology: {topology}{remark('guess: from the RTT')}")
    return lines


def _variants(settled: Settled) -> list[str]:
    lines = ["variants:"]
    kernel_differs = any(
        section.startswith(("sender", "receiver", "path.link_sizes"))
        for settings in settled.own.values()
        for section, _ in settings
    )
    if not kernel_differs:
        lines.append(
            "  # ask: what makes the kernel the old one? Give before its kernel: or "
            "switches:"
        )
    for variant, about in (
        ("before", "without the patch"),
        ("after", "with the patch"),
    ):
        lines += [f"  {variant}:", f"    about: {about}"]
        lines += write_sections(settled.own[variant], "    ")
    return lines


def _gaps(said: Sequence[Said]) -> list[str]:
    notes = (each.fact for each in said if isinstance(each.fact, Note))
    texts = dict.fromkeys(note.text for note in notes if note.gap)
    return [
        f"# ask: {short(text)}: what becomes of the figures then?" for text in texts
    ]


def _notes(said: Sequence[Said]) -> list[str]:
    told = [
        f"#   line {each.line.number}: {short(each.fact.text)}"
        for each in said
        if isinstance(each.fact, Note) and not each.fact.gap
    ]
    if not told:
        return []
    return ["# What the mail says and no key has:", *dict.fromkeys(told)]
