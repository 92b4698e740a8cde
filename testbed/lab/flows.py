"""The two ends of many flows, streams or transactions: one process each, on an epoll.

A flow means what a netperf of its own means, and starts in its turn. A socket is only
written or read when it is ready: what would block fails, and a failed system call costs
virtual time. Start with send_flows and receive_flows.
"""

import resource
import select
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from testbed.errors import InfrastructureError
from testbed.lab.counters import count_when_told, cpu_used, report_counters
from testbed.lab.exchange import READ_SIZE, Exchange
from testbed.lab.loop import Loop
from testbed.lab.perf import counting
from testbed.lab.sockets import FAMILIES, set_up_listener, set_up_sender
from testbed.lab.tcp_info import Read, reading, sampling, some_of
from testbed.spec.workload import FlowGroup, Workload

#: SYNs that may wait for their ACK: all flows start within an RTT, and beyond 3/4 of
#: this the kernel drops SYNs (tcp_conn_request()), so that some start a second late.
_SYN_BACKLOG = 8192


def receive_flows(workload: Workload) -> Callable[[Connection], None]:
    """Return the work of the receiving child; it says what traffic.receive's says."""

    def work(pipe: Connection) -> None:
        _allow_files()
        _widen_backlog()
        with ExitStack() as stack, closing(Loop()) as loop, counting() as cpu:
            end = _Receiver(loop, workload)
            for port, group in _ports(workload).items():
                sock = socket.socket(FAMILIES[workload.family])
                stack.enter_context(sock)
                set_up_listener(sock, workload, group)
                sock.bind(("", port))
                sock.listen(workload.flows)
                loop.watch(sock, select.EPOLLIN, partial(end.accept, sock))
            pipe.send("ready")
            before = count_when_told(pipe)
            loop.run(lambda: end.ended == workload.flows)
            told = {"bytes": end.received, "end_ns": time.time_ns()}
            pipe.send({**told, **cpu_used(), **cpu.read()})
            report_counters(pipe, before)

    return work


def send_flows(workload: Workload, address: str) -> Callable[[Connection], None]:
    """Return the work of the sending child; it says what traffic.send's says.

    And "flows", each flow's account; of transactions "latency_ns" too, in the order
    they ended.
    """

    def work(pipe: Connection) -> None:
        _allow_files()
        with ExitStack() as stack, closing(Loop()) as loop, counting() as cpu:
            end = _Sender(loop, workload)
            for group, port in workload.each_flow():
                sock = stack.enter_context(socket.socket(FAMILIES[workload.family]))
                set_up_sender(sock, workload, group)
                sock.settimeout(0)
                end.add(sock, (address, port))
            pipe.send("ready")
            before = count_when_told(pipe)
            with sampling(end.reads_some(), workload.sample_every) as samples:
                result = end.run()
                result |= {"tcp_info": samples(), **cpu_used(), **cpu.read()}
            pipe.send(result)
            report_counters(pipe, before)

    return work


def _allow_files() -> None:
    """Let this process have as many sockets as it may: a flow needs one."""
    # Not the lab itself: mnexec closes all files there could be, and a close() of one
    # that is not open fails.
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _widen_backlog() -> None:
    Path("/proc/sys/net/ipv4/tcp_max_syn_backlog").write_text(str(_SYN_BACKLOG))


def _ports(workload: Workload) -> Mapping[int, FlowGroup]:
    return {port: group for group, port in workload.each_flow()}


class _Receiver:
    """The receiving end: how many bytes have come, and how many flows have ended."""

    def __init__(self, loop: Loop, workload: Workload) -> None:
        self.received = 0
        self.ended = 0
        self._loop = loop
        self._workload = workload
        self._buffer = bytearray(READ_SIZE)

    def accept(self, listener: socket.socket, _events: int) -> None:
        sock, _address = listener.accept()
        sock.settimeout(0)
        if self._workload.request_size is None:
            self._loop.watch(sock, select.EPOLLIN, partial(self._read, sock))
        else:
            peer = Exchange(
                *(self._loop, sock, self._buffer),
                says=self._workload.response_size or 0,
                hears=self._workload.request_size,
            )
            peer.listen(heard=partial(self._answer, peer), closed=self._end)

    def _read(self, sock: socket.socket, _events: int) -> None:
        size = sock.recv_into(self._buffer, READ_SIZE, socket.MSG_TRUNC)
        self.received += size
        if not size:
            self._end(sock)

    def _answer(self, peer: "Exchange") -> None:
        self.received += self._workload.request_size or 0
        peer.say()

    def _end(self, sock: socket.socket) -> None:
        self._loop.forget(sock)
        sock.close()
        self.ended += 1


