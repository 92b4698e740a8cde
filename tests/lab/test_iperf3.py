"""iperf3: its commands, and its JSON."""

import json
from itertools import pairwise
from typing import Any

import pytest
from builders import a_workload
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import InfrastructureError
from testbed.lab.iperf3 import clients, explain, parse, server
from testbed.spec.workload import Workload

SECOND = 1_000_000_000


def timed(**given: object) -> Workload:
    plain = {"bytes": None, "duration": SECOND, "send_size": 131_072}
    return a_workload(driver="iperf3", **plain | given)


def document(flows: int = 1) -> dict[str, Any]:
    """Return what 3.12 printed in a guest, less what nobody reads."""
    stream = {
        "sender": {
            "socket": 5,
            "seconds": 1.000071,
            "bytes": 5_683_400,
            "sender": True,
        },
        "receiver": {"socket": 5, "end": 1.003311, "bytes": 5_024_560},
    }
    return {
        "start": {"connected": [{"local_port": 5001 + at} for at in range(flows)]},
        "intervals": [],
        "end": {
            "streams": [stream] * flows,
            "sender_tcp_congestion": "cubic",
            "receiver_tcp_congestion": "cubic",
        },
    }


def put(value: object, *keys: Any) -> str:
    """Return the output with one value changed."""
    whole = document()
    inner: Any = whole
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return json.dumps(whole)


def test_the_server_stays_in_the_foreground() -> None:
    assert server(timed(family=6)) == ("iperf3", "--server", "-6")


def test_one_client_starts_all_flows_from_the_first_port_on() -> None:
    workload = timed(
        duration=20 * SECOND,
        flows=4,
        congestion="reno",
        pacing_rate=8000,
        sndbuf=9000,
        rcvbuf=9000,
    )

    ((after, argv),) = clients(workload, "10.0.2.2")

    told = dict(pairwise(argv))
    assert after == 0
    assert told["--client"] == "10.0.2.2"
    assert (told["--time"], told["--length"]) == ("20", "131072")
    assert (told["--congestion"], told["--parallel"]) == ("reno", "4")
    assert (told["--fq-rate"], told["--window"]) == ("8000", "9000")
    assert told["--cport"] == "5001"
    assert "-4" in argv
    assert "--json" in argv


def test_what_is_not_asked_for_is_not_said() -> None:
    ((_after, argv),) = clients(timed(), "10.0.2.2")

    assert not {"--fq-rate", "--window"} & set(argv)


def test_a_flow_is_what_the_peer_has_of_it() -> None:
    flows = parse(json.dumps(document(2)), timed(flows=2))

    assert [flow.bytes for flow in flows] == [5_024_560] * 2
    assert flows[0].carried == (5_024_560, 5_683_400 + 37)
    assert flows[0].elapsed_ns == 1_003_311_000
    assert flows[0].figures["sender.bytes"] == 5_683_400
    assert "sender.sender" not in flows[0].figures


STREAM = ("end", "streams", 0)


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        pytest.param("", "no JSON: .*nothing", id="nothing"),
        pytest.param('{"start":', "no JSON", id="cut-off"),
        pytest.param("[" * 100_000, "no JSON", id="deep"),
        pytest.param("[]", "nothing of start.connected", id="a-list"),
        pytest.param('{"start": {}, "error": "x"}', "of start.connected", id="empty"),
        pytest.param(put(3, "start", "connected"), "of start.connected", id="number"),
        pytest.param(put([], "start", "connected"), "of other flows", id="no-flow"),
        pytest.param(
            put([{"local_port": 9}], "start", "connected"), "other flows", id="port"
        ),
        pytest.param(put([], "end", "streams"), "of other flows", id="no-stream"),
        pytest.param(
            put("bbr", "end", "receiver_tcp_congestion"), "receiver had bbr", id="cc"
        ),
        pytest.param(put([7], "end", "streams"), "of receiver.end", id="no-mapping"),
        pytest.param(
            put(-1, *STREAM, "receiver", "bytes"), "bytes is -1", id="negative"
        ),
        pytest.param(put(1.5, *STREAM, "sender", "bytes"), "bytes is 1.5", id="half"),
        pytest.param(
            put(float("nan"), *STREAM, "receiver", "end"), "end is nan", id="nan"
        ),
        pytest.param(
            put(10**400, *STREAM, "receiver", "end"), "end is 1000", id="ages"
        ),
        pytest.param(put(0, *STREAM, "receiver", "end"), "end is 0", id="no-time"),
    ],
)
def test_odd_output_is_one_clear_error(output, complaint) -> None:
    with pytest.raises(InfrastructureError, match=f"iperf3 .*{complaint}"):
        parse(output, timed())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["end", "start", "streams"]), inner)
    ),
    max_leaves=8,
)


@given(
    JSON,
    st.sampled_from(
        [
            ("start",),
            ("start", "connected"),
            ("end",),
            ("end", "streams"),
            STREAM,
            (*STREAM, "sender"),
            (*STREAM, "receiver", "end"),
            (*STREAM, "sender", "bytes"),
            (*STREAM, "receiver"),
            (*STREAM, "receiver", "bytes"),
        ]
    ),
)
def test_any_value_anywhere_is_an_error_or_a_flow(value, keys) -> None:
    try:
        (flow,) = parse(put(value, *keys), timed())
    except InfrastructureError:
        return
    assert flow.bytes >= 0
    json.dumps(dict(flow.figures), allow_nan=False)


@given(st.integers(0, len(json.dumps(document())) - 1))
def test_output_that_is_cut_off_is_an_error(length: int) -> None:
    with pytest.raises(InfrastructureError, match="no JSON"):
        parse(json.dumps(document())[:length], timed())


def test_the_error_of_a_client_that_failed_is_told() -> None:
    assert explain('{"end": {}, "error": "no route"}') == "no route"
    assert explain("iperf3: bad option\n") == "iperf3: bad option"
    assert explain("") == "(it printed nothing)"
