"""Predictions: their figures, how they fit a trace, and what is not reached."""

from dataclasses import replace

import numpy as np
import pytest
from builders import a_variant, a_workload

from testbed.predicted import Unreached, predict, predict_or_say
from testbed.trace.trace import Trace

VARIANT = a_variant("before")
UNKNOWN = a_variant("unknown", workload=a_workload(congestion="vegas"))


def with_length(trace: Trace, index: int, length: int) -> Trace:
    lengths = np.array(trace.length)
    lengths[index] = length
    return replace(trace, length=lengths)


@pytest.mark.parametrize(
    ("metric", "on", "value"),
    [
        pytest.param("tso_size", "sender", 1000.0, id="metric"),
        pytest.param("TcpOutSegs", "sender", 5.0, id="counter"),
        pytest.param("TcpOutSegs", "receiver", 3.0, id="the-other-host"),
        pytest.param("TcpRetransSegs", "sender", None, id="unknown-counter"),
    ],
)
def test_a_prediction_has_the_figures_a_run_has(metric, on, value) -> None:
    assert predict(VARIANT).value(metric, on) == value


def test_a_prediction_held_against_itself_matches() -> None:
    same = predict(VARIANT, predict(VARIANT).trace)

    assert same.match is not None
    assert same.match.match == 1.0
    assert same.at_divergence is None


def test_a_prediction_held_against_nothing_has_no_match() -> None:
    assert predict(VARIANT).match is None


def test_the_models_sender_is_shown_where_it_first_differs() -> None:
    other = with_length(predict(VARIANT).trace, 0, 999)

    held = predict(VARIANT, other)

    assert held.at_divergence is not None
    assert held.at_divergence["snd_cwnd"] == 10


def test_a_model_that_sends_no_more_has_no_state_to_show() -> None:
    trace = predict(VARIANT).trace
    longer = replace(
        trace,
        time_ns=np.append(trace.time_ns, trace.time_ns[-1:] + 1),
        seq=np.append(trace.seq, 1000),
        length=np.append(trace.length, 1),
    )

    held = predict(VARIANT, longer)

    assert held.match is not None
    assert held.match.first_divergence is not None
    assert held.at_divergence is None


def test_what_the_model_does_not_reach_is_said() -> None:
    trace = predict(VARIANT).trace

    said = predict_or_say(UNKNOWN, trace)

    assert said == Unreached(
        variant="unknown",
        why="the model does not reach the congestion control vegas",
    )
    assert said.value("TcpOutSegs", "sender") is None
