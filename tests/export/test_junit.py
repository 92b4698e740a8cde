from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

from report.builders import half_void, result

from testbed.export.junit import junit_text
from testbed.report.result import Result
from testbed.verdict import VerdictKind


def suite(of: Result) -> Element:
    (found,) = fromstring(junit_text([of]))  # noqa: S314  # we wrote it
    return found


def test_a_claim_is_a_test_case_and_fails_unless_reproduced(tmp_path: Path) -> None:
    found = suite(result(tmp_path))

    assert found.get("name") == "tso"
    assert (found.get("tests"), found.get("failures")) == ("4", "3")
    failing = [case.get("name") for case in found if case.find("failure") is not None]
    assert "IpOutRequests at the sender" not in failing
    assert len(failing) == 3


def test_what_was_not_asked_is_skipped(tmp_path: Path) -> None:
    plain = result(tmp_path)
    first = replace(plain.verdicts[0], asked=False, kind=VerdictKind.NOT_COMPARABLE)

    found = suite(replace(plain, verdicts=(first, *plain.verdicts[1:])))

    assert found.get("skipped") == "1"
    assert found.find("testcase/skipped") is not None


def test_a_void_run_is_an_error(tmp_path: Path) -> None:
    found = suite(half_void(tmp_path))

    assert found.get("errors") == "1"
    error = found.find("testcase/error")
    assert error is not None
    assert "the capture lost 12 packets" in error.get("message", "")


def test_text_that_xml_cannot_hold_is_left_out(tmp_path: Path) -> None:
    plain = result(tmp_path)
    first = replace(plain.verdicts[0], why="<b>\x00\x1b[31m & more")

    found = suite(replace(plain, verdicts=(first, *plain.verdicts[1:])))

    said = found.find("testcase/system-out")
    assert said is not None
    assert said.text == "<b>[31m & more"
