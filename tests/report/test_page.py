import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from report.builders import (
    CLAIMS,
    Page,
    all_void,
    claim,
    experiment,
    half_void,
    in_real_time,
    measured,
    result,
    run,
    trace,
    void_run,
)

from testbed.claims import judge
from testbed.predicted import Unreached
from testbed.report.drawn import Drawn, draw
from testbed.report.page import render
from testbed.report.result import Result

HOSTILE = "\"><script>alert('x')</script>&amp; ünïcödé"
NOTHING_COUNTED: dict[str, dict[str, int]] = {"sender": {}, "receiver": {}}


def page_of(*results: Result) -> Page:
    return Page(render([draw(each) for each in results]))


def undrawn(of: Result) -> Page:
    """Return a page that has all but the pictures, which take long to draw."""
    return Page(render([Drawn(result=of, figures=(), live=None, moments=())]))


def of_nothing(folder: Path) -> Result:
    of = experiment()
    runs = (measured(run(of, "before", folder), trace(), NOTHING_COUNTED),)
    return Result(experiment=of, runs=runs, verdicts=judge(CLAIMS, runs, {}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    """Return a page of two results."""
    drawn = draw(result(folder))
    return Page(render([drawn, drawn]))


@pytest.fixture(scope="module")
def empty_page(folder: Path) -> Page:
    """Return a page without packets, and without a model."""
    return page_of(of_nothing(folder))


@pytest.fixture(scope="module")
def void_page(folder: Path) -> str:
    return render([draw(half_void(folder))])


def test_the_same_results_give_the_same_bytes(void_page: str, folder: Path) -> None:
    assert render([draw(half_void(folder))]) == void_page


def test_the_page_refers_to_nothing_but_itself(page: Page) -> None:
    assert page.outside == []


def test_ids_do_not_clash_between_pictures_and_results(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))


def test_the_page_loads_nothing(page: Page) -> None:
    assert {"link", "img", "iframe", "object"} & set(page.tags) == set()
    assert "@import" not in page.text


def test_the_page_runs_the_two_scripts_that_it_names_by_hash_and_no_other(
    page: Page, void_page: str
) -> None:
    *data, library, ours = page.scripts
    hashes = [
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()
        for each in (library, ours)
    ]

    assert [len(json.loads(each)["variants"]) for each in data] == [2, 2]
    assert "(MIT Licensed)" in library
    assert re.findall(r"'sha256-([^']*)'", void_page) == hashes
    assert "content=\"default-src 'none'; " in void_page


def test_a_page_without_packets_has_no_script(empty_page: Page) -> None:
    assert empty_page.scripts == []
    assert "button" not in empty_page.tags


def test_the_live_picture_has_its_variants_and_controls(void_page: str) -> None:
    assert "<select><option>before</option></select>" in void_page
    assert void_page.count('<button type="button" data-do=') == 7
    assert "Every packet and ACK is drawn." in void_page


def test_moments_are_on_the_page_and_lead_to_the_picture(page: Page) -> None:
    assert "after: kernel and model part at data packet #0" in page.text
    assert "before: the ACK that acknowledges most: 2 segments" in page.text
    assert page.text.count("show in the picture") == 14


def test_every_picture_has_a_text_alternative(void_page: str) -> None:
    assert void_page.count("<svg") == 6
    assert void_page.count('role="img" aria-label="') == 6


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("How many packets does it take?", id="question"),
        pytest.param("1 of 4 claims reproduced; 2 direction only", id="summary"),
        pytest.param("before 599 601 601 +0.3% reproduced", id="claimed-and-measured"),
        pytest.param("12 345 678 87 654 321 77 654 321 +610.0%", id="large-figures"),
        pytest.param("after 1 400 9 009 8 008", id="predicted"),
        pytest.param("before 100.00% 50 50 0.00% 0.00% none", id="match"),
        pytest.param("after 0.00% 10 20 100.00% 100.00% #0", id="no-match"),
        pytest.param("after: first divergence, data packet #0", id="divergence"),
        pytest.param("bytes 10 000 5 000", id="both-packets"),
        pytest.param("ms since connect 40.000 40.000 first", id="when"),
        pytest.param("snd_cwnd 10 12", id="both-senders"),
        pytest.param("srtt 40.0 ms 40.5 ms", id="both-senders-srtt"),
        pytest.param("snd_una - 4 000", id="what-tcp-info-does-not-tell"),
        pytest.param("autosize 75.0% 0.0%", id="attribution"),
        pytest.param("cut by defer_release it was deferred", id="meaning-of-a-rule"),
        pytest.param("Kolmogorov-Smirnov", id="meaning-of-a-distance"),
        pytest.param("44.2 Mbit/s", id="a-claimed-rate"),
        pytest.param("Claimed in the mail", id="source"),
        pytest.param("release 6.12.117", id="release"),
        pytest.param("build id abababababab", id="build-id"),
        pytest.param("patches uml-seed.patch 0123456789ab", id="patches"),
        pytest.param("machine uml clock virtual", id="machine"),
        pytest.param("switches.autosize 1 0", id="what-differs"),
        pytest.param("python -m testbed run tso --seed 1", id="command"),
        pytest.param("What became of the patch applied", id="fate"),
        pytest.param("tso_segs (segments) variant n mean", id="metric"),
        pytest.param("after 10 10 10 10 10 10", id="metric-values"),
        pytest.param("IpOutRequests 601 230 0 0", id="claimed-counter"),
        pytest.param("TcpActiveOpens 1 0 0 0", id="counter"),
        pytest.param('"mark": "<env of after>"', id="environment"),
        pytest.param("segments newly acknowledged by each ACK", id="definition"),
    ],
)
def test_the_page_says(words: str, page: Page) -> None:
    assert words in page.text


