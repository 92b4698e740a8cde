from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from report.builders import MSS, RTT_NS, START_NS, samples, side, steady, trace

from testbed.report import plots
from testbed.report.plots import Side
from testbed.trace.metrics import tso_segs
from testbed.trace.trace import Trace

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<b>&\"' --> $x^{$ ünïcödé 漢"
WINDOW = (RTT_NS, 2 * RTT_NS)
Draw = Callable[[Sequence[Side]], str]


def draw_sizes(sides: Sequence[Side]) -> str:
    return plots.distribution("d", sides, tso_segs, event="packet", quantity="segments")


def draw_zoom(sides: Sequence[Side]) -> str:
    start = sides[0].trace.start_ns
    windows = [(start + WINDOW[0], start + WINDOW[1])] * len(sides)
    return plots.sequence_zoom("z", sides, windows)


def draw_sizes_over_time(sides: Sequence[Side]) -> str:
    return plots.tso_over_time("t", sides)


def draw_sequence(sides: Sequence[Side]) -> str:
    return plots.sequence("s", sides)


def draw_state(sides: Sequence[Side]) -> str:
    return plots.sender_state("i", sides)


EVERY = [
    pytest.param(draw_sizes, id="distribution"),
    pytest.param(draw_sizes_over_time, id="tso-over-time"),
    pytest.param(draw_sequence, id="sequence"),
    pytest.param(draw_zoom, id="zoom"),
    pytest.param(draw_state, id="sender-state"),
]
each_plot = pytest.mark.parametrize("draw", EVERY)


def texts(svg: str) -> list[str]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")  # noqa: S314  # our own
    return ["".join(each.itertext()) for each in found]


@cache
def drawn(draw: Draw) -> str:
    return draw(two_sides())


def two_sides() -> tuple[Side, Side]:
    model = Side(name="m", place=1, trace=steady(20, 5), tcp_info=samples(5, 32))
    later = Side(
        name="after",
        place=1,
        trace=steady(10, 10),
        tcp_info=samples(5, 64),
        model=model,
    )
    return side(steady(50, 2), tcp_info=samples(5)), later


@each_plot
def test_the_same_numbers_give_the_same_picture(draw: Draw) -> None:
    assert draw(two_sides()) == drawn(draw)


@pytest.mark.parametrize(
    ("draw", "labels"),
    [
        pytest.param(
            draw_sizes,
            ["segments per packet", "packets (log scale)", "packets at or below (%)"],
            id="distribution",
        ),
        pytest.param(
            draw_sizes_over_time,
            ["segments per packet", "time since connect (ms)", "before", "after"],
            id="tso-over-time",
        ),
        pytest.param(
            draw_sequence,
            ["time since connect (ms)", "acknowledged", "window edge", "data packet"],
            id="sequence",
        ),
        pytest.param(
            draw_zoom,
            ["time since connect (ms)", "data packet", "an ACK comes in"],
            id="zoom",
        ),
        pytest.param(
            draw_state,
            ["window (segments)", "pacing rate (Mbit/s)", "round-trip time (ms)"],
            id="sender-state",
        ),
    ],
)
def test_axes_and_lines_are_labelled(draw: Draw, labels: list[str]) -> None:
    assert set(labels) <= set(texts(drawn(draw)))


@each_plot
@pytest.mark.parametrize(
    "of",
    [
        pytest.param([trace()], id="nothing"),
        pytest.param(
            [
                trace([(RTT_NS, 0, MSS)]),
                trace([], [(RTT_NS, 0, 65536)]),
                trace([(0, 0, 7), (0, 0, 7)]),
            ],
            id="a-packet-or-an-ack-or-all-at-once",
        ),
    ],
)
def test_any_traces_can_be_drawn(draw: Draw, of: list[Trace]) -> None:
    svg = draw([side(each) for each in of])

    assert ElementTree.fromstring(svg).tag == f"{SVG}svg"  # noqa: S314


@each_plot
@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # a font that lacks some
def test_any_name_is_drawn_as_it_is(draw: Draw) -> None:
    one = side(steady(4, 2), name=HOSTILE, tcp_info=samples(3))

    assert HOSTILE in "\n".join(texts(draw([one])))


def test_a_picture_of_very_many_packets_is_of_bounded_size() -> None:
    assert len(draw_sequence([side(steady(30_000, 1))])) < 1_000_000


def test_ids_and_references_begin_with_the_name_of_the_picture() -> None:
    svg = drawn(draw_sequence)

    assert svg.count(' id="') == svg.count(' id="s-')
    assert svg.count("url(#") == svg.count("url(#s-")


def test_a_packet_sent_again_is_told_apart() -> None:
    again = trace([(1, 0, MSS), (2, MSS, MSS), (3, 0, MSS)])

    assert "sent again" in texts(draw_sequence([side(again)]))


def test_ssthresh_is_drawn_once_it_is_set() -> None:
    assert "ssthresh" not in texts(
        draw_state([side(steady(2, 2), tcp_info=samples(4))])
    )
    assert "ssthresh" in texts(
        draw_state([side(steady(2, 2), tcp_info=samples(4, ssthresh=20))])
    )


def test_a_zoom_names_only_the_lines_that_pass_through_it() -> None:
    beyond = trace(
        [(RTT_NS + at, at * MSS, MSS) for at in range(10)],
        [(RTT_NS, -1, 10**9)],
    )

    assert "window edge" not in texts(draw_zoom([side(beyond)]))


def test_a_variant_keeps_its_colour_without_the_others() -> None:
    first, second = two_sides()

    assert first.colour != second.colour
    assert second.colour in draw_sizes([second])


def test_a_histogram_counts_every_sample() -> None:
    sizes = np.array([1, 2, 2, 300], np.int64)

    svg = plots.distribution(
        "d", [side(trace())], lambda _: sizes, event="ACK", quantity="segments"
    )

    assert "before (n = 4)" in texts(svg)


@each_plot
def test_a_model_is_drawn_in_dashes_and_the_legend_says_so(draw: Draw) -> None:
    _before, after = two_sides()
    alone = draw([replace(after, model=None)])
    both = draw([after])

    assert "model" not in texts(alone)
    assert "model" in texts(both)
    assert after.shade not in alone
    assert after.shade in both


DASHED = [each for each in EVERY if each.id != "tso-over-time"]  # its marks are dashes


@pytest.mark.parametrize("draw", DASHED)
def test_only_what_a_model_predicts_is_dashed(draw: Draw) -> None:
    _before, after = two_sides()

    assert "stroke-dasharray" not in draw([replace(after, model=None)])
    assert "stroke-dasharray" in draw([after])


@pytest.mark.parametrize("place", range(4))
def test_dashes_stand_out_from_the_line_below_and_from_paper(place: int) -> None:
    one = Side(name="", place=place, trace=trace(), tcp_info=())

    assert contrast(one.shade, one.colour) > 2.5
    assert contrast(one.shade, "#ffffff") > 2.5


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize(
    ("ahead", "shown"),
    [pytest.param(70, {"100"}, id="near"), pytest.param(500, set(), id="far")],
)
def test_a_zoom_shows_the_models_packets_too_if_they_are_near(
    ahead: int, shown: set[str]
) -> None:
    seen = steady(60, 1)
    model = side(replace(seen, seq=seen.seq + ahead * MSS))

    labels = texts(draw_zoom([side(seen, model=model)]))

    assert {"100"} & set(labels) == shown


def test_the_same_time_since_connect_is_another_time_on_another_clock() -> None:
    later = replace(trace(), syn_time_ns=START_NS + 7)

    assert plots.shifted((10, 20), side(trace()), side(later)) == (17, 27)
