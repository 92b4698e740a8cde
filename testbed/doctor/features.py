"""Rights, and what this host's own kernel can do.

Qdiscs and their like are tried in network namespaces of their own, which are gone with
the trial. Who is not root is root of a user namespace for it.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from testbed.doctor.finding import Finding, have, lack
from testbed.errors import Unavailable
from testbed.lab.perf import counting
from testbed.machine.needs import (
    Need,
    Try,
    congestion_need,
    link_size_need,
    missing,
    qdisc_need,
    remedy,
)
from testbed.process import Finished, stream
from testbed.spec.qdisc import Qdisc
from testbed.user import is_root

_TIMEOUT_S = 20.0
_RATE, _BURST = 10**9, 1 << 18
_QDISCS = (
    Qdisc(kind="fq"),
    Qdisc(kind="fq_codel"),
    Qdisc(kind="netem", options={"delay": 1_000_000, "rate": _RATE, "limit": 1000}),
    Qdisc(kind="tbf", options={"rate": _RATE, "burst": _BURST, "limit": 1 << 20}),
    Qdisc(kind="htb", options={"rate": _RATE, "burst": _BURST, "cburst": _BURST}),
)
_CONGESTIONS = ("cubic", "reno", "dctcp", "bbr")
_BIG = 185_000  # as the experiments of BIG TCP have it
_NAMESPACES = "namespaces"
_NEEDS: Mapping[str, Need] = {
    **{f"qdisc {each.kind}": qdisc_need(each) for each in _QDISCS},
    **{f"congestion control {each}": congestion_need(each) for each in _CONGESTIONS},
    "BIG TCP on veth": link_size_need("gso_max_size", _BIG),
}
#: A child that asks to be traced and stops: its parent sees it stop, and lets it go on.
_PTRACE = """\
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if not child:
    if libc.ptrace(0, 0, None, None):  # PTRACE_TRACEME
        os._exit(ctypes.get_errno())
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
status = os.waitpid(child, 0)[1]
if os.WIFEXITED(status):
    sys.exit("PTRACE_TRACEME: " + os.strerror(os.WEXITSTATUS(status)))
libc.ptrace(7, child, None, None)  # PTRACE_CONT
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def try_root() -> tuple[Finding, ...]:
    """Tell whether this is root, which only the machine host takes."""
    told = f"uid {os.geteuid()}"
    if is_root():
        return (have("root", told),)
    return (lack("root", told, "sudo python -m testbed ..., for the machine host"),)


def try_features(attempt: Try | None = None) -> tuple[Finding, ...]:
    """Try namespaces; in them qdiscs, congestion controls and BIG TCP."""
    attempt = attempt or _attempt
    empty = Need(what=_NAMESPACES, commands=(), option="VETH")
    first = _try_need(_NAMESPACES, empty, attempt)
    if not first.ok:
        told = "not tried: that takes a namespace"
        return (first, *(lack(name, told, first.remedy) for name in _NEEDS))
    return (first, *(_try_need(*each, attempt) for each in _NEEDS.items()))


def _try_need(name: str, need: Need, attempt: Try) -> Finding:
    lacks = missing([need], attempt)
    if lacks:
        return lack(name, lacks[0].said, remedy(lacks))
    where = "" if is_root() else ", as root of a user namespace"
    return have(name, f"works on {os.uname().release}{where}")


def _attempt(argv: Sequence[str]) -> Finished:
    if not is_root():
        argv = (argv[0], "--map-root-user", *argv[1:])
    try:
        return stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S)
    except Unavailable as error:
        return Finished(argv=tuple(argv), status=1, output=error.what)


def try_ptrace() -> tuple[Finding, ...]:
    """Trace a process, as a UML kernel does with those of its guest."""
    argv = (sys.executable, "-I", "-S", "-c", _PTRACE)
    done = stream(argv, lambda _line: None, timeout_s=_TIMEOUT_S)
    if done.status == 0:
        return (have("ptrace", "a child stopped under it, and went on"),)
    told = done.output.strip() or f"exit status {done.status}"
    fix = "sysctl kernel.yama.ptrace_scope=1; in a container, --cap-add SYS_PTRACE"
    return (lack("ptrace", told, fix),)


def try_counters() -> tuple[Finding, ...]:
    """Count some cycles, as the machine host does with those of its runs."""
    with counting() as cpu:
        sum(range(1000))
        counted = cpu.read()
    if counted:
        return (have("CPU counters", f"{' and '.join(counted)} are counted"),)
    told = "the kernel has none for this user (perf_event_open)"
    fix = (
        "sysctl kernel.perf_event_paranoid=1, or root; many guests have none: cpu and "
        "context_switches do without"
    )
    return (lack("CPU counters", told, fix),)
