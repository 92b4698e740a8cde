"""What the topologies share: two hosts, and between them a router that is the path.

Delay, rate, queue and loss sit on the router's two ports, never on a host's own device:
netem orphans skbs, which would switch TCP Small Queues off, and a tbf with a small
burst segments GSO packets. Both hosts have IPv4 and IPv6 addresses. Everybody knows
their neighbours from the start: an ARP exchange over the path would make the first
RTT sample of the first connection twice the RTT.
"""

from typing import ClassVar

from mininet.link import Intf, Link
from mininet.node import Node
from mininet.topo import Topo

from testbed.errors import CommandError
from testbed.spec.names import HOSTS, NAMESPACES, link_prefix, namespace_name
from testbed.spec.path import parse_path, towards_receiver, towards_sender
from testbed.spec.qdisc import tc_commands


def run_on(node, argv):
    """Run a command on a Mininet node; it has to succeed."""
    out, err, status = node.pexec(*argv)
    if status:
        raise CommandError(argv, status, err or out)
    return out


class Port(Intf):
    """An interface with both kinds of address, an MTU, a neighbour, and a qdisc."""

    def config(self, mtu, address6, neighbour, gateway6=None, qdisc=None, **params):
        """Set the device up, and return what was set."""
        # An address under duplicate detection cannot be bound to for a second or two.
        no_dad = f"net.ipv6.conf.{self.name}.accept_dad=0"
        run_on(self.node, ("sysctl", "-qw", no_dad))
        run_on(self.node, ("ip", "link", "set", "dev", self.name, "mtu", str(mtu)))
        shown = super().config(**params)
        run_on(self.node, ("ip", "-6", "addr", "add", address6, "dev", self.name))
        for address in neighbour["addresses"]:
            known = ("lladdr", neighbour["mac"], "nud", "permanent")
            to = ("neigh", "replace", address, "dev", self.name)
            run_on(self.node, ("ip", *to, *known))
        if gateway6:
            run_on(self.node, ("ip", "-6", "route", "add", "default", "via", gateway6))
        for command in tc_commands(self.name, qdisc) if qdisc else ():
            run_on(self.node, command)
        return shown


class Host(Node):
    """A node in a new network namespace, or in one that has a name already."""

    def __init__(self, name, namespace=None, **params):
        """Start its shell. namespace: the file that names it."""
        self._enter = ("nsenter", f"--net={namespace}") if namespace else ()
        super().__init__(name, inNamespace=namespace is None, **params)

    def _popen(self, cmd, **params):
        # The shell comes first, and what comes later enters the shell's namespace.
        enter = () if self.shell else self._enter
        return super()._popen([*enter, *cmd], **params)


class Router(Host):
    """A node that forwards IPv4 and IPv6."""

    def config(self, **params):
        """Switch forwarding on, and return what was set."""
        shown = super().config(**params)
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            run_on(self, ("sysctl", "-qw", f"{name}=1"))
        return shown


_HOSTS = (
    (Host, {"ip": "10.0.1.2/24", "defaultRoute": "via 10.0.1.1"}),
    (Router, {"ip": None}),
    (Host, {"ip": "10.0.2.2/24", "defaultRoute": "via 10.0.2.1"}),
)


class RoutedPair(Topo):
    """h1 - r - h2. Takes the keys of a path: rtt, rate, queue, loss, mtu, ...

    run_id: of a run that shares its kernel with others: hosts and links bear it in
    their names, and the hosts' namespaces are there already.
    """

    defaults: ClassVar = {}

    def build(self, run_id="", **path):
        """Add the nodes and the two links of a path."""
        self.path = parse_path({**self.defaults, **path})
        sender, router, receiver = (
            self._add(name, run_id, cls=cls, **params)
            for name, (cls, params) in zip(HOSTS, _HOSTS, strict=True)
        )
        self._join(sender, router, 1, towards_sender(self.path))
        self._join(receiver, router, 2, towards_receiver(self.path))

    def _add(self, name, run_id, **params):
        if run_id:
            params["namespace"] = NAMESPACES / namespace_name(run_id, name)
            name = link_prefix(run_id) + name
        return self.addHost(name, **params)

    def _join(self, host, router, net, qdisc):
        here, there = _end(net, 2), _end(net, 1)
        common = {"mtu": self.path.mtu}
        self.addLink(
            host,
            router,
            cls=Link,
            intf=Port,
            addr1=here["mac"],
            addr2=there["mac"],
            params1={**common, **_port(here, there), "gateway6": f"fd00:{net}::1"},
            params2={**common, **_port(there, here), "qdisc": qdisc},
        )


def _end(net, number):
    return {
        "mac": f"02:00:00:00:0{net}:0{number}",
        "addresses": (f"10.0.{net}.{number}", f"fd00:{net}::{number}"),
    }


def _port(own, other):
    address4, address6 = own["addresses"]
    return {"ip": f"{address4}/24", "address6": f"{address6}/64", "neighbour": other}
