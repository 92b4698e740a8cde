"""The table of rules, docs/model.md, the tests and the comments say the same."""

import ast
import re
from pathlib import Path

import pytest

from testbed.model.features import Counting, Defer, Features, Sizing, Tsq
from tools.history import COMMITS, RULES, Commit, Rule
from tools.model_doc import DOC, with_tables

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests/model"
MODEL = ROOT / "testbed/model"
#: What names commits of Linux.
CITING = (
    *sorted((ROOT / "testbed/model").glob("*.py")),
    *sorted((ROOT / "testbed/trace").glob("*.py")),
    *sorted((ROOT / "testbed/kernels/patches").glob("*.patch")),
    *sorted((ROOT / "testbed/experiments").glob("*.yaml")),
)
HASH = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{12}\b")
#: A hash, its subject and its release, as comments and patches write them.
CITED = re.compile(
    r'([0-9a-f]{12})(?:,? \(?"([^"]+)"\)?)?(?:,? \(?(?:in )?(v\d+\.\d+))?'
)
BY_HASH = {each.hash: each for each in COMMITS}
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def prose(path: Path) -> str:
    """Return a file's text in one line, without what marks comments."""
    return re.sub(r"\s*\n\s*(?:#:? ?)?", " ", path.read_text())


def names_in(path: Path) -> set[str]:
    """Return what a module defines: function, Class, Class.method."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (each for each in node.body if isinstance(each, ast.FunctionDef))
            names |= {f"{node.name}.{each.name}" for each in inner}
    return names


def test_the_page_has_the_tables_as_they_are() -> None:
    page = DOC.read_text()

    assert page == with_tables(page), "run make docs"


@each_rule
def test_what_pins_a_rule_is_there(rule: Rule) -> None:
    missing = [
        pin
        for pin in rule.pins
        if pin.split(".")[1] not in names_in(TESTS / f"test_{pin.split('.')[0]}.py")
    ]

    assert rule.pins
    assert not missing


@each_rule
def test_where_a_rule_is_said_to_be_it_is(rule: Rule) -> None:
    module, name = rule.where.split(".", 1)

    assert name in names_in(MODEL / f"{module}.py")


@each_rule
def test_a_rule_has_a_source(rule: Rule) -> None:
    assert rule.commits or rule.also
    assert set(rule.commits) <= set(BY_HASH)


def test_every_feature_is_a_rule() -> None:
    kinds = {"sizing", "defer", "tsq", "counting"}
    plain = set(Features.__dataclass_fields__) - kinds
    named = {*Sizing, *Defer, *Tsq, *Counting, *plain}

    assert {rule.feature for rule in RULES} - {None} == named


@pytest.mark.parametrize("path", CITING, ids=lambda path: path.name)
def test_every_commit_that_is_cited_is_one_that_was_checked(path: Path) -> None:
    assert set(HASH.findall(path.read_text())) <= {
        *BY_HASH,
        *(each for commit in COMMITS for each in HASH.findall(commit.seen)),
    }


@pytest.mark.parametrize("path", CITING, ids=lambda path: path.name)
def test_subjects_and_releases_are_cited_as_they_are(path: Path) -> None:
    for cited, subject, since in CITED.findall(prose(path)):
        commit = BY_HASH.get(cited)
        if commit is not None:
            assert subject in ("", commit.subject)
            assert since in ("", commit.since)


def test_commits_are_in_the_order_of_their_releases() -> None:
    def release(commit: Commit) -> tuple[int, ...]:
        return tuple(int(part) for part in commit.since[1:].split("."))

    assert list(COMMITS) == sorted(COMMITS, key=release)
    assert len(BY_HASH) == len(COMMITS)
