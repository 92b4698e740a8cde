"""The two ends of a workload that another program drives: iperf3, or netperf.

Each tool opens its own sockets, so what was asked for is read back, and TCP_INFO is
sampled, from outside, with sock_diag. Start with send_driven and receive_driven.
"""

import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from testbed.errors import InfrastructureError, NotApplied
from testbed.lab.clock import sleep_until
from testbed.lab.counters import (
    count_when_told,
    cpu_used,
    deltas,
    read_counters,
    report_counters,
)
from testbed.lab.iperf3 import IPERF3
from testbed.lab.netperf import NETPERF
from testbed.lab.sock_diag import CONNECTED, LISTEN, DiagSocket, read_sockets
from testbed.lab.tcp_info import Read, parse_tcp_info, sampling, some_of
from testbed.lab.told import ToldFlow, Tool
from testbed.process import Finished, Stop, stream
from testbed.spec.workload import FlowGroup, Workload

TOOLS: Mapping[str, Tool] = {"iperf3": IPERF3, "netperf": NETPERF}
#: Of the machine's clock; what ends a machine that hangs is its own deadline.
_DEADLINE_S = 6 * 3600.0
_LISTENING_S = 10.0
_LOOK_NS = 200_000
_MAX_PACING_RATE = slice(112, 120)  # of struct tcp_info, in bytes/s
_AS_SEEN_THERE = {"dport": "sport", "sport": "dport"}
#: Which of a socket's ports tells the flows apart, and each flow's.
Ports = tuple[str, tuple[int, ...]]
#: What a flow's socket should have and has; None is for what may be anything.
Wanted = Callable[[Workload, FlowGroup, DiagSocket], Mapping[str, tuple[Any, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A flow's socket as last seen, and when (CLOCK_REALTIME) it was seen first."""

    since_ns: int
    sock: DiagSocket


def receive_driven(workload: Workload) -> Callable[[Connection], None]:
    """Return the work of the receiving child; it says what traffic.receive's says.

    But for the bytes it received, which only the tool's client tells.
    """
    tool = TOOLS[workload.driver]
    ports = _ports(workload, _AS_SEEN_THERE[workload.known_by])

    def work(pipe: Connection) -> None:
        with _serving(tool.server(workload)) as server:
            _await_listener(workload.family, tool.control_port, server)
            pipe.send("ready")
            before = count_when_told(pipe)
            pipe.send({"bytes": None})
            seen = _watch(workload, ports, _wanted_of_receiver, until=pipe.poll)
            pipe.recv()  # the server has to live until then, whatever is wrong
            after = read_counters()
            _check(seen, workload, _wanted_of_receiver)
            pipe.send(deltas(before, after))

    return work


def send_driven(workload: Workload, address: str) -> Callable[[Connection], None]:
    """Return the work of the sending child; it says what flows.send_flows's says.

    Of each flow also "told", the tool's own figures, and "carried", the least and the
    most payload that a capture of it may show; of the transactions of a single flow
    "latency_told", their statistics in ns, instead of each one's time.
    """
    tool = TOOLS[workload.driver]
    ports = _ports(workload, workload.known_by)

    def work(pipe: Connection) -> None:
        pipe.send("ready")
        before = count_when_told(pipe)
        clients = tool.clients(workload, address)
        with (
            sampling(_reading(workload.family, ports), workload.sample_every) as take,
            ThreadPoolExecutor(len(clients)) as pool,
        ):
            begin_ns = time.time_ns()
            runs = [
                pool.submit(_run_at, begin_ns + after_ns, argv)
                for after_ns, argv in clients
            ]
            seen = _watch(
                *(workload, ports, _wanted_of_sender),
                until=lambda: all(run.done() for run in runs),
            )
            told = [
                flow
                for run in runs
                for flow in tool.parse(_output(run.result(), tool), workload)
            ]
            used = cpu_used(resource.RUSAGE_CHILDREN)  # not of who samples, yet
            samples = take()
        _check(seen, workload, _wanted_of_sender)
        pipe.send({**_account(told, seen, workload), "tcp_info": samples, **used})
        report_counters(pipe, before)

    return work


# ---- the programs


@contextmanager
def _serving(argv: Sequence[str]) -> Iterator[Future[Finished]]:
    stop = Stop()
    with ThreadPoolExecutor(1) as pool:
        server = pool.submit(
            stream, argv, lambda _line: None, timeout_s=_DEADLINE_S, stop=stop
        )
        try:
            yield server
        finally:
            stop.set()


def _await_listener(family: int, port: int, server: Future[Finished]) -> None:
    until = time.monotonic() + _LISTENING_S
    while not any(each.sport == port for each in read_sockets(family, (LISTEN,))):
        if server.done():
            raise InfrastructureError(f"no server: {_ended(server.result())}")
        if time.monotonic() > until:
            raise InfrastructureError(f"no server listens on port {port}")
        time.sleep(_LOOK_NS / 1e9)


def _run_at(time_ns: int, argv: Sequence[str]) -> Finished:
    sleep_until(time.CLOCK_REALTIME, time_ns)
    return stream(argv, lambda _line: None, timeout_s=_DEADLINE_S)


def _output(ended: Finished, tool: Tool) -> str:
    if ended.status:
        told = tool.explain(ended.output)
        raise InfrastructureError(f"{_ended(ended)}: {told}")
    return ended.output


def _ended(ended: Finished) -> str:
    return f"`{' '.join(ended.argv)}` exited with {ended.status}"


# ---- their sockets


def _ports(workload: Workload, known_by: str) -> Ports:
    """Return which port tells the flows apart here, and each flow's."""
    return known_by, tuple(port for _group, port in workload.each_flow())


def _find(family: int, ports: Ports) -> Iterator[tuple[int, DiagSocket]]:
    """Yield the connected flows, by their numbers."""
    known_by, numbers = ports
    places = {port: at for at, port in enumerate(numbers)}
    for each in read_sockets(family, CONNECTED):
        at = places.get(getattr(each, known_by))
        if at is not None:
            yield at, each


def _reading(family: int, ports: Ports) -> Read:
    known_by, numbers = ports
    some = set(some_of(len(numbers)))

    def read() -> Iterator[tuple[int, dict[str, int]]]:
        found = sorted(_find(family, (known_by, numbers)), key=lambda pair: pair[0])
        return ((at, parse_tcp_info(e.tcp_info)) for at, e in found if at in some)

    return read


def _watch(
    workload: Workload,
    ports: Ports,
    wanted: Wanted,
    until: Callable[[], bool],
) -> dict[int, _Seen]:
    """Return the flows that were seen connected, by number, each as it was last seen.

    Looks until each is as wanted, for a program may set what it accepted later, or
    until it is over.
    """
    seen: dict[int, _Seen] = {}
    due = time.monotonic_ns()
    groups = [group for group, _port in workload.each_flow()]
    fits = False
    while not fits and not until():
        now = time.time_ns()
        for at, sock in _find(workload.family, ports):
            since_ns = seen[at].since_ns if at in seen else now
            seen[at] = _Seen(since_ns=since_ns, sock=sock)
        fits = len(seen) == len(groups) and not any(
            _differences(wanted(workload, groups[at], each.sock))
            for at, each in seen.items()
        )
        due += _LOOK_NS
        sleep_until(time.CLOCK_MONOTONIC, due)
    return seen


def _differences(
    wanted: Mapping[str, tuple[Any, Any]],
) -> dict[str, tuple[Any, Any]]:
    return {
        what: pair
        for what, pair in wanted.items()
        if pair[0] is not None and pair[0] != pair[1]
    }


def _check(seen: Mapping[int, _Seen], workload: Workload, wanted: Wanted) -> None:
    """Raise NotApplied unless each flow's socket was as the workload has it."""
    for at, (group, _port) in enumerate(workload.each_flow()):
        if at not in seen:
            raise InfrastructureError(
                f"{workload.driver}: flow {at + 1} was over before anybody could look "
                "at its socket"
            )
        differing = _differences(wanted(workload, group, seen[at].sock))
        for what, (asked, got) in differing.items():
            raise NotApplied(f"{workload.driver}: {what}", wanted=asked, got=got)


def _wanted_of_sender(
    workload: Workload, group: FlowGroup, sock: DiagSocket
) -> dict[str, tuple[Any, Any]]:
    paced = int.from_bytes(sock.tcp_info[_MAX_PACING_RATE], "little")
    rate = None if group.pacing_rate is None else group.pacing_rate // 8
    return {
        "congestion control": (group.congestion, sock.congestion),
        "SO_MAX_PACING_RATE": (rate, paced),
        "send buffer": (_doubled(workload.sndbuf), sock.sndbuf),
    }


def _wanted_of_receiver(
    workload: Workload, group: FlowGroup, sock: DiagSocket
) -> dict[str, tuple[Any, Any]]:
    return {
        "receiver's congestion control": (group.congestion, sock.congestion),
        "receive buffer": (_doubled(workload.rcvbuf), sock.rcvbuf),
    }


def _doubled(size: int | None) -> int | None:
    return None if size is None else 2 * size  # by the kernel: socket(7)


# ---- their account


def _account(
    told: Sequence[ToldFlow],
    seen: Mapping[int, _Seen],
    workload: Workload,
) -> dict[str, Any]:
    flows = [_flow_account(flow, seen[at]) for at, flow in enumerate(told)]
    # Percentiles of many flows do not add up to those of all.
    latency = dict(told[0].latency) if len(told) == 1 else {}
    if latency:
        latency["n"] = told[0].transactions or 0
    return {
        "bytes": sum(each["bytes"] for each in flows),
        "begin_ns": min(each["begin_ns"] for each in flows),
        "end_ns": max(each["end_ns"] for each in flows),
        "driver": workload.driver,
        "flows": flows,
        **({"latency_told": latency} if latency else {}),
    }


def _flow_account(flow: ToldFlow, seen: _Seen) -> dict[str, Any]:
    account = {
        "bytes": flow.bytes,
        "port": seen.sock.sport,
        "begin_ns": seen.since_ns,
        "end_ns": seen.since_ns + flow.elapsed_ns,
        "carried": list(flow.carried),
        "told": dict(flow.figures),
    }
    if flow.transactions is not None:
        account["transactions"] = flow.transactions
    return account
