"""The probe's packets, over the loopback: no root, no namespace, real sockets."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from testbed.errors import InfrastructureError
from testbed.lab.fidelity import EXACT, REAL, Train, Way
from testbed.lab.probe import _SO_TIMESTAMPNS, Sockets, queue_shown, see_way

TRAIN = Train(lead=2, packets=3, segments=4, payload=1000, gap_ns=1000, refill_ns=1000)
WAY = Way(
    name="the receiver",
    delay_ns=1000,
    serial_ns=0,
    rate=10**9,
    loss=0,
    train=TRAIN,
)


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    """Return the sockets of a way that is the loopback."""
    with ExitStack() as stack:

        def pair() -> tuple[socket.socket, socket.socket]:
            two = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(2)]
            for sock in two:
                stack.enter_context(sock)
                sock.bind(("127.0.0.1", 0))
                sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            two[0].connect(two[1].getsockname())
            two[1].connect(two[0].getsockname())
            return two[0], two[1]

        (start, from_start), (router, from_router) = pair(), pair()
        alone = pair()
        yield Sockets(
            start=start,
            router=router,
            from_start=from_start,
            from_router=from_router,
            alone=alone,
        )


def test_a_delay_and_a_train_are_seen(sockets) -> None:
    seen = see_way(WAY, sockets, EXACT)

    assert seen.delay_ns is not None
    assert 0 < seen.delay_ns < 100_000_000
    assert seen.packets == 3
    assert seen.spread_ns is not None
    assert 0 < seen.spread_ns < 100_000_000


def test_what_a_train_takes_alone_is_seen_where_work_takes_time(sockets) -> None:
    exact, real = (see_way(WAY, sockets, bounds) for bounds in (EXACT, REAL))

    assert exact.own_ns == 0
    assert 0 < real.own_ns < 100_000_000


def test_a_way_without_a_train_has_a_delay_alone(sockets) -> None:
    way = Way(name="x", delay_ns=1, serial_ns=0, rate=1, loss=0, train=None)

    seen = see_way(way, sockets, EXACT)

    assert seen.delay_ns is not None
    assert (seen.spread_ns, seen.packets) == (None, 0)


def test_of_a_dead_way_nothing_is_seen(sockets) -> None:
    sockets.start.connect(("127.0.0.1", 9))  # nobody hears

    seen = see_way(WAY, sockets, EXACT)

    assert (seen.delay_ns, seen.spread_ns, seen.packets) == (None, None, 0)


@dataclass
class Router:
    """Answers as tc does."""

    qdiscs: list[dict]

    def run(self, *argv: str) -> str:
        if argv[0] == "ip":
            return '[{"dst": "10.0.2.2", "dev": "r-eth1"}]'
        assert argv[-1] == "r-eth1"
        return json.dumps(self.qdiscs)


def network(*qdiscs: dict) -> SimpleNamespace:
    return SimpleNamespace(router=Router(list(qdiscs)), address=lambda _: "10.0.2.2")


NETEM = {"kind": "netem", "options": {"limit": 1000}}


@pytest.mark.parametrize(
    ("qdiscs", "limit"),
    [
        pytest.param([NETEM], 1000, id="netem"),
        pytest.param(
            [
                NETEM,
                {"kind": "htb", "options": {}},
                {"kind": "pfifo", "options": {"limit": 100}},
            ],
            100,
            id="pfifo-below-htb-below-netem",
        ),
        pytest.param([{"kind": "tbf", "options": {"limit": 150_000}}], 100, id="tbf"),
    ],
)
def test_the_queue_is_the_limit_that_tc_shows(qdiscs, limit) -> None:
    assert queue_shown(network(*qdiscs), limit, 1500) == limit
    assert queue_shown(network(*qdiscs), 7, 1500) == limit


def test_a_path_without_any_limit_has_no_queue() -> None:
    with pytest.raises(InfrastructureError, match="r-eth1 has no limit"):
        queue_shown(network({"kind": "noqueue"}), 100, 1500)