def test_claimed_counters_come_first(page: Page) -> None:
    counters = page.text[page.text.index("nstat counters") :]

    assert counters.index("TcpOutSegs") < counters.index("TcpActiveOpens")


def test_a_hostile_question_stays_text(tmp_path: Path) -> None:
    plain = result(tmp_path, claims=())
    asked = replace(plain, experiment=replace(plain.experiment, question=HOSTILE))

    page = undrawn(asked)

    assert "alert('x')" not in page.scripts
    assert HOSTILE in page.text


def test_hostile_reasons_stay_text(tmp_path: Path) -> None:
    claims = (claim("IpOutRequests", "sender", 599, 232, why=HOSTILE),)
    of = experiment(claims=claims)
    lost = void_run(of, "before", tmp_path, HOSTILE)
    verdicts = judge(claims, (), {})

    page = page_of(Result(experiment=of, runs=(), verdicts=verdicts, voids=(lost,)))

    assert "script" not in page.tags
    assert f"repeat 1: {HOSTILE}" in page.text


def test_a_void_run_is_shown_with_its_reason_and_not_drawn(void_page: str) -> None:
    assert "void: after, repeat 1: the capture lost 12 packets" in void_page
    assert "after: n =" not in void_page
    assert "before: n = 50 packets" in void_page


def test_nothing_is_drawn_of_an_experiment_that_is_all_void(tmp_path: Path) -> None:
    page = render([draw(all_void(tmp_path))])

    assert "void: before, repeat 1: the machine hung" in page
    assert "<svg" not in page
    assert "python -m testbed run tso --seed 1" in page


def test_a_run_without_packets_has_a_page(empty_page: Page) -> None:
    assert "no IpOutRequests in after" in empty_page.text
    assert "n = 0" in empty_page.text


def test_a_void_run_cannot_be_among_those_measured(tmp_path: Path) -> None:
    lost = half_void(tmp_path)
    as_measured = measured(lost.voids[0], trace(), NOTHING_COUNTED)

    with pytest.raises(ValueError, match="void"):
        Result(experiment=lost.experiment, runs=(as_measured,), verdicts=())


def test_a_variant_that_the_model_does_not_reach_is_said(tmp_path: Path) -> None:
    whole = result(tmp_path)
    why = f"the model does not reach {HOSTILE}"
    predictions = {**whole.predictions, "after": Unreached(variant="after", why=why)}

    page = page_of(replace(whole, predictions=predictions))

    assert f"after: {why}" in page.text
    assert "after, model" not in page.text
    assert "before, model" in page.text


def test_a_page_without_a_model_says_nothing_of_one(empty_page: Page) -> None:
    assert "Our simulation" not in empty_page.text
    assert "dashed" not in empty_page.text


def test_a_ratio_has_its_interval_beside_it(tmp_path: Path) -> None:
    shown = undrawn(in_real_time(tmp_path)).text

    assert "after/before 1.44 1.35 [1.09 to 1.74] - -6.5%" in shown
