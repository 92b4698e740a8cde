"""KTAP, the kernel's test results: an experiment a test, a claim a subtest.

Source: Documentation/dev-tools/ktap.rst. A claim that was not asked, as it takes a real
clock or the published scale, is skipped, with its reason.
"""

from collections.abc import Iterator, Sequence

from testbed.report.result import Result
from testbed.report.words import named, ran_on, summary, void
from testbed.verdict import Verdict, VerdictKind

_INDENT = "  "

#: Exit codes of tools/testing/selftests/kselftest.h.
PASS, FAIL, SKIP = 0, 1, 4


def ktap_text(results: Sequence[Result]) -> str:
    """Return the results as a KTAP document."""
    lines = ["KTAP version 1", f"1..{len(results)}"]
    for at, result in enumerate(results, start=1):
        lines += [_INDENT + line for line in _subtests(result)]
        lines.append(_line(at, result.experiment.name, _outcome(result)))
    return "\n".join(lines) + "\n"


def kselftest_code(results: Sequence[Result]) -> int:
    """Return what a kselftest exits with: skipped only if every result was."""
    outcomes = {_outcome(result)[0] for result in results}
    if "not ok" in outcomes:
        return FAIL
    skipped = all(_outcome(result)[1] for result in results)
    return SKIP if results and skipped else PASS


def _subtests(result: Result) -> Iterator[str]:
    yield "KTAP version 1"
    yield f"# Subtest: {result.experiment.name}"
    for line in ran_on(result):
        yield f"# {line}"
    yield f"1..{len(result.verdicts)}"
    for at, verdict in enumerate(result.verdicts, start=1):
        yield f"# {verdict.kind.value}: {_one_line(verdict.why)}"
        yield _line(at, named(verdict.claim), _judged(verdict))
    yield from (f"# {_one_line(void(run))}" for run in result.voids)
    yield f"# {summary(result)}"


def _line(number: int, name: str, outcome: tuple[str, str]) -> str:
    word, skipped = outcome
    return f"{word} {number} {name}" + (f" # SKIP {skipped}" if skipped else "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _judged(verdict: Verdict) -> tuple[str, str]:
    if not verdict.asked:
        return "ok", _one_line(verdict.why)
    return ("ok" if verdict.kind is VerdictKind.REPRODUCED else "not ok"), ""


def _outcome(result: Result) -> tuple[str, str]:
    """Return a result's own line: all of it skipped if no claim was asked."""
    outcomes = [_judged(verdict) for verdict in result.verdicts]
    if result.voids or any(word == "not ok" for word, _skipped in outcomes):
        return "not ok", ""
    if outcomes and all(skipped for _word, skipped in outcomes):
        return "ok", "no claim can be judged by this run"
    return "ok", ""
