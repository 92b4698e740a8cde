"""A driver's account of its flows, held against what was captured of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from testbed.errors import InfrastructureError
from testbed.spec.workload import Workload
from testbed.trace.trace import Trace


def check_carried(
    flows: Sequence[Mapping[str, Any]], traces: Sequence[Trace], workload: Workload
) -> None:
    """Raise InfrastructureError unless each flow carried what its driver says.

    flows: accounts, in the order of the workload's; only those with "carried" (the
    least and the most payload, in bytes) are checked.  traces: the sender's directions.
    """
    ports = [port for _group, port in workload.each_flow()]
    by_port = {getattr(each.flow, workload.known_by): each for each in traces}
    for port, flow in zip(ports, flows, strict=False):
        if "carried" not in flow:
            continue
        least, most = flow["carried"]
        seen = _payload(by_port[port]) if port in by_port else 0
        if not least <= seen <= most:
            raise InfrastructureError(
                f"{workload.driver} says the flow of port {port} carried {least} to "
                f"{most} bytes; the capture has {seen}"
            )


def _payload(trace: Trace) -> int:
    """Return the bytes from the first to the last, each counted once."""
    return int((trace.seq + trace.length).max()) if len(trace.seq) else 0
