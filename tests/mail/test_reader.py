"""Whose a patch is, when, and which of a thread's tested sections counts."""

import pytest

from testbed.errors import SpecError
from testbed.mail.reader import Mail, read_mail, sections
from testbed.mail.text import read_lines

MAIL = """\
From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001
From: =?utf-8?q?J=C3=B6rg?= <j@example.com>
Date: Fri, 5 Dec 2014 06:15:00 -0800
Message-ID: <1@example.com>
Subject: [PATCH v2 net-next] tcp: be faster
 than before

Tested:
TcpOutSegs 1 0.0

Fixes: 605ad7f184b6 ("tcp: refine TSO autosizing")
Signed-off-by: J
---
"""
GIT_SHOW = """\
commit 605ad7f184b60cfaacbc038aa6c55ee68dee3c89
Author: Eric Dumazet <e@example.com>
Date:   Sun Dec 7 12:22:18 2014 -0800

    tcp: refine TSO autosizing

    Tested:

    TcpOutSegs 1 0.0

    Signed-off-by: Eric Dumazet <e@example.com>
"""


def read(text: str) -> Mail:
    lines = read_lines(text.encode())
    return read_mail(lines, next(sections(lines)))


def test_a_patch_says_whose_it_is() -> None:
    mail = read(MAIL)

    assert mail == Mail(
        subject="tcp: be faster than before",
        tag="PATCH v2 net-next",
        author="Jörg",
        date="2014-12-05",
        from_reply=False,
        message_id="<1@example.com>",
        commit="0123456789ab",
        fixes=('605ad7f184b6 ("tcp: refine TSO autosizing")',),
        fate="",
    )


def test_a_commit_as_git_shows_it_is_read_too() -> None:
    mail = read(GIT_SHOW)

    assert mail.subject == "tcp: refine TSO autosizing"
    assert (mail.author, mail.date) == ("Eric Dumazet", "2014-12-07")
    assert mail.commit == "605ad7f184b6"


def test_the_section_ends_where_the_trailers_begin() -> None:
    (section, *_) = sections(read_lines(MAIL.encode()))

    assert [each.text for each in section.lines] == ["", "TcpOutSegs 1 0.0", ""]


def test_a_quoted_mail_has_the_author_and_date_of_its_quoting() -> None:
    quoted = "".join(f"> {line}\n" for line in GIT_SHOW.splitlines()[5:])
    text = (
        "From: Neal <n@example.com>\nDate: Mon, 1 Jan 2018 00:00:00\n"
        "Subject: Re: [PATCH] tcp: x\n\n"
        "On Fri, 2014-12-05 at 18:22 -0800, Eric Dumazet wrote:\n"
        f"> From: Eric Dumazet <e@example.com>\n{quoted}"
    )

    mail = read(text)

    assert (mail.author, mail.date, mail.subject) == (
        "Eric Dumazet",
        "2014-12-05",
        "tcp: x",
    )


def test_the_newest_version_that_is_not_quoted_comes_first() -> None:
    text = "Tested:\none\n---\nTested:\ntwo\n---\n> Tested:\n> three\n"

    found = list(sections(read_lines(text.encode())))

    assert [each.lines[1].text for each in found] == ["two", "one", "three"]


def test_words_beside_the_heading_are_of_the_section() -> None:
    (section,) = sections(read_lines(b"Tested on a 100Gbit NIC: netperf\n"))

    assert section.lines[0].text == "on a 100Gbit NIC netperf"


def test_tested_by_is_no_heading() -> None:
    assert not list(sections(read_lines(b"Tested-by: Somebody\n")))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("From: a\nTested:\n", "no line with Subject", id="no-subject"),
        pytest.param("Subject: a\nTested:\n", "no line with From", id="no-author"),
    ],
)
def test_what_is_no_mail_is_refused(text, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        read(text)
