"""The meanings that a page gives: none is missing."""

from testbed.claims import VerdictKind
from testbed.report.meanings import RULES, VERDICTS
from testbed.trace.causes import Cause


def test_every_rule_has_its_meaning() -> None:
    assert set(RULES) == set(Cause)


def test_every_verdict_has_its_meaning() -> None:
    assert set(VERDICTS) == set(VerdictKind)
