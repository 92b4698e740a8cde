"""The Mininet network of a topology, up for as long as a `with` block."""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mininet.log import setLogLevel
from mininet.net import Mininet

from testbed.errors import CommandError, SpecError
from testbed.spec.names import HOSTS, link_prefix
from testbed.spec.path import Path
from testbed.spec.qdisc import Qdisc
from testbed.units import format_rate, format_time


@dataclass(frozen=True, slots=True)
class Port:
    """One interface of a host: its device name, and the qdisc the topology gave it."""

    device: str
    qdisc: Qdisc | None


@dataclass(frozen=True, slots=True)
class Host:
    """A network namespace with a name. pid: of the shell that holds it open."""

    name: str
    pid: int
    ports: tuple[Port, ...]
    _node: Any

    @property
    def device(self) -> str:
        """Return the name of the host's only (or first) interface."""
        return self.ports[0].device

    def run(self, *argv: str) -> str:
        """Run a command on the host; CommandError unless it succeeds."""
        out, err, status = self._node.pexec(*argv)
        if status:
            raise CommandError(argv, status, err or out)
        return str(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The running hosts of a topology."""

    sender: Host
    router: Host
    receiver: Host

    def hosts(self) -> Sequence[Host]:
        """Return all hosts, along the path."""
        return (self.sender, self.router, self.receiver)

    def address(self, family: int) -> str:
        """Return the receiver's address of an IP version (4 or 6)."""
        return {4: "10.0.2.2", 6: "fd00:2::2"}[family]


@contextmanager
def running(topology: str, path: Path, run_id: str = "") -> Iterator[Network]:
    """Build the topology with Mininet; take it down when the block ends.

    run_id: of a run that shares its kernel with others; see topologies/routed.py.
    """
    setLogLevel("error")
    # Mininet would rewrite socket buffers and backlogs of the whole machine
    # (util.fixLimits), which are part of what is being tested.
    Mininet.inited = True
    net = Mininet(topo=_topo(topology, path, run_id), controller=None, build=False)
    try:
        net.build()
        net.start()
        prefix = link_prefix(run_id) if run_id else ""
        sender, router, receiver = (_host(net, prefix, name) for name in HOSTS)
        yield Network(sender=sender, router=router, receiver=receiver)
    finally:
        net.stop()


def _topo(name: str, path: Path, run_id: str) -> Any:  # Mininet has no types
    try:
        module = importlib.import_module(f"topologies.{name}")
        topo = module.topos[name]
    except (ModuleNotFoundError, AttributeError, KeyError) as error:
        raise SpecError(f"there is no topology {name!r} in topologies/") from error
    marks = {}
    if path.ce_threshold is not None:
        marks["ce_threshold"] = format_time(path.ce_threshold)
    return topo(
        run_id=run_id,
        rtt=format_time(path.rtt),
        rate=format_rate(path.rate),
        queue=path.queue,
        loss=f"{path.loss * 100:.7f}%",
        mtu=path.mtu,
        shaper=path.shaper,
        discipline=path.discipline,
        burst=path.burst,
        **marks,
    )


def _host(net: Any, prefix: str, name: str) -> Host:
    node = net[prefix + name]
    ports = (Port(str(each), each.params.get("qdisc")) for each in node.intfList())
    return Host(name, node.pid, tuple(ports), node)
