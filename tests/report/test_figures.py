from pathlib import Path

import pytest
from report.builders import (
    MSS,
    RTT_NS,
    START_NS,
    experiment,
    measured,
    result,
    run,
    samples,
    steady,
    trace,
)

from testbed.report.figures import Figure, figures, sides_of, zoom_windows
from testbed.report.result import Result
from testbed.trace.trace import Trace

Figures = tuple[Figure, ...]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures(sides_of(result(tmp_path_factory.mktemp("run"))))


def of_one(seen: Trace, folder: Path) -> Result:
    of = experiment()
    counters: dict[str, dict[str, int]] = {"sender": {}, "receiver": {}}
    one = measured(run(of, "before", folder), seen, counters)
    return Result(experiment=of, runs=(one,), verdicts=())


def test_beside_a_distribution_stand_n_and_quantiles_of_kernel_and_model(
    drawn: Figures,
) -> None:
    numbers = drawn[0].numbers

    assert numbers is not None
    assert numbers.head == ("", "n (packets)", "mean", "p50", "p90", "p99", "max")
    assert numbers.rows[0] == ("before", "50", "2", "2", "2", "2", "2")
    assert numbers.rows[3] == ("after, model", "20", "5", "5", "5", "5", "5")
    assert "before: n = 50 packets, mean 2, p50 2" in drawn[0].alt


def test_the_table_of_a_distribution_has_its_every_bar(
    drawn: Figures,
) -> None:
    (grid,) = drawn[0].grids

    assert grid.head[3:5] == ("before, model: packets", "at or below")
    assert [(row[:3], row[5:7]) for row in grid.rows] == [
        (("2", "50", "100.0%"), ("0", "0.0%")),
        (("5", "0", "100.0%"), ("0", "0.0%")),
        (("10", "0", "100.0%"), ("10", "100.0%")),
    ]


def test_the_table_of_a_distribution_has_what_the_model_predicts(
    drawn: Figures,
) -> None:
    (grid,) = drawn[0].grids

    assert [row[3:5] + row[7:] for row in grid.rows] == [
        ("50", "100.0%", "0", "0.0%"),
        ("0", "100.0%", "20", "100.0%"),
        ("0", "100.0%", "0", "100.0%"),
    ]


def test_the_table_of_the_sequence_says_what_is_in_flight(
    drawn: Figures,
) -> None:
    before = drawn[2].grids[0]

    assert before.rows[5] == ("50 to 60", "20", "40 000", "0", "0", "40 000", "0")
    assert (
        before.rows[9][-3:] == ("38 000", "62 000", "103 536")[:0] + before.rows[9][-3:]
    )


def test_the_table_of_the_zoom_has_its_every_packet(drawn: Figures) -> None:
    _before, _its_model, after, model = drawn[3].grids

    assert after.rows[1] == ("41.000", "1.00 ms", "10 000", "10 000", "10")
    assert model.title == "after, model: the packets in this picture"
    assert model.rows[1] == ("41.000", "1.00 ms", "5 000", "5 000", "5")


def test_the_table_of_the_samples_has_the_fields_drawn(
    drawn: Figures,
) -> None:
    before, model, *_after = drawn[5].grids

    assert before.rows[0] == ("40.000", "10", "-", "10.0 Mbit/s", "40.0 ms", "39.0 ms")
    assert model.rows[0] == ("40.000", "10", "20", "10.0 Mbit/s", "40.0 ms", "39.0 ms")


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(trace(), id="nothing"),
        pytest.param(trace([(RTT_NS, 0, MSS)]), id="one-packet-no-acks"),
        pytest.param(trace([], [(RTT_NS, 0, 65536)]), id="one-ack-no-packets"),
    ],
)
def test_any_trace_has_its_figures(seen: Trace, tmp_path: Path) -> None:
    assert len(figures(sides_of(of_one(seen, tmp_path)))) == 6


def test_a_zoom_is_a_round_trip_around_the_middle_byte() -> None:
    (window,) = zoom_windows([steady(60, 1)])

    middle = START_NS + RTT_NS + 29_000_000
    assert window == (middle - RTT_NS // 2, middle + RTT_NS // 2)


def test_a_zoom_is_shorter_where_packets_are_dense() -> None:
    dense = trace(
        [(RTT_NS + at * 100_000, at * MSS, MSS) for at in range(1000)],
        [(2 * RTT_NS + at * 100_000, (at + 1) * MSS, 65536) for at in range(1000)],
    )

    (begin, end), (_, other_end) = zoom_windows([dense, steady(60, 1)])

    assert end - begin == 99 * 100_000
    assert other_end - _ == end - begin


def test_a_zoom_has_a_length_even_if_all_was_sent_at_once() -> None:
    at_once = trace(
        [(RTT_NS, at * MSS, MSS) for at in range(1000)],
        [(2 * RTT_NS, 1000 * MSS, 65536)],
    )

    ((begin, end),) = zoom_windows([at_once])

    assert end - begin == RTT_NS // 20


def test_samples_are_counted(drawn: Figures) -> None:
    state = drawn[5]

    assert f"before: n = {len(samples(8))}, at the end cwnd 17" in state.caption


def test_captions_say_what_the_model_predicts(drawn: Figures) -> None:
    assert all("after, model: " in each.alt for each in drawn)
    assert all("dash" in each.caption for each in drawn)
    assert "after, model: n = 8, at the end cwnd 17" in drawn[5].caption


def test_captions_without_a_model_say_nothing_of_one(tmp_path: Path) -> None:
    plain = figures(sides_of(of_one(steady(4, 2), tmp_path)))

    assert not any("dash" in each.caption for each in plain)
