import re
from dataclasses import replace
from pathlib import Path

from report.builders import CLAIMS, all_void, half_void, result

from testbed.export.ktap import FAIL, PASS, SKIP, kselftest_code, ktap_text
from testbed.report.result import Result
from testbed.verdict import VerdictKind


def judged(of: Result, kind: VerdictKind, *, asked: bool = True) -> Result:
    verdicts = tuple(replace(each, kind=kind, asked=asked) for each in of.verdicts)
    return replace(of, verdicts=verdicts)


def test_an_experiment_is_a_test_and_a_claim_its_subtest(tmp_path: Path) -> None:
    lines = ktap_text([result(tmp_path)]).splitlines()

    assert lines[:4] == [
        "KTAP version 1",
        "1..1",
        "  KTAP version 1",
        "  # Subtest: tso",
    ]
    assert f"  1..{len(CLAIMS)}" in lines
    assert "  ok 1 IpOutRequests at the sender" in lines
    assert lines[-1] == "not ok 1 tso"


def test_only_what_was_reproduced_is_ok(tmp_path: Path) -> None:
    plain = result(tmp_path)
    for kind in VerdictKind:
        word = "ok" if kind is VerdictKind.REPRODUCED else "not ok"
        last = ktap_text([judged(plain, kind)]).splitlines()[-1]
        assert last == f"{word} 1 tso"


def test_what_was_not_asked_is_skipped_with_its_reason(tmp_path: Path) -> None:
    plain = result(tmp_path)
    unasked = judged(plain, VerdictKind.NOT_COMPARABLE, asked=False)
    first = replace(unasked.verdicts[0], why="it takes\n a real clock")
    unasked = replace(unasked, verdicts=(first, *unasked.verdicts[1:]))

    lines = ktap_text([unasked]).splitlines()

    assert "  ok 1 IpOutRequests at the sender # SKIP it takes a real clock" in lines
    assert lines[-1] == "ok 1 tso # SKIP no claim can be judged by this run"


def test_every_line_is_of_ktap(tmp_path: Path) -> None:
    legal = re.compile(r" *(KTAP version 1|1\.\.\d+|# .*|(not )?ok \d+ \S.*)")

    for line in ktap_text([result(tmp_path), half_void(tmp_path)]).splitlines():
        assert legal.fullmatch(line), line


def test_a_void_run_is_not_ok_and_says_why(tmp_path: Path) -> None:
    text = ktap_text([all_void(tmp_path)])

    assert "# void: before, repeat 1: the machine hung" in text
    assert text.splitlines()[-1] == "not ok 1 tso"


def test_a_kselftest_is_skipped_only_if_all_of_it_was(tmp_path: Path) -> None:
    plain = result(tmp_path)
    good = judged(plain, VerdictKind.REPRODUCED)
    skipped = judged(plain, VerdictKind.NOT_COMPARABLE, asked=False)

    assert kselftest_code([good, good]) == PASS
    assert kselftest_code([good, skipped]) == PASS
    assert kselftest_code([skipped]) == SKIP
    assert kselftest_code([good, plain]) == FAIL
