import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import SpecError
from testbed.kernels.patches import read_patches, touched_files

DIFF = """Subject: a change

--- a/net/tcp.c
+++ b/net/tcp.c
@@ -1,2 +1,2 @@
 one
-two
+three
"""


def test_a_diff_touches_the_file_it_names() -> None:
    assert touched_files(DIFF, "p") == ("net/tcp.c",)


def test_a_removed_line_that_looks_like_a_header_is_no_header() -> None:
    text = "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,1 @@\n---- a/y.c\n+++ b/y.c\n"
    # The second hunk line is an addition of "++ b/y.c".

    assert touched_files(text.replace("-1,2 +1,1", "-1 +1"), "p") == ("x.c",)


def test_a_form_feed_is_a_part_of_its_line() -> None:
    text = "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,2 @@\n a\fb\n-c\n+d\n"

    assert touched_files(text, "p") == ("x.c",)


def test_line_ends_of_another_system_are_understood() -> None:
    assert touched_files(DIFF.replace("\n", "\r\n"), "p") == ("net/tcp.c",)


def test_a_new_file_and_a_removed_file_are_touched() -> None:
    new = "--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+one\n"
    gone = "--- a/old.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"

    assert touched_files(new + gone, "p") == ("new.c", "old.c")


def test_a_git_rename_touches_both_names() -> None:
    text = "diff --git a/x.c b/y.c\nrename from x.c\nrename to y.c\n"

    assert touched_files(text, "p") == ("x.c", "y.c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("hello\n", "holds no diff", id="prose"),
        pytest.param(DIFF.replace("+three\n", ""), "line 5.*cut short", id="cut"),
        pytest.param(DIFF.replace("/net/", "/../"), "outside", id="escape"),
        pytest.param(DIFF.replace("a/net/tcp.c", "tcp.c"), "no a/ or b/", id="p0"),
    ],
)
def test_what_cannot_be_a_kernel_patch_is_a_spec_error(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        touched_files(text, "p")


@given(st.text(alphabet="-+@ ab/.\n01,"))
def test_any_text_is_a_diff_or_a_spec_error(text: str) -> None:
    try:
        names = touched_files(text, "p")
    except SpecError:
        return
    assert names


def test_a_missing_patch_file_is_a_spec_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot read the patch"):
        read_patches(tmp_path / "none.patch")


def test_a_diff_is_one_patch_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "my.patch"
    path.write_text(DIFF.removeprefix("Subject: a change\n"))

    (patch,) = read_patches(path)

    assert patch.name == "my.patch"
    assert patch.data == path.read_bytes()


def test_each_mail_of_a_series_is_a_patch_named_after_its_subject(
    tmp_path: Path,
) -> None:
    mails = (
        f"From a@b Mon Sep 17 00:00:00 2001\nSubject: [PATCH net-next {at}/2] {what}\n"
        f"Content-Transfer-Encoding: {coding}\n\n{body}\n"
        for at, what, coding, body in (
            (
                2,
                "udp too",
                "base64",
                base64.encodebytes(DIFF.replace("tcp.c", "udp.c").encode()).decode(),
            ),
            (1, "tcp first", "quoted-printable", DIFF.replace("three", "t=3Dhree")),
        )
    )
    path = tmp_path / "two.mbox"
    path.write_text("".join(mails))

    first, second = read_patches(path)

    assert first.name == "two.mbox 1/2 tcp first"
    assert first.touches == ("net/tcp.c",)
    assert b"+t=hree" in first.data
    assert second.name == "two.mbox 2/2 udp too"
    assert second.touches == ("net/udp.c",)