class _Sender:
    """The sending end of all flows."""

    def __init__(self, loop: Loop, workload: Workload) -> None:
        self._loop = loop
        self._workload = workload
        self._flows: list[_Flow] = []
        self._ended = 0
        self._latency_ns: list[int] = []
        self._message = memoryview(bytes(workload.send_size))
        self._buffer = bytearray(READ_SIZE)

    def add(self, sock: socket.socket, to: tuple[str, int]) -> None:
        """Add a flow; it starts after those before it."""
        self._flows.append(_Flow(sock, to))

    def reads_some(self) -> Read:
        """Return what reads TCP_INFO of some flows, the first among them."""
        return reading({at: self._flows[at].sock for at in some_of(len(self._flows))})

    def run(self) -> dict[str, Any]:
        """Run all flows to their ends; return how it went."""
        begin_ns = time.time_ns()
        for at, flow in enumerate(self._flows):
            if self._workload.stagger and at:
                due = begin_ns + at * self._workload.stagger
                self._loop.at(due, partial(self._connect, flow))
            else:
                self._connect(flow)
        self._loop.run(lambda: self._ended == len(self._flows))
        flows = [flow.account for flow in self._flows]
        told: dict[str, Any] = {
            "bytes": sum(each["bytes"] for each in flows),
            "begin_ns": min(each["begin_ns"] for each in flows),
            "end_ns": max(each["end_ns"] for each in flows),
            "flows": flows,
        }
        if self._workload.request_size is not None:
            told["latency_ns"] = self._latency_ns
        return told

    def _connect(self, flow: "_Flow") -> None:
        flow.sock.connect_ex(flow.to)  # EINPROGRESS
        self._loop.watch(flow.sock, select.EPOLLOUT, partial(self._connected, flow))

    def _connected(self, flow: "_Flow", _events: int) -> None:
        code = flow.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise InfrastructureError(f"no connection to {flow.to}: error {code}")
        begin_ns = time.time_ns()
        flow.begin(begin_ns)
        if self._workload.duration is not None:
            self._loop.at(
                begin_ns + self._workload.duration, partial(self._time_is_up, flow)
            )
        self._loop.forget(flow.sock)
        if self._workload.request_size is None:
            self._loop.watch(flow.sock, select.EPOLLOUT, partial(self._stream, flow))
        else:
            self._converse(flow, begin_ns)

    def _time_is_up(self, flow: "_Flow") -> None:
        flow.stopping = True
        if self._workload.request_size is None:
            self._finish(flow)

    def _stream(self, flow: "_Flow", events: int) -> None:
        if flow.stopping:
            if flow.sock.recv(1):
                raise InfrastructureError("the receiver of a stream sent something")
            self._end(flow, flow.sock)
            return
        size = self._workload.send_size
        if self._workload.bytes is not None:
            size = min(size, self._workload.bytes - flow.account["bytes"])
        flow.account["bytes"] += flow.sock.send(self._message[:size])
        if flow.account["bytes"] == self._workload.bytes:
            flow.stopping = True
            self._finish(flow)

    def _finish(self, flow: "_Flow") -> None:
        flow.sock.shutdown(socket.SHUT_WR)
        self._loop.change(flow.sock, select.EPOLLIN)

    def _converse(self, flow: "_Flow", begin_ns: int) -> None:
        flow.account["transactions"] = 0
        flow.asked_ns = begin_ns
        exchange = Exchange(
            *(self._loop, flow.sock, self._buffer),
            says=self._workload.request_size or 0,
            hears=self._workload.response_size or 0,
        )
        exchange.listen(
            heard=partial(self._answered, flow, exchange),
            closed=partial(self._end, flow),
        )
        exchange.say()

    def _answered(self, flow: "_Flow", exchange: Exchange) -> None:
        now = time.time_ns()
        self._latency_ns.append(now - flow.asked_ns)
        flow.account["transactions"] += 1
        flow.account["bytes"] += self._workload.request_size or 0
        flow.asked_ns = now
        if flow.stopping:
            self._finish(flow)
        else:
            exchange.say()

    def _end(self, flow: "_Flow", sock: socket.socket) -> None:
        flow.account["end_ns"] = time.time_ns()
        self._loop.forget(sock)
        self._ended += 1


class _Flow:
    """A flow of the sender's. account: what is told of it in the end."""

    def __init__(self, sock: socket.socket, to: tuple[str, int]) -> None:
        self.sock = sock
        self.to = to
        self.stopping = False
        self.asked_ns = 0
        self.account = {"bytes": 0}

    def begin(self, time_ns: int) -> None:
        """Note when and from which port it began."""
        port = self.sock.getsockname()[1]
        self.account |= {"port": port, "begin_ns": time_ns}
