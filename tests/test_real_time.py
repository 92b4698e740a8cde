"""Claims in real time: the whole interval has to bear a verdict out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from builders import a_claim, a_run

from testbed.claims import judge
from testbed.ratio import Ratio
from testbed.real_time import judge_ratio
from testbed.spec.claim import Need
from testbed.verdict import Verdict, VerdictKind

HALF = replace(a_claim({"before": 60, "after": 30}, metric="cpu"), needs=Need.REAL)
RATE = replace(HALF, metric="transactions")


@dataclass(frozen=True)
class Measured:
    """A run of which one figure is known, and what it sent."""

    run: object
    figure: float | None
    sent: int = 1000

    def value(self, _metric: str, _on: str) -> float | None:
        return self.figure

    def work(self) -> int:
        return self.sent


def a_measured(variant: str, repeat: int, figure: float | None, sent: int) -> Measured:
    run = replace(a_run(Path("/nowhere"), variant, repeat), clock="real")
    return Measured(run, figure, sent)


def runs_of(
    before: Sequence[float | None],
    after: Sequence[float | None],
    sent: tuple[int, int] = (1000, 1000),
) -> list[Measured]:
    """Return runs as they are stored: all of one variant, then all of the other."""
    return [
        a_measured(name, repeat, figure, work)
        for name, figures, work in (
            ("before", before, sent[0]),
            ("after", after, sent[1]),
        )
        for repeat, figure in enumerate(figures, start=1)
    ]


def judged(claim, runs) -> Verdict:
    (verdict,) = judge((claim,), runs, {})
    return verdict


@pytest.mark.parametrize(
    ("claimed", "interval", "kind"),
    [
        pytest.param(1.44, (1.32, 1.58), VerdictKind.REPRODUCED, id="within"),
        pytest.param(1.44, (1.31, 1.5841), VerdictKind.DIRECTION_ONLY, id="just-over"),
        pytest.param(1.44, (1.09, 1.74), VerdictKind.DIRECTION_ONLY, id="wide"),
        pytest.param(1.44, (2.0, 3.0), VerdictKind.DIRECTION_ONLY, id="beyond"),
        pytest.param(1.44, (0.99, 1.74), VerdictKind.NOT_COMPARABLE, id="holds-1"),
        pytest.param(1.44, (0.99, 1.21), VerdictKind.NOT_COMPARABLE, id="holds-half"),
        pytest.param(1.44, (0.99, 1.19), VerdictKind.NOT_REPRODUCED, id="no-change"),
        pytest.param(1.44, (0.5, 0.9), VerdictKind.NOT_REPRODUCED, id="other-way"),
        pytest.param(0.743, (0.43, 0.78), VerdictKind.DIRECTION_ONLY, id="less"),
        pytest.param(0.743, (0.70, 0.80), VerdictKind.REPRODUCED, id="less-within"),
        pytest.param(0.14, (0.66, 1.04), VerdictKind.NOT_REPRODUCED, id="less-nothing"),
        pytest.param(0.743, (0.66, 1.04), VerdictKind.NOT_COMPARABLE, id="less-or-not"),
        pytest.param(1.0, (0.95, 1.05), VerdictKind.REPRODUCED, id="unchanged"),
        pytest.param(1.0, (0.85, 1.05), VerdictKind.NOT_COMPARABLE, id="unchanged?"),
        pytest.param(1.0, (1.2, 1.5), VerdictKind.NOT_REPRODUCED, id="changed"),
    ],
)
def test_the_whole_interval_bears_the_verdict_out(claimed, interval, kind) -> None:
    ratio = Ratio(
        over="after",
        under="before",
        claimed=claimed,
        measured=interval[0],
        interval=interval,
        pairs=10,
    )

    assert judge_ratio(ratio, 0.1)[0] is kind


def test_the_reason_has_the_ratio_its_interval_and_its_pairs() -> None:
    runs = runs_of([60, 61, 62, 63, 64], [30, 30.5, 31, 31.5, 32])

    verdict = judged(HALF, runs)

    assert verdict.kind is VerdictKind.REPRODUCED
    assert verdict.why == (
        "after/before 0.5, 95% interval 0.5 to 0.5 of 5 pairs is within 10% of 0.5"
    )
    assert verdict.measured == {"before": 62, "after": 31}
    assert verdict.ratio is not None
    assert verdict.ratio.interval == (0.5, 0.5)
    assert verdict.asked


def test_runs_are_paired_by_their_turns() -> None:
    """Were they paired as they come, some pairs would be of different turns."""
    runs = runs_of([10, 20, 30, 40, 50, 60], [5, 10, 15, 20, 25, 30])

    ratio = judged(HALF, list(reversed(runs))).ratio

    assert ratio is not None
    assert ratio.interval == (0.5, 0.5)


def test_a_turn_of_which_one_value_is_unknown_does_not_count() -> None:
    runs = runs_of([60.0] * 6, [30.0, None, 30.0, 30.0, 30.0, 30.0])

    ratio = judged(HALF, runs).ratio

    assert ratio is not None
    assert ratio.pairs == 5


def test_too_few_repeats_are_no_verdict_and_were_not_asked() -> None:
    verdict = judged(HALF, runs_of([60.0] * 4, [30.0] * 4))

    assert verdict.kind is VerdictKind.NOT_COMPARABLE
    assert (
        verdict.why == "after/before 0.5: an interval takes 5 repeats, and there are 4"
    )
    assert not verdict.asked


def test_a_total_of_unequal_work_is_not_comparable() -> None:
    runs = runs_of([60.0] * 5, [30.0] * 5, sent=(1000, 500))

    verdict = judged(HALF, runs)

    assert verdict.kind is VerdictKind.NOT_COMPARABLE
    assert "after sent 0.5 times the bytes of before" in verdict.why
    assert verdict.asked


def test_a_rate_of_unequal_work_is_judged() -> None:
    runs = runs_of([60.0] * 5, [30.0] * 5, sent=(1000, 500))

    assert judged(RATE, runs).kind is VerdictKind.REPRODUCED


def test_work_that_differs_little_is_equal() -> None:
    runs = runs_of([60.0] * 5, [30.0] * 5, sent=(1000, 985))

    assert judged(HALF, runs).kind is VerdictKind.REPRODUCED


def test_what_took_no_time_has_no_ratio() -> None:
    verdict = judged(HALF, runs_of([0.0] * 5, [30.0] * 5))

    assert verdict.kind is VerdictKind.NOT_COMPARABLE
    assert verdict.why == "there is no after/before of what is 0 or unknown"


def test_a_share_is_a_ratio_to_what_it_is_a_share_of() -> None:
    claim = replace(HALF, claimed={"after": 0.5}, relative_to="before")

    verdict = judged(claim, runs_of([60.0] * 5, [30.0] * 5))

    assert verdict.kind is VerdictKind.REPRODUCED
    assert verdict.measured == {"after": 0.5}
    assert verdict.ratio is not None
    assert (verdict.ratio.claimed, verdict.ratio.measured) == (0.5, 0.5)


@pytest.mark.parametrize(
    "claimed",
    [
        pytest.param({"after": 30.0}, id="one"),
        pytest.param({"before": 60.0, "after": 30.0, "fixed": 20.0}, id="three"),
        pytest.param({"before": 0.0, "after": 30.0}, id="of-nothing"),
    ],
)
def test_a_claim_that_is_no_ratio_is_not_judged(claimed) -> None:
    claim = replace(HALF, claimed=claimed, within=dict.fromkeys(claimed, 0.1))

    verdict = judged(claim, runs_of([60.0] * 5, [30.0] * 5))

    assert verdict.kind is VerdictKind.NOT_COMPARABLE
    assert verdict.why.endswith("this is not about two values")
    assert not verdict.asked


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        pytest.param(30.0, VerdictKind.REPRODUCED, id="reproduced"),
        pytest.param(35.0, VerdictKind.DIRECTION_ONLY, id="direction"),
        pytest.param(60.0, VerdictKind.NOT_COMPARABLE, id="what-may-be-the-machine"),
    ],
)
def test_what_virtual_time_tells_exactly_is_not_denied_in_real_time(
    after, kind
) -> None:
    claim = replace(HALF, metric="TcpOutSegs", needs=None)

    verdict = judged(claim, runs_of([60.0], [after]))

    assert verdict.kind is kind
    assert verdict.ratio is None
    assert not verdict.asked
