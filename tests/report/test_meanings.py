"""The meanings that a page gives: none is missing."""

from dataclasses import replace

from builders import a_claim

from testbed.report.meanings import RULES, VERDICTS, scope_of
from testbed.trace.causes import Cause
from testbed.verdict import VerdictKind


def test_every_rule_has_its_meaning() -> None:
    assert set(RULES) == set(Cause)


def test_every_verdict_has_its_meaning() -> None:
    assert set(VERDICTS) == set(VerdictKind)


def test_a_relative_claim_says_what_its_values_are_shares_of() -> None:
    claim = replace(a_claim({"after": 1}), relative_to="before")

    assert scope_of(claim) == "sender, share of before"
