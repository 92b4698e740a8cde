"""The data of the live picture, unpacked as picture.js does it."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report.builders import MSS, side, steady, trace

from testbed.report import live
from testbed.report.live import live_picture
from testbed.report.plots import Side
from testbed.trace.trace import Trace


def told(*sides: Side) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(live_picture(sides).text)["variants"]
    return found


def unpacked(voice: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return times and first bytes."""
    seq, expected = [], 0
    for gap, length in zip(voice["s"], voice["l"], strict=True):
        seq.append(expected + gap)
        expected = seq[-1] + length
    return np.cumsum(voice["t"]).tolist(), seq


def losing(count: int) -> Trace:
    """Return packets 1 us apart, each tenth one a repetition of the one before."""
    rows = [(at * 1000, (at - (at % 10 == 9)) * MSS, MSS) for at in range(count)]
    return trace(rows, [(count * 1000, count * MSS, 65536)])


def test_every_packet_and_ack_can_be_had_back() -> None:
    seen = losing(30)

    (variant,) = told(side(seen))

    times, seq = unpacked(variant["kernel"])
    assert times == (seen.time_ns - seen.start_ns).tolist()
    assert seq == seen.seq.tolist()
    assert np.cumsum(variant["kernel"]["aa"]).tolist() == seen.ack.tolist()
    assert variant["kernel"]["a"] == [9, 19, 29]
    assert variant["kernel"]["i"] is None


def test_what_the_model_has_as_the_kernel_has_it_is_not_written_twice() -> None:
    seen = steady(5, 2)
    later = replace(seen, time_ns=seen.time_ns + 1)

    (variant,) = told(side(seen, model=side(later, name="before, model")))

    assert list(variant["model"]) == ["t"]


def test_of_too_many_packets_the_ends_the_largest_and_those_sent_again_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "MOST_DRAWN", 99)
    monkeypatch.setattr(live, "SLICES", 2)
    seen = losing(100)
    seen.length[70] = 2 * MSS  # so that #71 brings nothing new

    picture = live_picture([side(seen)])

    (variant,) = json.loads(picture.text)["variants"]
    rows = np.cumsum(variant["kernel"]["i"]).tolist()
    assert rows == [0, *range(9, 50, 10), 50, 59, 69, 70, 71, 79, 89, 99]
    assert variant["kernel"]["n"] == 100
    assert picture.thinned == ("before: 14 of 100 packets",)


def test_a_cause_is_told_by_its_place_and_unknown_without_the_kernels_account() -> None:
    seen = steady(2, 1)
    known = replace(side(seen), causes=np.array([2, -1]))

    assert [each["kernel"]["c"] for each in told(known, side(seen))] == [[2, -1], None]


def test_a_name_does_not_end_the_script_that_holds_it() -> None:
    hostile = "</script><script>alert(1)</script>"

    picture = live_picture([side(steady(1, 1), name=hostile)])

    assert "<" not in picture.text
    assert json.loads(picture.text)["variants"][0]["name"] == hostile
