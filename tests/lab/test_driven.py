"""Flows that another program drives, looked at from outside; here they are our own."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from builders import a_workload

from testbed.errors import InfrastructureError, NotApplied
from testbed.lab import driven
from testbed.lab.sock_diag import DiagSocket
from testbed.lab.told import ToldFlow
from testbed.process import Finished

SECOND = 1_000_000_000
SOCK = DiagSocket(
    state=1,
    sport=40_000,
    dport=5001,
    congestion="cubic",
    sndbuf=18_000,
    rcvbuf=131_072,
    tcp_info=bytes(112) + (1000).to_bytes(8, "little") + bytes(100),
)
PACED = a_workload(
    driver="iperf3",
    bytes=None,
    duration=SECOND,
    pacing_rate=8000,
    sndbuf=9000,
    rcvbuf=9000,
)
STREAM = ToldFlow(bytes=900, carried=(900, 937), elapsed_ns=SECOND, figures={"x": 1})


def seen(sock: DiagSocket = SOCK) -> dict[int, driven._Seen]:
    return {0: driven._Seen(since_ns=5, sock=sock)}


@contextmanager
def a_connection() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()) as client:
            yield client


def test_a_flow_is_looked_at_until_it_is_as_wanted() -> None:
    looks: list[int] = []
    with a_connection() as client:
        ports = ("sport", (client.getsockname()[1],))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")

        def over() -> bool:
            looks.append(1)
            if len(looks) == 3:  # a program that sets it late
                wanted = a_workload().congestion.encode()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted)
            return len(looks) > 50

        found = driven._watch(a_workload(), ports, driven._wanted_of_sender, until=over)

    assert 3 <= len(looks) <= 5
    assert found[0].sock.congestion == "cubic"


def test_flows_that_never_come_are_not_waited_for_beyond_the_end() -> None:
    left = iter([False, False, True])

    found = driven._watch(
        *(a_workload(), ("sport", (1,)), driven._wanted_of_sender),
        until=lambda: next(left),
    )

    assert found == {}


def test_tcp_info_is_read_of_connected_flows() -> None:
    with a_connection() as client:
        ports = ("sport", (1, client.getsockname()[1]))

        ((flow, info),) = driven._reading(4, ports)()

    assert flow == 1
    assert info["snd_cwnd"] >= 1


def test_a_socket_as_it_was_asked_for_is_taken() -> None:
    driven._check(seen(), PACED, driven._wanted_of_sender)
    receiver = replace(SOCK, rcvbuf=18_000)
    driven._check(seen(receiver), PACED, driven._wanted_of_receiver)


@pytest.mark.parametrize(
    ("sock", "complaint"),
    [
        pytest.param(replace(SOCK, congestion="bbr"), "control: asked for", id="cc"),
        pytest.param(replace(SOCK, sndbuf=9000), "send buffer: asked", id="sndbuf"),
        pytest.param(replace(SOCK, tcp_info=bytes(200)), "PACING_RATE", id="pacing"),
    ],
)
def test_what_did_not_take_is_told(sock, complaint) -> None:
    with pytest.raises(NotApplied, match=f"iperf3: .*{complaint}"):
        driven._check(seen(sock), PACED, driven._wanted_of_sender)


def test_a_receiver_that_was_given_another_buffer_is_told() -> None:
    with pytest.raises(NotApplied, match="receive buffer: asked for 18000"):
        driven._check(seen(), PACED, driven._wanted_of_receiver)


def test_what_nobody_saw_cannot_be_vouched_for() -> None:
    with pytest.raises(InfrastructureError, match="flow 1 was over before anybody"):
        driven._check({}, PACED, driven._wanted_of_sender)


def test_the_account_has_the_tools_figures_and_when_the_flow_began() -> None:
    account = driven._account([STREAM], seen(), PACED)

    assert account == {
        "bytes": 900,
        "begin_ns": 5,
        "end_ns": 5 + SECOND,
        "driver": "iperf3",
        "flows": [
            {
                "bytes": 900,
                "port": 40_000,
                "begin_ns": 5,
                "end_ns": 5 + SECOND,
                "carried": [900, 937],
                "told": {"x": 1},
            }
        ],
    }


def test_a_flows_latencies_are_told_and_those_of_many_are_not() -> None:
    asking = replace(STREAM, transactions=9, latency={"mean": 70.0})
    both = {**seen(), 1: seen()[0]}

    one = driven._account([asking], seen(), PACED)
    two = driven._account([asking] * 2, both, PACED)

    assert one["latency_told"] == {"mean": 70.0, "n": 9}
    assert one["flows"][0]["transactions"] == 9
    assert "latency_told" not in two


def test_a_client_that_failed_is_told_with_its_own_words() -> None:
    failed = Finished(argv=("iperf3", "-c"), status=1, output='{"error": "no route"}')

    with pytest.raises(InfrastructureError, match="`iperf3 -c` exited with 1: no rou"):
        driven._output(failed, driven.TOOLS["iperf3"])


def test_a_server_that_ends_at_once_is_told() -> None:
    failing = (sys.executable, "-c", "raise SystemExit(3)")

    with (
        driven._serving(failing) as server,
        pytest.raises(InfrastructureError, match="no server: .* exited with 3"),
    ):
        driven._await_listener(4, 1, server)


def test_a_server_is_ended_with_its_block() -> None:
    code = (
        "import socket, time\n"
        "s = socket.socket()\n"
        "s.bind(('127.0.0.1', 0))\n"
        "s.listen()\n"
        "time.sleep(60)\n"
    )

    with driven._serving((sys.executable, "-c", code)) as server:
        assert not server.done()

    assert server.result().status == -9
