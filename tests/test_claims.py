"""Verdicts: how near is reproduced, what counts as the same direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from builders import a_claim, a_run

from testbed.claims import judge, judge_claim
from testbed.spec.claim import Need
from testbed.spec.experiment import Scale
from testbed.verdict import VerdictKind

FEWER = a_claim({"before": 600, "after": 200})
SAME = a_claim({"before": 100, "after": 100})
ONE = a_claim({"after": 41})
NONE = a_claim({"before": 0, "after": 0})


@pytest.mark.parametrize(
    ("claim", "measured", "kind"),
    [
        pytest.param(FEWER, (600, 200), VerdictKind.REPRODUCED, id="exact"),
        pytest.param(FEWER, (660, 180), VerdictKind.REPRODUCED, id="at-the-edge"),
        pytest.param(FEWER, (661, 200), VerdictKind.DIRECTION_ONLY, id="one-beyond"),
        pytest.param(FEWER, (1200, 400), VerdictKind.DIRECTION_ONLY, id="same-ratio"),
        pytest.param(FEWER, (600, 330), VerdictKind.DIRECTION_ONLY, id="half-way"),
        pytest.param(
            FEWER, (600, 360), VerdictKind.NOT_REPRODUCED, id="less-than-half"
        ),
        pytest.param(FEWER, (600, 600), VerdictKind.NOT_REPRODUCED, id="no-change"),
        pytest.param(FEWER, (200, 600), VerdictKind.NOT_REPRODUCED, id="other-way"),
        pytest.param(FEWER, (600, 0), VerdictKind.NOT_REPRODUCED, id="to-nothing"),
        pytest.param(FEWER, (600, None), VerdictKind.NOT_COMPARABLE, id="unknown"),
        pytest.param(SAME, (95, 105), VerdictKind.REPRODUCED, id="unchanged"),
        pytest.param(SAME, (200, 210), VerdictKind.DIRECTION_ONLY, id="unchanged-else"),
        pytest.param(SAME, (200, 300), VerdictKind.NOT_REPRODUCED, id="changed"),
        pytest.param(NONE, (0, 0), VerdictKind.REPRODUCED, id="none-claimed-none-seen"),
        pytest.param(NONE, (0, 1), VerdictKind.NOT_REPRODUCED, id="one-seen"),
    ],
)
def test_a_claim_of_two_values_is_judged(claim, measured, kind) -> None:
    values = dict(zip(("before", "after"), measured, strict=True))

    assert judge_claim(claim, values).kind is kind


def test_a_claim_of_one_value_has_no_direction() -> None:
    assert judge_claim(ONE, {"after": 41}).kind is VerdictKind.REPRODUCED
    assert judge_claim(ONE, {"after": 15}).kind is VerdictKind.NOT_REPRODUCED


def test_the_reason_names_each_side_and_its_tolerance() -> None:
    verdict = judge_claim(FEWER, {"before": 577, "after": 300})

    assert verdict.why == "before -3.8%, within 10%; after +50.0%, outside 10%"


def test_a_missing_value_is_the_reason() -> None:
    verdict = judge_claim(FEWER, {"before": 577, "after": None})

    assert verdict.why == "no TcpOutSegs in after"


@dataclass(frozen=True)
class Figures:
    """A prediction of nothing but figures."""

    figures: Mapping[tuple[str, str], float]

    def value(self, metric: str, on: str) -> float | None:
        return self.figures.get((metric, on))


@pytest.mark.parametrize("value", [600.0, 0.0, None])
def test_what_the_model_says_is_shown_and_never_judged(value) -> None:
    told = {} if value is None else {("TcpOutSegs", "sender"): value}
    model = {"before": Figures(told), "another": Figures(told)}

    (verdict,) = judge((FEWER,), (), model)

    assert verdict.kind is VerdictKind.NOT_COMPARABLE
    assert verdict.model == {"before": value}


def test_a_claim_without_units_is_judged_by_shares_of_a_variant() -> None:
    claim = replace(a_claim({"v1": 0.9, "after": 1.0}, 0.05), relative_to="before")
    told = {"before": 200.0, "v1": 182.0, "after": 201.0}
    model = {
        name: Figures({("TcpOutSegs", "sender"): value}) for name, value in told.items()
    }

    (verdict,) = judge((claim,), (), model)

    assert verdict.model == {"v1": 0.91, "after": 1.005}
    assert verdict.measured == {"v1": None, "after": None}


def test_a_share_of_nothing_known_is_not_comparable() -> None:
    claim = replace(a_claim({"after": 1.0}), relative_to="before")
    model = {"after": Figures({("TcpOutSegs", "sender"): 5.0})}

    (verdict,) = judge((claim,), (), model)

    assert verdict.model == {"after": None}
    assert verdict.kind is VerdictKind.NOT_COMPARABLE


@dataclass(frozen=True)
class Measured:
    """A run of which one figure is known."""

    run: object
    figure: float

    def value(self, _metric: str, _on: str) -> float:
        return self.figure


@pytest.mark.parametrize(
    ("need", "clock", "scale", "kind", "why"),
    [
        pytest.param(
            *(Need.REAL, "virtual", Scale.FULL, VerdictKind.NOT_COMPARABLE),
            "of a clock that runs while the CPU works: run --machine uml-real",
            id="a-real-clock-that-is-virtual",
        ),
        pytest.param(
            *(Need.FULL, "virtual", Scale.QUICK, VerdictKind.NOT_COMPARABLE),
            "of the published scale: run --full",
            id="full-scale-at-quick",
        ),
        pytest.param(
            *(Need.FULL, "virtual", Scale.FULL, VerdictKind.REPRODUCED),
            "after +0.0%, within 10%",
            id="full-scale-that-is",
        ),
    ],
)
def test_a_claim_is_asked_of_a_run_that_can_tell(need, clock, scale, kind, why) -> None:
    plain = a_run(Path("/nowhere"), "after")
    run = replace(plain, clock=clock, experiment=replace(plain.experiment, scale=scale))

    (verdict,) = judge((replace(ONE, needs=need),), (Measured(run, 41),), {})

    assert verdict.kind is kind
    assert verdict.why == why
    assert verdict.asked is (kind is VerdictKind.REPRODUCED)
    assert verdict.measured == {"after": 41}
