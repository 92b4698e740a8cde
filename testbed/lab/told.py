"""What a driver tells of its flows, each with the tool's own figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from testbed.spec.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldFlow:
    """A flow as the program that drove it tells of it.

    bytes: read by the peer.  carried: the least and the most payload that its
    packets then bear.  elapsed_ns: for which it sent.  transactions: None of a
    stream.  figures: the tool's own, by its own names.  latency: the statistics of its
    transactions in ns, by the names of a Summary.
    """

    bytes: int
    carried: tuple[int, int]
    elapsed_ns: int
    figures: Mapping[str, object]
    transactions: int | None = None
    latency: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """How to run a driver.

    control_port: where its server listens.  server: its command.  clients: a command
    for each client and when it starts, in ns after the first.  parse: the flows that a
    client that ended well tells of; InfrastructureError if it tells of none.  explain:
    what one says that did not end well.
    """

    control_port: int
    server: Callable[[Workload], tuple[str, ...]]
    clients: Callable[[Workload, str], tuple[tuple[int, tuple[str, ...]], ...]]
    parse: Callable[[str, Workload], tuple[ToldFlow, ...]]
    explain: Callable[[str], str]
