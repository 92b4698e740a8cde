"""docs/metrics.md and docs/results.md say what the program has, and no more."""

import re
from dataclasses import fields

from documents import CHECKOUT, sections, tables

from testbed.export.formats import FORMATS
from testbed.facts import MEANINGS, UNITS
from testbed.report.meanings import COUNTERS
from testbed.trace.inspection import FlowReport
from testbed.trace.metrics import METRICS
from testbed.verdict import VerdictKind

DOCS = CHECKOUT / "docs"


def columns(name: str, section: str = "") -> list[tuple[str, ...]]:
    """Return the rows of the one table of a page, or of a section of it."""
    page = DOCS / name
    text = sections(page)[section] if section else page.read_text().split("\n## ")[0]
    (table,) = tables(text)
    return [tuple(cell.strip("`") for cell in row) for row in table[1:]]


def test_every_metric_is_documented_with_its_unit_and_meaning() -> None:
    assert columns("metrics.md") == [
        (name, UNITS[name], meaning) for name, meaning in MEANINGS.items()
    ]


def test_every_counter_that_the_report_explains_is_documented() -> None:
    assert [row[0] for row in columns("metrics.md", "Counters")] == list(COUNTERS)


def test_what_only_inspect_measures_is_documented() -> None:
    summaries = {each.name for each in fields(FlowReport) if each.type == "Summary"}
    summaries |= {
        each.name for each in fields(FlowReport) if "Summary" in str(each.type)
    }

    documented = {row[0] for row in columns("metrics.md", "Only in inspect")}
    assert documented == summaries - set(METRICS)


def test_every_verdict_is_documented() -> None:
    rows = columns("results.md", "Verdicts")

    assert [row[0] for row in rows] == [each.value for each in VerdictKind]


def test_every_format_is_documented() -> None:
    rows = columns("results.md", "Formats for other programs")

    assert [row[0] for row in rows] == list(FORMATS)


def test_every_exit_code_is_documented() -> None:
    said = (CHECKOUT / "testbed/cli/main.py").read_text().split('"""')[1]

    codes = [int(row[0]) for row in columns("results.md", "Exit codes")]
    assert codes == [0, 1, 2, 3, 4, 130]
    assert all(re.search(rf"\b{code}\s[a-z]", said) for code in codes)
