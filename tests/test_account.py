"""A driver's account, and the capture that tells whether it is true."""

import numpy as np
import pytest
from builders import a_workload

from testbed.account import check_carried
from testbed.errors import InfrastructureError
from testbed.trace.trace import Flow, Trace

TWO = a_workload(driver="netperf", flows=2)


def a_trace(dport: int, *packets: tuple[int, int]) -> Trace:
    """Return a flow's packets, each a sequence number and a length."""
    nothing = np.zeros(0, np.int64)
    return Trace(
        flow=Flow("10.0.1.2", 40_000, "10.0.2.2", dport),
        mss=1448,
        time_ns=np.arange(len(packets)),
        seq=np.array([seq for seq, _length in packets], np.int64),
        length=np.array([length for _seq, length in packets], np.int64),
        ack_time_ns=nothing,
        ack=nothing,
        ack_window=nothing,
    )


FIRST = a_trace(5001, (0, 1000), (1000, 500), (0, 1000))  # the last sent again
SECOND = a_trace(5002, (0, 700))


def flows(*carried: tuple[int, int]) -> list[dict[str, list[int]]]:
    return [{"carried": list(each)} for each in carried]


def test_an_account_that_agrees_with_the_capture_is_taken() -> None:
    check_carried(flows((1500, 1500), (600, 800)), [SECOND, FIRST], TWO)


@pytest.mark.parametrize(
    ("carried", "complaint"),
    [
        pytest.param((1501, 2000), "port 5001 carried 1501 to 2000", id="too-much"),
        pytest.param((0, 1499), "the capture has 1500", id="too-little"),
    ],
)
def test_one_that_does_not_voids_the_run(carried, complaint) -> None:
    with pytest.raises(InfrastructureError, match=complaint):
        check_carried(flows(carried, (700, 700)), [FIRST, SECOND], TWO)


def test_a_flow_that_was_not_captured_carried_nothing() -> None:
    with pytest.raises(InfrastructureError, match="the capture has 0"):
        check_carried(flows((1500, 1500), (700, 700)), [FIRST], TWO)


def test_our_own_account_makes_no_such_statement() -> None:
    check_carried([{"bytes": 3}], [], a_workload())
