"""The fuzzer: what it throws, what it calls wrong, and that a little finds nothing."""

import sys

import pytest

from testbed.errors import CaptureError
from tools import fuzz_inspect
from tools.damage import corpus, mutated
from tools.fuzz_inspect import Finding, Progress, attack, insane, judged

FINE = {"n": 2, "mean": 1.5, "p50": 1, "p90": 2, "p99": 2, "max": 2}
NONE = {"n": 0, "mean": None, "p50": None, "p90": None, "p99": None, "max": None}
FLOW = {
    "packets": 2,
    "bytes": 3,
    "mss": 1000,
    "retransmits": 1,
    "tso_size": FINE,
    "tso_segs": FINE,
    "ack_stretch": NONE,
    "send_gap": {**FINE, "n": 1},
    "rtt": FINE,
}


@pytest.fixture(scope="module")
def seeds() -> list[bytes]:
    return corpus()


def answer(**changes: object) -> dict:
    return {"packets": 3, "skipped": {"not TCP": 1}, "flows": [{**FLOW, **changes}]}


def test_a_few_hundred_damaged_captures_find_nothing(seeds) -> None:
    assert list(attack(seeds, seed=1, numbers=range(300))) == []


def test_an_input_is_made_again_from_its_number(seeds) -> None:
    assert mutated(seeds, 1, 7) == mutated(seeds, 1, 7) != mutated(seeds, 1, 8)


def test_the_corpus_has_every_kind_of_file(seeds) -> None:
    starts = {data[:4] for data in seeds}

    assert {
        b"\x0a\x0d\x0d\x0a",
        b"\xd4\xc3\xb2\xa1",
        b"\xa1\xb2\xc3\xd4",
        b"\x4d\x3c\xb2\xa1",
        b"\xa1\xb2\x3c\x4d",
        b"\x28\xb5\x2f\xfd",
    } <= starts
    assert any(start.startswith(b"\x1f\x8b") for start in starts)


def test_what_is_sane_passes() -> None:
    assert insane(answer()) == ""


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"packets": 4}, id="more-data-than-packets"),
        pytest.param({"bytes": 4}, id="bytes-that-sizes-do-not-make"),
        pytest.param({"mss": 0}, id="no-mss"),
        pytest.param({"retransmits": 2}, id="nothing-but-retransmissions"),
        pytest.param({"rtt": {**FINE, "n": 3}}, id="more-rtts-than-packets"),
        pytest.param({"send_gap": {**FINE, "n": 2}}, id="as-many-gaps-as-packets"),
        pytest.param({"rtt": {**FINE, "p50": 3}}, id="a-median-above-the-rest"),
        pytest.param({"rtt": {**FINE, "mean": 3}}, id="a-mean-above-the-largest"),
        pytest.param({"rtt": {**NONE, "max": 0}}, id="a-statistic-of-nothing"),
    ],
)
def test_what_cannot_be_is_called_insane(changes: dict) -> None:
    assert insane(answer(**changes)) != ""


def raising(error: Exception):
    def inspect(_path: object) -> None:
        raise error

    return inspect


def test_any_error_but_captureerror_is_a_finding(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(fuzz_inspect, "inspect", raising(IndexError("beyond")))
    assert judged(tmp_path) == "raised IndexError('beyond')"

    monkeypatch.setattr(fuzz_inspect, "inspect", raising(CaptureError("no capture")))
    assert judged(tmp_path) == ""


def test_a_worker_tells_where_it_is_and_what_it_found() -> None:
    progress = Progress(5)

    for line in ("7", '{"number": 7, "what": "hung"}', "8", "Fatal Python error"):
        progress.take(line)

    assert progress.at == 8
    assert progress.found == [Finding(number=7, what="hung")]
    assert progress.rest == "Fatal Python error\n"


def test_a_worker_that_dies_is_a_finding_and_another_goes_on(
    monkeypatch, tmp_path
) -> None:
    dying = tmp_path / "python"
    # Dies of input 3 and has nothing to say of the others.
    dying.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "first, count = int(sys.argv[6]), int(sys.argv[8])\n"
        "for number in range(first, first + count):\n"
        "    print(number, flush=True)\n"
        "    if number == 3: os.abort()\n"
    )
    dying.chmod(0o755)
    monkeypatch.setattr(fuzz_inspect.sys, "executable", str(dying))

    (found,) = fuzz_inspect.worked(1, range(6), {})

    assert found.number == 3
    assert found.what.startswith("the worker ended with -6")
