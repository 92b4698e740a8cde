"""netperf as a driver: a netperf a flow, as super_netperf starts them; one netserver.

Options and keys are those of `netperf -h`, `netperf -t omni -- -h` and `-k '?'` of
2.7.0. Start with NETPERF.
"""

import re
from collections.abc import Mapping

from testbed.errors import InfrastructureError
from testbed.lab.told import ToldFlow, Tool
from testbed.spec.workload import FlowGroup, Workload
from testbed.units import NS_PER_S

_CONTROL_PORT = 12865
_BITS = 8
_USEC = 1000
_COMMON = (
    "LOCAL_BYTES_SENT",
    "REMOTE_BYTES_RECVD",
    "ELAPSED_TIME",
    "THROUGHPUT",
    "THROUGHPUT_UNITS",
    "LOCAL_SEND_CALLS",
    "LOCAL_TRANSPORT_RETRANS",
    "LOCAL_CONG_CONTROL",
    "REMOTE_CONG_CONTROL",
)
#: A Summary's statistics, and netperf's keys of them, in us.
_LATENCY: Mapping[str, str] = {
    "mean": "MEAN_LATENCY",
    "p50": "P50_LATENCY",
    "p90": "P90_LATENCY",
    "p99": "P99_LATENCY",
    "max": "MAX_LATENCY",
}
_TRANSACTIONS = (
    *_COMMON,
    "LOCAL_BYTES_RECVD",
    "TRANSACTION_RATE",
    "MIN_LATENCY",
    "STDDEV_LATENCY",
    *_LATENCY.values(),
)
_LINE = re.compile(r"^([A-Z][A-Z0-9_]*)=(.*)$", re.MULTILINE)
_TAIL = 300


def server(workload: Workload) -> tuple[str, ...]:
    """Return netserver in the foreground, without its debug file."""
    return ("netserver", "-D", "-N", f"-{workload.family}")


def clients(
    workload: Workload, address: str
) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return when each flow's netperf starts, ns after the first, and its command."""
    return tuple(
        (at * workload.stagger, _client(workload, group, port, address))
        for at, (group, port) in enumerate(workload.each_flow())
    )


def _client(
    workload: Workload, group: FlowGroup, port: int, address: str
) -> tuple[str, ...]:
    keys = _COMMON if workload.request_size is None else _TRANSACTIONS
    own: list[str] = [f"-{workload.family}", "-P", f",{port}"]
    if workload.request_size is None:
        own += ["-m", str(workload.send_size)]
    else:
        own += ["-r", f"{workload.request_size},{workload.response_size}"]
    if workload.sndbuf is not None:  # the comma: not the receive buffer too
        own += ["-s", f"{workload.sndbuf},"]
    if workload.rcvbuf is not None:
        own += ["-S", f",{workload.rcvbuf}"]
    own += ["-K", f"{group.congestion},{group.congestion}", "-k", ",".join(keys)]
    return (*_globals(workload, address), "--", *own)


def _globals(workload: Workload, address: str) -> tuple[str, ...]:
    length = f"-{workload.bytes}"
    if workload.duration is not None:
        length = str(workload.duration // NS_PER_S)
    return (
        *("netperf", "-H", address, f"-{workload.family}"),
        *("-P", "0"),  # no banner
        *("-f", "k"),  # the finest unit: figures have two decimals
        "-j",  # without it no percentiles
        *("-t", "TCP_STREAM" if workload.request_size is None else "TCP_RR"),
        *("-l", length),
    )


def parse(output: str, workload: Workload) -> tuple[ToldFlow, ...]:
    """Return the one flow that `-k` tells of.

    Raises InfrastructureError for output that is cut off or odd.
    """
    found = dict(_LINE.findall(output))
    _check_congestion(found, workload)
    if workload.request_size is None:
        return (_stream(found, workload),)
    return (_transactions(found, workload),)


def _stream(found: Mapping[str, str], workload: Workload) -> ToldFlow:
    sent = _whole(found, "LOCAL_BYTES_SENT")
    received = _whole(found, "REMOTE_BYTES_RECVD")
    # Of a send() that the end of the time interrupts, it counts nothing as sent.
    most = sent if workload.duration is None else sent + workload.send_size - 1
    if not sent <= received <= most:
        raise _odd(found, "REMOTE_BYTES_RECVD")
    rate = _number(found, "THROUGHPUT") * 1000
    if _text(found, "THROUGHPUT_UNITS") != "10^3bits/s" or rate <= 0:
        raise _odd(found, "THROUGHPUT")
    return ToldFlow(
        bytes=received,
        carried=(received, received),
        elapsed_ns=round(received * _BITS * NS_PER_S / rate),
        figures={name: _figure(found, name) for name in _COMMON},
    )


def _transactions(found: Mapping[str, str], workload: Workload) -> ToldFlow:
    done = _whole(found, "LOCAL_BYTES_RECVD") // (workload.response_size or 1)
    rate = _number(found, "TRANSACTION_RATE")
    if rate <= 0:
        raise _odd(found, "TRANSACTION_RATE")
    asked = done * (workload.request_size or 0)
    return ToldFlow(
        bytes=asked,
        carried=(asked, asked + (workload.request_size or 0)),  # one may be under way
        elapsed_ns=round(done * NS_PER_S / rate),
        transactions=done,
        latency={name: _number(found, key) * _USEC for name, key in _LATENCY.items()},
        figures={name: _figure(found, name) for name in _TRANSACTIONS},
    )


def _check_congestion(found: Mapping[str, str], workload: Workload) -> None:
    """Raise unless it names a congestion control of ours: it goes on with another."""
    known = {group.congestion for group in workload.each_group()}
    for key in ("LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL"):
        if _text(found, key) not in known:
            raise _odd(found, key)


def _figure(found: Mapping[str, str], key: str) -> str | float:
    try:
        return _number(found, key)
    except InfrastructureError:
        return _text(found, key)


def _whole(found: Mapping[str, str], key: str) -> int:
    text = _text(found, key)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise _odd(found, key)
    return int(text)


def _number(found: Mapping[str, str], key: str) -> float:
    text = _text(found, key)
    if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,9})?", text):
        raise _odd(found, key)
    return float(text)


def _text(found: Mapping[str, str], key: str) -> str:
    if key not in found:
        raise InfrastructureError(f"netperf said nothing of {key}")
    return found[key].strip()


def _odd(found: Mapping[str, str], key: str) -> InfrastructureError:
    return InfrastructureError(f"netperf said {key}={found[key][:_TAIL]}")


def explain(output: str) -> str:
    """Return the last of what a netperf that failed said."""
    return output.strip()[-_TAIL:] or "(it printed nothing)"


NETPERF = Tool(
    control_port=_CONTROL_PORT,
    server=server,
    clients=clients,
    parse=parse,
    explain=explain,
)
