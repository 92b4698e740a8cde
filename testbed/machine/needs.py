"""What a variant needs of a kernel, as commands that a throw-away namespace can try.

needs_of says what; missing tries it. Each try has a network namespace of its own, with
one veth, that is gone when the try is over: nothing of the host is touched, but that
the kernel may load a module of its own for it, as for any other user of tc.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.process import Finished, stream
from testbed.spec.experiment import Variant
from testbed.spec.path import towards_receiver, towards_sender
from testbed.spec.qdisc import Qdisc, tc_commands
from testbed.spec.settings import HostSettings
from testbed.spec.workload import Workload

_MODULES = Path("/lib/modules")
_DEVICE, _PEER = "here", "there"
_TIMEOUT_S = 20
_IPPROTO_TCP, _TCP_CONGESTION = 6, 13  # linux/in.h, linux/tcp.h
#: As the lab chooses one: by root it is loaded if need be, and need not be allowed.
_CHOOSE = (
    "import socket, sys; socket.socket().setsockopt("
    f"{_IPPROTO_TCP}, {_TCP_CONGESTION}, sys.argv[1].encode())"
)
_ADDRESS = ("ip", "-6", "addr", "add", "fd00::1/64", "dev", _DEVICE)
_LISTEN = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
#: The kernel doubles what it grants, and grants less than was asked: socket(7).
_ASK = (
    "import socket, sys; s = socket.socket(); name = getattr(socket, sys.argv[1]); "
    "size = int(sys.argv[2]); s.setsockopt(socket.SOL_SOCKET, name, size); "
    "got = s.getsockopt(socket.SOL_SOCKET, name) // 2; "
    "sys.exit(f'the kernel grants {got}' if got < size else 0)"
)
#: pfifo has no module of its own name.
_QDISC_OPTIONS = {"pfifo": "NET_SCH_FIFO"}

Try = Callable[[Sequence[str]], Finished]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something a kernel has to be able to do.

    commands: that have to succeed, in order, in a network namespace with one veth.
    module, option: what brings it, where that is known.
    """

    what: str
    commands: tuple[tuple[str, ...], ...]
    module: str = ""
    option: str = ""

    def script(self) -> str:
        """Return the shell script that tries it."""
        veth = ("ip", "link", "add", _DEVICE, "type", "veth", "peer", "name", _PEER)
        return "\n".join(shlex.join(each) for each in (veth, *self.commands))


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A need that this kernel does not meet, and what it said."""

    need: Need
    said: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.need.what}: {self.said}"


_CAPTURE = Need(
    what="packet sockets, for captures",
    commands=((sys.executable, "-I", "-S", "-c", _LISTEN),),
    module="af_packet",
    option="PACKET",
)


def qdisc_need(qdisc: Qdisc) -> Need:
    """Return the need of one qdisc, without those below it."""
    alone = Qdisc(kind=qdisc.kind, options=qdisc.options)
    kind = qdisc.kind
    return Need(
        what=f"qdisc {kind}",
        commands=tc_commands(_DEVICE, alone),
        module="" if kind in _QDISC_OPTIONS else f"sch_{kind}",
        option=_QDISC_OPTIONS.get(kind, f"NET_SCH_{kind.upper()}"),
    )


def congestion_need(name: str) -> Need:
    """Return the need of a congestion control."""
    return Need(
        what=f"congestion control {name}",
        commands=((sys.executable, "-I", "-S", "-c", _CHOOSE, name),),
        module=f"tcp_{name}",
        option=f"TCP_CONG_{name.upper()}",
    )


def link_size_need(name: str, size: int) -> Need:
    """Return the need of a size of links; beyond 64 KB it is BIG TCP."""
    command = ("ip", "link", "set", "dev", _DEVICE, name, str(size))
    return Need(what=f"{name} {size} on a veth", commands=(command,))


def needs_of(variant: Variant) -> tuple[Need, ...]:
    """Return what a variant needs of a kernel that has no patch of ours."""
    workload, path = variant.workload, variant.path
    needs = [
        Need(what="network namespaces with veth links", commands=(), option="VETH"),
        Need(what="IPv6 on a veth", commands=(_ADDRESS,), option="IPV6"),
        *((_CAPTURE,) if variant.capture else ()),
        *_qdisc_needs(towards_receiver(path), towards_sender(path)),
        *(link_size_need(*each) for each in path.link_sizes.items()),
        *_host_needs(variant.sender),
        *_host_needs(variant.receiver),
        *(congestion_need(each.congestion) for each in workload.each_group()),
        *_buffer_needs(workload),
    ]
    return tuple(dict.fromkeys(needs))


def _qdisc_needs(*qdiscs: Qdisc) -> Iterator[Need]:
    for qdisc in qdiscs:
        yield from map(qdisc_need, qdisc.chain())


def _host_needs(settings: HostSettings) -> Iterator[Need]:
    for name, value in settings.sysctls.items():
        write = ("sysctl", "-qw", f"{name}={value}")
        yield Need(what=f"sysctl {name} of a network namespace", commands=(write,))
    for feature, on in settings.offloads.items():
        state = "on" if on else "off"
        switch = ("ethtool", "-K", _DEVICE, feature, state)
        yield Need(what=f"{feature} {state} on a veth", commands=(switch,))
    for name, size in settings.link_sizes.items():
        yield link_size_need(name, size)
    if settings.qdisc is not None:
        yield from _qdisc_needs(settings.qdisc)


def _buffer_needs(workload: Workload) -> Iterator[Need]:
    """Yield the buffers that another program asks for; ours are forced past limits."""
    asked = (
        ("SO_SNDBUF", "wmem", workload.sndbuf),
        ("SO_RCVBUF", "rmem", workload.rcvbuf),
    )
    for option, limit, size in asked:
        if size is not None and workload.driver != "testbed":
            yield Need(
                what=f"{option} of {size} bytes, which takes a net.core.{limit}_max of "
                "at least that, on the whole host",
                commands=((sys.executable, "-I", "-S", "-c", _ASK, option, str(size)),),
            )


def missing(needs: Iterable[Need], attempt: Try | None = None) -> tuple[Missing, ...]:
    """Try each need on this kernel; return those that it does not meet. Takes root."""
    attempt = attempt or _attempt
    found = []
    for need in needs:
        done = attempt(try_argv(need))
        if done.status:
            said = done.output.strip().splitlines() or [f"exit status {done.status}"]
            found.append(Missing(need=need, said=said[-1]))
    return tuple(found)


def try_argv(need: Need) -> tuple[str, ...]:
    """Return the command that tries a need, in a network namespace of its own."""
    return ("unshare", "--net", "--", "sh", "-ec", need.script())


def _attempt(argv: Sequence[str]) -> Finished:
    return stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S)


def remedy(
    lacks: Sequence[Missing], release: str = "", modules: Path = _MODULES
) -> str:
    """Return what would give this kernel what it lacks. modules: where they lie."""
    release = release or os.uname().release
    names = sorted({each.need.module for each in lacks if each.need.module})
    options = sorted({each.need.option for each in lacks if each.need.option})
    ways = ["--machine uml, which has all of it"]
    if names and (modules / release).is_dir():
        ways.insert(
            0,
            f"modprobe -a {' '.join(names)} (where there is no such module: "
            f"apt-get install linux-modules-extra-{release})",
        )
    elif options:
        told = ", ".join(f"CONFIG_{each}" for each in options)
        ways.insert(0, f"boot a kernel with {told} (this one has no modules)")
    return "; or ".join(ways)
