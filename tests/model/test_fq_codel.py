import pytest

from testbed.model.cpu import Cpu, Machine
from testbed.model.fq_codel import FqCodel, newton_step
from testbed.model.packet import Packet

MS = 1_000_000
UNIT = 1024  # codel's, in ns
MTU = 1500


class Bench:
    """A queue, and a clock that says how long packets wait."""

    def __init__(self, limit: int = 1000, ce_threshold: int | None = None) -> None:
        self.cpu = Cpu(Machine(tick=1, min_delta=0), 10**9)
        self.queue = FqCodel(self.cpu, limit=limit, mtu=MTU, ce_threshold=ce_threshold)

    def fill(self, count: int, *, ect: bool = False, length: int = 1448) -> None:
        for number in range(count):
            packet = Packet(number, length, -(-length // 1448), 52)
            packet.ect = ect
            self.queue.enqueue(packet)

    def after(self, time_ns: int) -> Packet:
        self.cpu.spend(time_ns)
        packet = self.queue.dequeue()
        assert packet is not None
        return packet


def test_an_empty_queue_gives_nothing() -> None:
    assert Bench().queue.dequeue() is None


@pytest.mark.parametrize(
    ("waited", "marked"),
    [
        # 50 us are 48 units of 1024 ns, and more than that is marked.
        pytest.param(48 * UNIT, False, id="as-long"),
        pytest.param(49 * UNIT, True, id="a-unit-longer"),
    ],
)
def test_the_threshold_is_in_whole_units(waited: int, *, marked: bool) -> None:
    bench = Bench(ce_threshold=50_000)
    bench.fill(1, ect=True)

    assert bench.after(waited).ce is marked


def test_what_is_not_ecn_capable_is_not_marked_by_the_threshold() -> None:
    bench = Bench(ce_threshold=50_000)
    bench.fill(1)

    assert not bench.after(MS).ce


@pytest.mark.parametrize("ect", [True, False], ids=["marks", "drops"])
def test_it_acts_on_a_queue_that_was_above_target_for_an_interval(*, ect: bool) -> None:
    bench = Bench()
    bench.fill(10, ect=ect)
    first, second = bench.after(6 * MS), bench.after(99 * MS)
    third = bench.after(2 * MS)

    assert [first.seq, second.seq] == [0, 1]
    assert third.seq == (2 if ect else 3)
    assert (first.ce, second.ce, third.ce) == (False, False, ect)


def test_the_next_is_marked_an_interval_later_and_then_sooner() -> None:
    bench = Bench()
    bench.fill(100, ect=True)
    bench.after(6 * MS)
    marked = [bench.after(10 * MS + MS // 10).ce for _ in range(26)]

    # After 100 ms, 100 ms, and 50 ms, Newton's first step towards 1 / sqrt(2).
    assert [place for place, mark in enumerate(marked) if mark] == [9, 19, 24]


def test_a_short_queue_is_left_alone_however_long_it_waited() -> None:
    bench = Bench()
    bench.fill(3, ect=True)

    assert not any(bench.after(200 * MS).ce for _ in range(3))


def test_beyond_its_limit_half_of_what_waits_goes_oldest_first() -> None:
    bench = Bench(limit=10)
    bench.fill(11)

    # Of 11 packets, so many that half the bytes are reached.
    assert len(bench.queue) == 5
    assert bench.after(0).seq == 6


def test_at_most_64_go_at_once() -> None:
    bench = Bench(limit=200)
    bench.fill(201)

    assert len(bench.queue) == 201 - 64


def test_32_megabytes_are_a_limit_too() -> None:
    bench = Bench(limit=10_000)
    bench.fill(540, length=62_000)

    # 62 832 bytes each, so the 535th is too much.
    assert len(bench.queue) == 540 - 64


def test_the_inverse_square_root_comes_near_step_by_step() -> None:
    root = 0xFFFF
    for count in range(1, 101):
        root = newton_step(root, count)

    assert root / 65536 == pytest.approx(0.1, rel=0.01)
