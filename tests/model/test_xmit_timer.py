import pytest

from testbed.model.cpu import Cpu
from testbed.model.xmit_timer import Pending, XmitTimer, wheel_expiry
from tests.model.scenarios import IDEAL, MS


class Bench:
    """A timer, and when it ran for what."""

    def __init__(self) -> None:
        self.cpu = Cpu(IDEAL, 100 * MS)
        self.timer = XmitTimer(self.cpu)
        self.ran: list[tuple[Pending, int]] = []
        self.timer.tell(self.note)

    def note(self, pending: Pending) -> None:
        self.ran.append((pending, self.cpu.clock // MS))


@pytest.mark.parametrize(
    ("after", "late"),
    [
        pytest.param(1, 1, id="one"),
        pytest.param(62, 1, id="the-last-of-level-0"),
        pytest.param(63, 1, id="63-to-64-by-eights"),
        pytest.param(64, 8, id="64-to-72-by-eights"),
        pytest.param(503, 1, id="the-last-of-level-1"),
        pytest.param(504, 8, id="504-to-512-by-64"),
        pytest.param(512, 64, id="512-to-576-by-64"),
    ],
)
def test_the_timer_wheel_is_late_but_never_early(after: int, late: int) -> None:
    # kernel/time/timer.c, "HZ 1000 steps": granularity 1, 8, 64 ms from 0, 63, 504 ms.
    assert wheel_expiry(after, 0) == after + late


@pytest.mark.parametrize(
    ("after", "due"), [pytest.param(62, 64, id="62"), pytest.param(63, 72, id="63")]
)
def test_63_ms_are_the_first_that_are_rounded_to_eights(after: int, due: int) -> None:
    assert wheel_expiry(1 + after, 1) == due


def test_a_timer_tells_what_it_was_set_for_last() -> None:
    bench = Bench()
    bench.timer.reset(Pending.LOSS_PROBE, 10)
    bench.timer.reset(Pending.RETRANS, 20)
    bench.cpu.run()

    assert bench.ran == [(Pending.RETRANS, 121)]


def test_a_timer_may_be_set_to_earlier() -> None:
    bench = Bench()
    bench.timer.reset(Pending.RETRANS, 20)
    bench.timer.reset(Pending.REO_TIMEOUT, 10)
    bench.cpu.run()

    assert bench.ran == [(Pending.REO_TIMEOUT, 111)]


def test_a_cleared_timer_tells_nothing() -> None:
    bench = Bench()
    bench.timer.reset(Pending.RETRANS, 20)
    bench.timer.clear()
    bench.cpu.run()

    assert bench.ran == []


def test_a_timer_is_due_once_it_has_run_until_it_is_set_again() -> None:
    bench = Bench()
    bench.timer.reset(Pending.RETRANS, 20)
    before = bench.timer.due()
    bench.cpu.run()
    after = bench.timer.due()
    bench.timer.reset(Pending.RETRANS, 20)

    assert (before, after, bench.timer.due()) == (None, Pending.RETRANS, None)
