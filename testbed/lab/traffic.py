"""The two ends of a single stream, with netperf's meaning of its options.

The sender blocks in send(), shuts down and waits for the peer's close; the receiver
reads to the end and closes. So the clock stops when the peer has every byte.
"""

import socket
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from testbed.errors import InfrastructureError
from testbed.lab.counters import count_when_told, cpu_used, report_counters
from testbed.lab.perf import counting
from testbed.lab.sockets import FAMILIES, set_up_listener, set_up_sender
from testbed.lab.tcp_info import reading, sampling
from testbed.spec.workload import PORT, Workload

_CONNECT_TIMEOUT_S = 70  # six SYNs: at 0, 1, 3, 7, 15 and 31 s, and time to answer
_READ_SIZE = 256 * 1024


def receive(workload: Workload) -> Callable[[Connection], None]:
    """Return the work of the receiving child.

    It says "ready"; told to, it reads its counters and says "counting"; it accepts one
    connection and says what it received, and the CPU it took; told again, it says how
    its counters moved.
    """

    def work(pipe: Connection) -> None:
        with socket.socket(FAMILIES[workload.family]) as listener:
            set_up_listener(listener, workload, workload.each_group()[0])
            listener.bind(("", PORT))
            listener.listen(1)
            with counting() as cpu:
                pipe.send("ready")
                before = count_when_told(pipe)
                connection, _address = listener.accept()
                with connection:
                    received = _read_all(connection)
                told = {"bytes": received, "end_ns": time.time_ns()}
                pipe.send({**told, **cpu_used(), **cpu.read()})
            report_counters(pipe, before)

    return work


def send(workload: Workload, address: str) -> Callable[[Connection], None]:
    """Return the work of the sending child.

    It says "ready"; told to, it reads its counters, says "counting", connects, sends
    and says how it went; told again, it says how its counters moved.
    """

    def work(pipe: Connection) -> None:
        with socket.socket(FAMILIES[workload.family]) as sock:
            set_up_sender(sock, workload, workload.each_group()[0])
            sock.settimeout(_CONNECT_TIMEOUT_S)
            with counting() as cpu:
                pipe.send("ready")
                before = count_when_told(pipe)
                _connect(sock, address)
                with sampling(reading({0: sock}), workload.sample_every) as samples:
                    result = _send_all(sock, workload)
                    result |= {"tcp_info": samples(), **cpu_used(), **cpu.read()}
                pipe.send(result)
            report_counters(pipe, before)

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
