"""Drivers: what each is asked for, and what it is not."""

import pytest
from builders import a_workload

from testbed.errors import SpecError
from testbed.spec.workload import PORT, FlowGroup, Workload

SECOND = 1_000_000_000
PACED = FlowGroup(flows=2, congestion="reno", pacing_rate=80_000_000)
FREE = FlowGroup(flows=1, congestion="cubic", pacing_rate=None)
TIMED = {"bytes": None, "duration": SECOND}
ASKING = {**TIMED, "request_size": 1, "response_size": 1}


def driven(driver: str, **given: object) -> Workload:
    return a_workload(driver=driver, **given)


@pytest.mark.parametrize(
    ("driver", "given", "complaint"),
    [
        pytest.param("iperf", {}, "no 'iperf'; there are: testbed, iperf3", id="name"),
        pytest.param("iperf3", {}, "give a duration, not bytes", id="iperf3-bytes"),
        pytest.param(
            "iperf3", {**TIMED, "duration": SECOND // 2}, "whole seconds", id="half"
        ),
        pytest.param("iperf3", ASKING, "leave request_size out", id="iperf3-asks"),
        pytest.param(
            "iperf3",
            {**TIMED, "groups": (PACED, FREE), "flows": 3},
            "leave groups out",
            id="iperf3-groups",
        ),
        pytest.param(
            "iperf3", {**TIMED, "stagger": 1}, "leave stagger out", id="iperf3-stagger"
        ),
        pytest.param("iperf3", {**TIMED, "flows": 129}, "128 flows", id="iperf3-flows"),
        pytest.param(
            "iperf3",
            {**TIMED, "send_size": (1 << 20) + 1},
            "send_size of 1048576 bytes",
            id="iperf3-block",
        ),
        pytest.param(
            "iperf3", {**TIMED, "sndbuf": 9000}, "the same size", id="iperf3-buffers"
        ),
        pytest.param(
            "iperf3",
            {**TIMED, "pacing_rate": 10**12},
            "bit/s at most",
            id="iperf3-rate",
        ),
        pytest.param(
            "netperf", {**TIMED, "duration": 1}, "whole seconds", id="netperf-half"
        ),
        pytest.param(
            "netperf", {"send_size": 300}, "a multiple of send_size", id="netperf-bytes"
        ),
        pytest.param(
            "netperf", {"pacing_rate": 8000}, "cannot pace", id="netperf-pacing"
        ),
        pytest.param(
            "netperf", {"groups": (PACED, FREE), "flows": 3}, "cannot pace", id="group"
        ),
    ],
)
def test_what_a_driver_cannot_do_is_refused(driver, given, complaint) -> None:
    with pytest.raises(SpecError, match=f"driver: .*{complaint}"):
        driven(driver, **given)


@pytest.mark.parametrize(
    ("driver", "given"),
    [
        pytest.param("iperf3", TIMED, id="iperf3"),
        pytest.param(
            "iperf3",
            {**TIMED, "flows": 128, "pacing_rate": 10**10, "send_size": 1 << 20},
            id="iperf3-at-its-bounds",
        ),
        pytest.param(
            "iperf3", {**TIMED, "sndbuf": 9000, "rcvbuf": 9000}, id="iperf3-buffers"
        ),
        pytest.param("netperf", {"bytes": 2000, "rcvbuf": 9000}, id="netperf-bytes"),
        pytest.param(
            "netperf", {**TIMED, "flows": 9, "stagger": 5}, id="netperf-flows"
        ),
        pytest.param("netperf", ASKING, id="netperf-asks"),
        pytest.param("netperf", {"groups": (FREE, FREE), "flows": 2}, id="groups"),
    ],
)
def test_what_it_can_do_is_not(driver, given) -> None:
    assert driven(driver, **given).driver == driver


def test_each_flow_of_a_driver_is_known_by_a_port_of_its_own() -> None:
    workload = driven("netperf", flows=3)

    assert [port for _group, port in workload.each_flow()] == [PORT, PORT + 1, PORT + 2]


def test_iperf3s_flows_are_known_by_their_own_ports() -> None:
    assert driven("iperf3", **TIMED).known_by == "sport"
    assert driven("netperf").known_by == "dport"
    assert driven("testbed").known_by == "dport"
