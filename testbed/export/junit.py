"""JUnit XML, which CI systems show: an experiment a suite, a claim a test case."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from testbed.report.result import Result
from testbed.report.words import named, ran_on, void
from testbed.verdict import Verdict, VerdictKind

#: What no XML 1.0 document may hold (section 2.2), escaped or not.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(results: Sequence[Result]) -> str:
    """Return the results as one XML document.

    A claim that was not reproduced is a failure, one that was not asked is skipped, a
    void run is an error of its suite.
    """
    root = Element("testsuites", name="testbed")
    for result in results:
        _add_suite(root, result)
    indent(root)
    text = tostring(root, encoding="unicode", xml_declaration=True)
    return _ILLEGAL.sub("", text) + "\n"


def _add_suite(root: Element, result: Result) -> None:
    failed = [each for each in result.verdicts if _failed(each)]
    skipped = [each for each in result.verdicts if not each.asked]
    suite = SubElement(
        root,
        "testsuite",
        name=result.experiment.name,
        tests=str(len(result.verdicts) + len(result.voids)),
        failures=str(len(failed)),
        errors=str(len(result.voids)),
        skipped=str(len(skipped)),
        time=f"{sum(run.wall_seconds for run in result.stored()):.3f}",
    )
    properties = SubElement(suite, "properties")
    for line in ran_on(result):
        SubElement(properties, "property", name="ran on", value=line)
    for verdict in result.verdicts:
        _add_case(suite, result.experiment.name, verdict)
    for run in result.voids:
        name = f"{run.variant}, repeat {run.repeat}"
        case = SubElement(
            suite, "testcase", classname=result.experiment.name, name=name
        )
        SubElement(case, "error", message=void(run))


def _add_case(suite: Element, experiment: str, verdict: Verdict) -> None:
    case = SubElement(
        suite, "testcase", classname=experiment, name=named(verdict.claim)
    )
    if not verdict.asked:
        SubElement(case, "skipped", message=verdict.why)
    elif _failed(verdict):
        SubElement(case, "failure", type=verdict.kind.value, message=verdict.why)
    else:
        SubElement(case, "system-out").text = verdict.why


def _failed(verdict: Verdict) -> bool:
    return verdict.asked and verdict.kind is not VerdictKind.REPRODUCED
