"""The two ends of a stream, with netperf's meaning of its options.

The sender blocks in send(), shuts down and waits for the peer's close; the receiver
reads to the end and closes. So the clock stops when the peer has every byte.
"""

import socket
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from testbed.errors import InfrastructureError, NotApplied
from testbed.lab.counters import deltas, read_counters
from testbed.lab.tcp_info import sampling
from testbed.spec.workload import Workload

PORT = 5001
_SO_SNDBUFFORCE = 32  # not capped by net.core.wmem_max, which is not under test
_SO_RCVBUFFORCE = 33
_SO_MAX_PACING_RATE = 47
_CONNECT_TIMEOUT_S = 70  # six SYNs: at 0, 1, 3, 7, 15 and 31 s, and time to answer
_READ_SIZE = 256 * 1024
_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


def receive(workload: Workload) -> Callable[[Connection], None]:
    """Return the work of the receiving child.

    It says "ready"; told to, it reads its counters and says "counting"; it accepts one
    connection and says what it received; told again, it says how its counters moved.
    """

    def work(pipe: Connection) -> None:
        with socket.socket(_FAMILIES[workload.family]) as listener:
            _set_up(listener, workload, _SO_RCVBUFFORCE, workload.rcvbuf)
            listener.bind(("", PORT))
            listener.listen(1)
            pipe.send("ready")
            before = _count_when_told(pipe)
            connection, _address = listener.accept()
            with connection:
                received = _read_all(connection)
            pipe.send({"bytes": received, "end_ns": time.time_ns()})
            _report_counters(pipe, before)

    return work


def send(workload: Workload, address: str) -> Callable[[Connection], None]:
    """Return the work of the sending child.

    It says "ready"; told to, it reads its counters, says "counting", connects, sends
    and says how it went; told again, it says how its counters moved.
    """

    def work(pipe: Connection) -> None:
        with socket.socket(_FAMILIES[workload.family]) as sock:
            _set_up(sock, workload, _SO_SNDBUFFORCE, workload.sndbuf)
            if workload.pacing_rate is not None:
                _set_pacing(sock, workload.pacing_rate)
            sock.settimeout(_CONNECT_TIMEOUT_S)
            pipe.send("ready")
            before = _count_when_told(pipe)
            _connect(sock, address)
            with sampling(sock, workload.sample_every) as samples:
                result = _send_all(sock, workload)
                result["tcp_info"] = samples()
            pipe.send(result)
            _report_counters(pipe, before)

    return work


def _connect(sock: socket.socket, address: str) -> None:
    try:
        sock.connect((address, PORT))
    except OSError as error:
        raise InfrastructureError(f"no connection to {address}: {error}") from error
    sock.settimeout(None)


def _send_all(sock: socket.socket, workload: Workload) -> dict[str, Any]:
    begin_ns = time.time_ns()
    message = memoryview(bytes(workload.send_size))
    sent = 0
    while (size := _next_size(workload, sent, time.time_ns() - begin_ns)) > 0:
        sock.sendall(message[:size])
        sent += size
    sock.shutdown(socket.SHUT_WR)
    _read_all(sock)
    return {"bytes": sent, "begin_ns": begin_ns, "end_ns": time.time_ns()}


def _next_size(workload: Workload, sent: int, elapsed_ns: int) -> int:
    if workload.bytes is not None:
        return min(workload.send_size, workload.bytes - sent)
    assert workload.duration is not None  # noqa: S101  # one of the two is set
    return workload.send_size if elapsed_ns < workload.duration else 0


def _read_all(sock: socket.socket) -> int:
    buffer = bytearray(_READ_SIZE)
    total = 0
    while size := sock.recv_into(buffer):
        total += size
    return total


def _set_up(
    sock: socket.socket, workload: Workload, option: int, size: int | None
) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    wanted = workload.congestion.encode()
    _check("congestion control", workload.congestion, lambda: _choose(sock, wanted))
    if size is not None:
        sock.setsockopt(socket.SOL_SOCKET, option, size)
        name = {_SO_SNDBUFFORCE: socket.SO_SNDBUF, _SO_RCVBUFFORCE: socket.SO_RCVBUF}
        # The kernel doubles it, for its own overhead: socket(7).
        _check(
            "socket buffer",
            2 * size,
            lambda: sock.getsockopt(socket.SOL_SOCKET, name[option]),
        )


def _choose(sock: socket.socket, congestion: bytes) -> str:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
    got = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return got.rstrip(b"\0").decode()


def _set_pacing(sock: socket.socket, bits: int) -> None:
    wanted = bits // 8
    sock.setsockopt(
        socket.SOL_SOCKET, _SO_MAX_PACING_RATE, wanted.to_bytes(8, "little")
    )
    _check(
        "SO_MAX_PACING_RATE",
        wanted,
        lambda: int.from_bytes(
            sock.getsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, 8), "little"
        ),
    )


def _check(what: str, wanted: object, get: Callable[[], object]) -> None:
    try:
        got = get()
    except OSError as error:
        raise NotApplied(what, wanted=wanted, got=error.strerror) from error
    if got != wanted:
        raise NotApplied(what, wanted=wanted, got=got)


def _count_when_told(pipe: Connection) -> dict[str, int]:
    pipe.recv()
    counters = read_counters()
    pipe.send("counting")
    return counters


def _report_counters(pipe: Connection, before: dict[str, int]) -> None:
    pipe.recv()  # the lab says when the last packet has arrived
    pipe.send(deltas(before, read_counters()))
