"""A mailbox as an archive hands it out, down to the patches in it."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import SpecError
from testbed.kernels.mailbox import diffs

START = "From mboxrd@z Thu Jan  1 00:00:00 1970\n"
DIFF = "--- a/net/tcp.c\n+++ b/net/tcp.c\n@@ -1 +1 @@\n-one\n+{to}\n"


def mail(subject: str, to: str = "", *, body: str = "") -> str:
    text = body or DIFF.format(to=to or "two")
    return (
        f"{START}From: A. Hacker <a@b>\nSubject: {subject}\n\nWords.\n---\n{text}\n\n"
    )


def titles(*mails: str) -> list[str]:
    return [title for title, _ in diffs("".join(mails).encode(), "m")]


def test_a_plain_diff_is_left_as_it_is() -> None:
    data = b"tcp: a change\n\n" + DIFF.encode()

    assert diffs(data, "m") == (("", data),)


def test_a_series_is_sorted_by_its_numbers() -> None:
    found = titles(
        mail("[PATCH net-next 3/3] c", "c"),
        mail("[PATCH net-next 1/3] a", "a"),
        mail("[PATCH net-next 2/3] b", "b"),
    )

    assert found == ["1/3 a", "2/3 b", "3/3 c"]


def test_cover_letter_replies_and_other_mails_are_left_out() -> None:
    found = titles(
        mail("[PATCH 0/2] cover", body="tcp.c | 2 +-"),
        mail("Re: [PATCH 1/2] a", "quoted"),
        mail("[PATCH 1/2] a", "a"),
        mail("[PATCH 2/2] b", "b"),
        mail("RE: [PATCH 0/2] cover", body="Why?"),
        mail("robot says so", "x"),
    )

    assert found == ["1/2 a", "2/2 b"]


def test_only_the_newest_version_counts() -> None:
    found = diffs(
        (
            mail("[PATCH 1/1] a", "first")
            + mail("[PATCH v10 1/1] a", "tenth")
            + mail("[PATCHv9 1/1] a", "ninth")
        ).encode(),
        "m",
    )

    assert len(found) == 1
    assert b"+tenth" in found[0][1]


def test_a_patch_that_came_twice_is_one() -> None:
    twice = mail("[PATCH 1/2] a", "a")

    assert titles(twice, twice, mail("[PATCH 2/2] b", "b")) == ["1/2 a", "2/2 b"]


def test_single_patches_keep_the_order_of_the_file() -> None:
    assert titles(mail("[PATCH] z", "z"), mail("[RFC net] a", "a")) == ["z", "a"]


def test_mails_without_any_tag_are_patches_if_they_hold_a_diff() -> None:
    assert titles(mail("z", "z"), mail("prose", body="no"), mail("a", "a")) == [
        *("z", "a"),
    ]


def test_one_file_of_git_format_patch_may_be_any_part_of_its_series() -> None:
    assert titles(mail("[PATCH 2/5] b")) == [""]


def test_a_saved_mail_needs_no_from_line() -> None:
    saved = mail("[PATCH v2] a").removeprefix(START)

    ((title, text),) = diffs(saved.encode(), "m")

    assert title == ""
    assert text.startswith(b"Words.")


def test_a_subject_may_be_folded_and_encoded() -> None:
    folded = mail("=?UTF-8?q?=5BPATCH_2/2=5D?=\n fast", "b")

    assert titles(folded, mail("[PATCH 1/2]\n  tcp:\n  small", "a")) == [
        *("1/2 tcp: small", "2/2 fast"),
    ]


def test_a_line_that_begins_with_from_is_no_mail() -> None:
    told = mail("[PATCH] a", body="From here on, since 2001\n" + DIFF.format(to="x"))

    assert titles(told) == [""]


def test_a_compressed_mailbox_is_unpacked() -> None:
    packed = gzip.compress((mail("[PATCH 1/2] a") + mail("[PATCH 2/2] b")).encode())

    assert [title for title, _ in diffs(packed, "m")] == ["1/2 a", "2/2 b"]


@pytest.mark.parametrize(
    ("mails", "told"),
    [
        pytest.param(
            [mail("[PATCH 1/3] a"), mail("[PATCH 3/3] c")],
            "lacks 2 of the 3 patches",
            id="incomplete",
        ),
        pytest.param(
            [mail("[PATCH 1/1] a", "a"), mail("[PATCH 1/1] b", "b")],
            "two patches 1/1, '1/1 a' and '1/1 b'",
            id="two-of-one-number",
        ),
        pytest.param(
            [mail("[PATCH 1/2] a"), mail("[PATCH 2/3] b")],
            "parts of two series",
            id="two-series",
        ),
        pytest.param(
            [mail("[PATCH 1/1] a"), mail("[PATCH] apart")],
            "a patch of its own, 'apart'",
            id="series-and-patch",
        ),
        pytest.param(
            [mail("[PATCH 0/2] cover", body="words")],
            "only a cover letter: leave it out",
            id="cover-alone",
        ),
        pytest.param([mail("Re: [PATCH] a")], "only replies or prose", id="reply"),
    ],
)
def test_what_is_not_one_whole_series_is_a_spec_error(
    mails: list[str], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        titles(*mails)


def test_a_damaged_archive_is_a_spec_error() -> None:
    with pytest.raises(SpecError, match="m cannot be unpacked"):
        diffs(gzip.compress(b"x" * 99)[:-9], "m")


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_some_diffs_or_a_spec_error(data: bytes, mailed: bool) -> None:  # noqa: FBT001  # hypothesis gives it by place
    try:
        found = diffs(START.encode() + data if mailed else data, "m")
    except SpecError:
        return
    assert found


@given(st.permutations(range(1, 6)))
def test_the_order_in_the_file_does_not_matter(order: list[int]) -> None:
    found = titles(*(mail(f"[PATCH v3 {at}/5] p", str(at)) for at in order))

    assert found == [f"{at}/5 p" for at in range(1, 6)]
