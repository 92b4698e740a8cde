"""iperf3 as a driver: one client with a stream a flow; one server.

Options are those of `iperf3 --help` and keys those of its JSON, both of 3.12. Start
with IPERF3.
"""

import json
from typing import Any

from testbed.errors import InfrastructureError
from testbed.lab.told import ToldFlow, Tool
from testbed.spec.workload import PORT, Workload
from testbed.units import NS_PER_S

_CONTROL_PORT = 5201
#: What a flow begins with, and no count of bytes has: COOKIE_SIZE, iperf.h.
COOKIE = 37
_TAIL = 300
_LONGEST_S = 1e6
_LARGEST = 1e18


def server(workload: Workload) -> tuple[str, ...]:
    """Return the server in the foreground."""
    return ("iperf3", "--server", f"-{workload.family}")


def clients(
    workload: Workload, address: str
) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the one command that starts all flows.

    --cport: the flows have the ports from PORT on, each the next.
    """
    assert workload.duration is not None  # noqa: S101  # check_driver() saw to it
    argv = [
        *("iperf3", "--client", address, f"-{workload.family}", "--json"),
        *("--time", str(workload.duration // NS_PER_S)),
        *("--length", str(workload.send_size)),
        *("--congestion", workload.congestion),
        *("--parallel", str(workload.flows)),
        *("--cport", str(PORT)),
    ]
    if workload.pacing_rate is not None:
        argv += ["--fq-rate", str(workload.pacing_rate)]
    if workload.sndbuf is not None:
        argv += ["--window", str(workload.sndbuf)]
    return ((0, tuple(argv)),)


def parse(output: str, workload: Workload) -> tuple[ToldFlow, ...]:
    """Return the flows that the client's JSON tells of, in the order of their ports.

    Raises InfrastructureError for output that is cut off or odd.
    """
    document = _document(output)
    ports = [
        _whole(each, "local_port") for each in _list(document, "start", "connected")
    ]
    streams = _list(document, "end", "streams")
    wanted = [PORT + at for at in range(workload.flows)]
    if ports != wanted or len(streams) != len(wanted):
        told = f"ports {ports[:3]}, and {len(streams)} streams"
        raise InfrastructureError(f"iperf3 tells of other flows: {told}")
    for end in ("sender", "receiver"):
        name = _at(document, "end", f"{end}_tcp_congestion")
        if name != workload.congestion:
            raise InfrastructureError(f"iperf3 says the {end} had {str(name)[:_TAIL]}")
    return tuple(_flow(each) for each in streams)


def _flow(stream: Any) -> ToldFlow:  # JSON
    # Its "seconds" is the sender's; the server counts until all has come that will.
    end = _at(stream, "receiver", "end")
    if not _is_number(end) or not 0 < end < _LONGEST_S:
        raise InfrastructureError(f"iperf3 says receiver.end is {str(end)[:_TAIL]}")
    received = _whole(_at(stream, "receiver"), "bytes")
    sent = _whole(_at(stream, "sender"), "bytes")
    return ToldFlow(
        bytes=received,
        # It closes with data under way, of which its server tells no more.
        carried=(received, sent + COOKIE),
        elapsed_ns=round(end * NS_PER_S),
        figures={
            f"{name}.{key}": value
            for name in ("sender", "receiver")
            for key, value in _mapping(_at(stream, name)).items()
            if _is_number(value)
        },
    )


def _document(output: str) -> Any:  # JSON
    try:
        return json.loads(output)
    except (ValueError, RecursionError) as error:
        told = output.strip()[-_TAIL:] or "(nothing)"
        raise InfrastructureError(f"iperf3 printed no JSON: {error}: {told}") from error


def _at(value: Any, *keys: str) -> Any:  # JSON
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            raise InfrastructureError(f"iperf3 said nothing of {'.'.join(keys)}")
        value = value[key]
    return value


def _mapping(value: Any) -> dict[str, Any]:  # JSON
    return value if isinstance(value, dict) else {}


def _list(value: Any, *keys: str) -> list[Any]:  # JSON
    found = _at(value, *keys)
    if not isinstance(found, list):
        raise InfrastructureError(f"iperf3 said nothing of {'.'.join(keys)}")
    return found


def _whole(value: Any, key: str) -> int:  # JSON
    found = _at(value, key)
    if (
        not isinstance(found, int)
        or isinstance(found, bool)
        or not 0 <= found < _LARGEST
    ):
        raise InfrastructureError(f"iperf3 says {key} is {str(found)[:_TAIL]}")
    return found


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -_LARGEST < value < _LARGEST  # and so no NaN


def explain(output: str) -> str:
    """Return the error that a client that failed tells in its JSON, or what it said."""
    try:
        return str(_at(_document(output), "error"))[:_TAIL]
    except InfrastructureError:
        return output.strip()[-_TAIL:] or "(it printed nothing)"


IPERF3 = Tool(
    control_port=_CONTROL_PORT,
    server=server,
    clients=clients,
    parse=parse,
    explain=explain,
)
