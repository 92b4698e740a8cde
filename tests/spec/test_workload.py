"""Workloads: which are legal, and which flows they have."""

import pytest
from builders import a_workload

from testbed.errors import SpecError
from testbed.spec.workload import PORT, FlowGroup

PACED = FlowGroup(flows=2, congestion="dctcp", pacing_rate=80_000_000)
FREE = FlowGroup(flows=3, congestion="cubic", pacing_rate=None)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        pytest.param({"flows": 0}, "flows is from 1 to 4096", id="no-flow"),
        pytest.param({"stagger": -1}, "stagger is from 0", id="back-in-time"),
        pytest.param({"request_size": 1}, "and a response_size", id="no-answer"),
        pytest.param(
            {"request_size": 1, "response_size": 1},
            "go on for a duration",
            id="transactions-of-bytes",
        ),
        pytest.param(
            {"groups": (PACED, FREE)}, "groups say how many flows", id="count-differs"
        ),
        pytest.param({"bytes": None}, "either bytes or a duration", id="no-end"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(given, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        a_workload(**given)


def test_a_group_without_flows_is_refused() -> None:
    with pytest.raises(SpecError, match="flows is from 1"):
        FlowGroup(flows=0, congestion="cubic", pacing_rate=None)


def test_flows_that_are_alike_are_one_group() -> None:
    workload = a_workload(flows=3, pacing_rate=8000)

    assert workload.each_group() == (
        FlowGroup(flows=3, congestion="cubic", pacing_rate=8000),
    )


def test_the_first_flow_has_a_port_of_its_own_and_each_group_one() -> None:
    workload = a_workload(flows=5, groups=(PACED, FREE))

    assert workload.each_flow() == (
        (PACED, PORT),
        (PACED, PORT + 1),
        (FREE, PORT + 2),
        (FREE, PORT + 2),
        (FREE, PORT + 2),
    )


@pytest.mark.parametrize(
    ("given", "one"),
    [
        pytest.param({}, True, id="a-stream"),
        pytest.param({"flows": 2}, False, id="two-streams"),
        pytest.param(
            {
                "bytes": None,
                "duration": 10**9,
                "request_size": 1,
                "response_size": 1,
            },
            False,
            id="transactions",
        ),
    ],
)
def test_one_stream_is_told_from_the_rest(given, one) -> None:
    assert a_workload(**given).is_one_stream is one
