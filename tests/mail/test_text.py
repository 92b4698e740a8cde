"""Files to lines: quoting, encodings, and mails that lost their line breaks."""

import base64
import quopri
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.mail.text import decode, read_lines

BODY = "Größe: 3 µs\nTested:\n" + "x" * 100 + "\n"


def encoded(encoding: str, body: bytes, charset: str = "utf-8") -> bytes:
    head = (
        f"Subject: s\nContent-Type: text/plain; charset={charset}\n"
        f"Content-Transfer-Encoding: {encoding}\n\n"
    )
    return head.encode() + body


@pytest.mark.parametrize(
    ("written", "depth", "text"),
    [
        pytest.param("plain > text", 0, "plain > text", id="not-quoted"),
        pytest.param("> once", 1, "once", id="once"),
        pytest.param(">>> thrice", 3, "thrice", id="tight"),
        pytest.param("> > twice", 2, "twice", id="spaced"),
        pytest.param(">  87380 2", 1, " 87380 2", id="indent-kept"),
        pytest.param(">", 1, "", id="empty"),
        pytest.param("a\tb\x00c\x85", 0, "a b c", id="unprintable"),
    ],
)
def test_quoting_is_counted_and_taken_off(written, depth, text) -> None:
    (line,) = read_lines(written.encode("latin-1"))

    assert (line.depth, line.text, line.number) == (depth, text, 1)


def test_lines_end_as_unix_dos_and_old_macs_end_them() -> None:
    lines = read_lines(b"a\r\nb\nc\rd")

    assert [(each.number, each.text) for each in lines] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
        (4, "d"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encoded("8bit", BODY.encode()), id="8bit"),
        pytest.param(
            encoded("8bit", BODY.encode("latin-1"), "iso-8859-1"), id="latin-1"
        ),
        pytest.param(encoded("base64", base64.encodebytes(BODY.encode())), id="base64"),
        pytest.param(
            encoded("quoted-printable", quopri.encodestring(BODY.encode())), id="qp"
        ),
        pytest.param(
            encoded("base64", base64.encodebytes(BODY.encode()), "no-such-charset"),
            id="unknown-charset",
        ),
    ],
)
def test_encoded_parts_are_decoded(data) -> None:
    assert BODY in decode(data)
    assert decode(data).startswith("Subject: s")


def test_text_parts_of_a_multipart_mail_are_read_and_others_left() -> None:
    data = (
        b"From a@b Mon Jan 19 18:16:56 2015\n"
        b'Subject: s\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n'
        b"Content-Type: text/plain\n\nbody\n--b\nContent-Type: image/png\n"
        b"Content-Transfer-Encoding: base64\n\nAAAA\n--b\n"
        b"Content-Type: text/x-patch\n\n--- a/x\n--b--\n"
    )

    text = decode(data)

    assert "body\n--- a/x" in text
    assert "AAAA" not in text


def test_parts_within_a_thousand_parts_are_read_as_they_are() -> None:
    level = b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n'
    data = b"".join(level % (each, each) for each in range(2000)) + b"\nTested:\n"

    assert "Tested:" in decode(data)


def test_a_mail_in_one_line_gets_its_lines_back() -> None:
    filler = "word " * 250
    mail = (
        f"{filler}Subject: it From: Somebody Date: Mon, 19 Jan 2015 ./netperf -H a "
        "Recv Send Send bytes bytes bytes secs. 10^6bits/sec "
        "87380 16384 16384 20.00 37213.05 Done."
    )

    texts = [each.text for each in read_lines(mail.encode())]

    assert texts[1:] == [
        "Subject: it",
        "From: Somebody",
        "Date: Mon, 19 Jan 2015",
        "./netperf -H a",
        "Recv Send Send",
        "bytes bytes bytes secs. 10^6bits/sec",
        "87380 16384 16384 20.00 37213.05",
        "Done.",
    ]


@given(st.binary(max_size=300))
def test_any_bytes_are_printable_lines(data: bytes) -> None:
    lines = read_lines(data)

    assert lines
    assert all(each.text.isprintable() for each in lines)
    assert all(a.number <= b.number for a, b in pairwise(lines))
