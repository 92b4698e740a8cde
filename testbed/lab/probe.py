"""The path measured before the traffic: one process with a socket in each namespace.

Its packets are UDP between connected sockets, so that nobody answers, no TCP state is
touched and no neighbour is asked for. Delays are those of packets from end to end.
Trains start at the router, at whose ports the path is: a sender's own qdisc may pace,
and its device may be slow. When the last packet has come and buckets are full again,
nothing is left of it.

Read first: measure_path.
"""

import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from testbed.errors import InfrastructureError
from testbed.lab.child import child_on, enter_network
from testbed.lab.fidelity import SMALL, Asked, Bounds, Seen, Train, Way, WaySeen
from testbed.lab.net import Host, Network

_PORT = 9  # discard
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_UDP_SEGMENT, _UDP_GRO = 103, 104  # linux/udp.h
_LOOPBACK = "127.0.0.1"
_BUFFER = 256 << 20
_TIMESPEC = struct.Struct("=qq")
_INDEX = struct.Struct("!I")
_NS = 1_000_000_000
_TRIES = 5  # as many probes as are wanted, where some are lost
_OVER = 16  # packets more than fit into a queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """One way's connected sockets: of the host it starts at, the router, and its end.

    The end's are two: for what the first host sends, and what the router sends.  alone:
    two sockets on the router's loopback.
    """

    start: socket.socket
    router: socket.socket
    from_start: socket.socket
    from_router: socket.socket
    alone: tuple[socket.socket, socket.socket]


def measure_path(network: Network, asked: Asked, bounds: Bounds) -> Seen:
    """Send packets over the path both ways, and return what was seen."""

    def work(pipe: Connection) -> None:
        with _sockets(network) as (there, back):
            pipe.send(
                Seen(
                    there=see_way(asked.there, there, bounds),
                    back=see_way(asked.back, back, bounds),
                    held=_overflow(asked, there) if asked.overflows else None,
                )
            )

    with child_on(network.router, "the path's probe", work) as child:
        seen: Seen = child.hear()
    return seen


@contextmanager
def _sockets(network: Network) -> Iterator[tuple[Sockets, Sockets]]:
    """Open the sockets both ways."""
    receiver, port = network.address(4), _PORT
    with ExitStack() as stack:

        def join(
            host: Host, to: str, number: int, peer: int | None = None
        ) -> socket.socket:
            enter_network(host.pid)
            sock = stack.enter_context(_socket())
            sock.bind(("", number))
            try:
                sock.connect((to, peer or number))
            except OSError as error:
                told = f"{host.name} cannot reach {to}: {error.strerror}"
                raise InfrastructureError(told) from error
            return sock

        near = join(network.sender, receiver, port)
        sender = near.getsockname()[0]
        far = join(network.receiver, sender, port)
        there = join(network.router, receiver, port + 1)
        back = join(network.router, sender, port + 2)
        end = join(network.receiver, there.getsockname()[0], port + 1)
        begin = join(network.sender, back.getsockname()[0], port + 2)
        one = join(network.router, _LOOPBACK, port + 3, port + 4)
        alone = (one, join(network.router, _LOOPBACK, port + 4, port + 3))
        yield (
            Sockets(
                start=near, router=there, from_start=far, from_router=end, alone=alone
            ),
            Sockets(
                start=far, router=back, from_start=near, from_router=begin, alone=alone
            ),
        )


def _socket() -> socket.socket:
    """Return one that has room for a train, and is told when packets came."""
    sock = socket.socket(type=socket.SOCK_DGRAM)
    for name, value in (
        (_SO_SNDBUFFORCE, _BUFFER),
        (_SO_RCVBUFFORCE, _BUFFER),
        (_SO_TIMESTAMPNS, 1),
    ):
        sock.setsockopt(socket.SOL_SOCKET, name, value)
    # A packet is handed over whole: to cut it up would be most of its work.
    sock.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)
    return sock


def see_way(way: Way, sockets: Sockets, bounds: Bounds) -> WaySeen:
    """Return what is seen of one way."""
    wait_ns = way.delay_ns + bounds.patience_ns
    delay_ns = _delay(way, sockets, bounds.probes, wait_ns)
    if way.train is None or delay_ns is None:
        return WaySeen(delay_ns=delay_ns, spread_ns=None, packets=0)
    seen = [_see_train(way, way.train, sockets, delay_ns) for _ in range(bounds.trains)]
    gap_ns = way.train.gap_ns
    known = [each for each in seen if each.spread_ns is not None]
    best = min(known or seen, key=lambda each: each.off_by(gap_ns) or 0)
    if bounds.tight:
        return best
    alone = _run_train(way.train, 0, *sockets.alone, wait_ns)
    return replace(best, own_ns=alone[-1] - alone[0] if alone else 0)


def _see_train(way: Way, train: Train, sockets: Sockets, delay_ns: int) -> WaySeen:
    ends = (sockets.router, sockets.from_router)
    times = _run_train(train, way.loss, *ends, delay_ns + _NS // 10)[train.lead :]
    time.sleep(train.refill_ns / _NS)
    spread_ns = times[-1] - times[0] if len(times) > 1 else None
    return WaySeen(delay_ns=delay_ns, spread_ns=spread_ns, packets=len(times))


def _delay(way: Way, sockets: Sockets, probes: int, wait_ns: int) -> int | None:
    """Return the least delay of so many packets; None if they do not arrive."""
    least = None
    seen = 0
    tries = round(probes * _TRIES / (1 - way.loss)) if way.loss else probes
    sockets.start.settimeout(None)  # for a timeout it would read the clock: 768 ns
    for index in range(tries):
        begin_ns = time.time_ns()
        sockets.start.send(_INDEX.pack(index).ljust(SMALL, b"\0"))
        arrived = dict(_arrivals(sockets.from_start, 1, wait_ns))
        if index in arrived:
            seen += 1
            delay_ns = arrived[index] - begin_ns
            least = delay_ns if least is None else min(least, delay_ns)
        elif not way.loss:
            return None
        if seen == probes:
            break
    return least


def _run_train(
    train: Train, loss: float, start: socket.socket, end: socket.socket, wait_ns: int
) -> list[int]:
    """Send a train; return when each of its packets came, in order."""
    packets = round((train.lead + train.packets) / (1 - loss))
    options = [(socket.IPPROTO_UDP, _UDP_SEGMENT, struct.pack("=H", train.payload))]
    for index in range(packets):
        segment = _INDEX.pack(index).ljust(train.payload, b"\0")
        start.sendmsg([segment * train.segments], options)
        # In virtual time a clock read takes time: one leaves netem before the next, and
        # does not fill the queue below it.
        time.time_ns()
    # Where a kernel hands it over in parts, each part has its index: the last counts.
    parts = packets * train.segments
    times = dict(_arrivals(end, parts, wait_ns + packets * train.gap_ns, packets))
    return [times[index] for index in sorted(times)]


def _overflow(asked: Asked, sockets: Sockets) -> int:
    """Send more small packets at once than the queue is to hold; return how many came.

    They leave it after the path's delay, or one after the other at its rate: all are
    there before.
    """
    packets = asked.queue + _OVER
    for index in range(packets):
        sockets.router.send(_INDEX.pack(index).ljust(SMALL, b"\0"))
    wait_ns = asked.there.delay_ns + packets * asked.there.serial_ns + _NS // 10
    return sum(1 for _each in _arrivals(sockets.from_router, packets, wait_ns))


def _arrivals(
    sock: socket.socket, packets: int, wait_ns: int, enough: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the index and arrival of so many packets; stop after none for wait_ns.

    enough: stop once so many whole packets of UDP_GRO have come.
    """
    sock.settimeout(wait_ns / _NS)
    whole = 0
    for _ in range(packets):
        try:
            data, told, _flags, _from = sock.recvmsg(_INDEX.size, 128)
        except TimeoutError:
            return
        yield _INDEX.unpack(data)[0], _stamp(told)
        whole += any(kind == _UDP_GRO for _level, kind, _data in told)
        if whole == enough:
            return


def _stamp(told: list[tuple[int, int, bytes]]) -> int:
    """Return when the kernel had the packet, by CLOCK_REALTIME."""
    for level, kind, data in told:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, ns = _TIMESPEC.unpack_from(data)
            return int(seconds * _NS + ns)
    raise InfrastructureError("the kernel does not say when a packet came")


def queue_shown(network: Network, asked: int, mtu: int) -> int:
    """Return the limit, in packets, that tc shows towards the receiver.

    Where several qdiscs there have one: the one asked for, or else the smallest.  mtu:
    tbf counts its limit in bytes, as so many packets of the MTU.
    """
    router = network.router
    route = json.loads(router.run("ip", "-j", "route", "get", network.address(4)))
    device = route[0]["dev"]
    shown = json.loads(router.run("tc", "-r", "-j", "qdisc", "show", "dev", device))
    limits = [
        each["options"]["limit"] // (mtu if each["kind"] == "tbf" else 1)
        for each in shown
        if "limit" in each.get("options", {})
    ]
    if not limits:
        raise InfrastructureError(f"the router's {device} has no limit to its queue")
    return int(asked if asked in limits else min(limits))
