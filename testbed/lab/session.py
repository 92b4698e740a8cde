"""One variant, from an empty machine to files: the whole of what happens in a guest.

Read run_variant top to bottom: network, settings, path, captures, traffic, facts.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from testbed.errors import InfrastructureError
from testbed.lab.capture import check_drops, record
from testbed.lab.child import Child, child_on
from testbed.lab.clock import be_punctual, sleep_to_grid
from testbed.lab.decisions import recording, save
from testbed.lab.driven import receive_driven, send_driven
from testbed.lab.environment import describe
from testbed.lab.fidelity import EXACT, REAL, asked_of, describe_path, wrongs
from testbed.lab.files import write_json
from testbed.lab.flows import receive_flows, send_flows
from testbed.lab.memory import room_for_buffers, room_for_flows
from testbed.lab.net import Network, running
from testbed.lab.probe import measure_path, queue_shown
from testbed.lab.randomness import restart_randomness
from testbed.lab.settings import (
    apply_link_sizes,
    apply_mtu,
    apply_settings,
    apply_switches,
    check_mtu,
    check_path,
)
from testbed.lab.traffic import receive, send
from testbed.spec.experiment import Variant
from testbed.spec.path import router_mtu
from testbed.spec.workload import PORT, Workload

#: In virtual time each stage starts when the clock reads a multiple of its grid. How
#: long the stage before took depends on the host's files and the length of their names
#: (a clock read costs 256 ns, a failed system call 1 us); were that to shift the timers
#: that a stage starts, it would shift packets too.
_STAGE_GRID_NS = 1_000_000_000
_TRAFFIC_GRID_NS = 10_000_000_000
_READY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a run depends on besides its variant.

    clock: "virtual" or "real".  run_id: of a run that shares its kernel with others.
    patient: whether time may pass in which nothing could be done.
    """

    clock: str
    seed: int
    run_id: str = ""
    patient: bool = False

    @property
    def exact(self) -> bool:
        """Tell whether no work takes time: then packets are due to the nanosecond."""
        return self.clock == "virtual" and not self.patient

    @property
    def own_processors(self) -> dict[str, int]:
        """Return the processor that each end is to keep to, where time is real.

        Nothing where there is but one.
        """
        allowed = sorted(os.sched_getaffinity(0))
        if self.clock != "real" or len(allowed) == 1:
            return {}
        return {"sender": allowed[-1], "receiver": allowed[-2]}

    @property
    def ready_s(self) -> float | None:
        """How long a child may be silent; None: for as long as the machine lasts."""
        return None if self.patient else _READY_S


def run_variant(
    variant: Variant, conditions: Conditions, folder: Path, say: Callable[[str], None]
) -> None:
    """Run a variant on this machine and leave its facts in folder.

    Files: sender.pcapng, receiver.pcapng, counters.json, tcp_info.json,
    environment.json, workload.json; decisions.csv and decisions.json where the kernel
    tells why the first flow's packets have their sizes; latency.json of transactions.
    """
    be_punctual()
    with ExitStack() as stack:
        say("network")
        _align(conditions, _STAGE_GRID_NS)
        restart_randomness(conditions.seed)
        network = stack.enter_context(
            running(variant.topology, variant.path, conditions.run_id)
        )
        _apply(network, variant)
        _check_path(network, variant, conditions, folder)
        _align(conditions, _STAGE_GRID_NS)
        captures = _start_captures(stack, network, folder) if variant.capture else {}
        decided = _start_decisions(stack, variant) if variant.capture else None
        ends = _start_traffic(stack, network, variant, conditions.own_processors)
        for child in (*captures.values(), *ends.values()):
            child.hear(conditions.ready_s)
        say("traffic")
        _align(conditions, _TRAFFIC_GRID_NS)
        restart_randomness(conditions.seed)
        facts = _transfer(ends, variant, conditions.ready_s)
        for where, child in captures.items():
            child.tell("stop")
            check_drops(where, *child.hear(conditions.ready_s))
        if decided is not None:
            facts["decisions"] = {"lost": save(decided, folder / "decisions.csv")}
        for name, fact in facts.items():
            write_json(folder / f"{name}.json", fact)
        say("done")


def _ends(network: Network) -> dict[str, Any]:
    return {"sender": network.sender, "receiver": network.receiver}


def _apply(network: Network, variant: Variant) -> None:
    apply_switches(dict(variant.switches))
    for host in network.hosts():
        apply_link_sizes(host, variant.path.link_sizes)
    apply_settings(network.sender, variant.sender)
    apply_settings(network.receiver, variant.receiver)
    check_path(network.router)
    for host in (network.sender, network.receiver):
        check_mtu(host, variant.path.mtu)
    wanted = router_mtu(variant.path)
    if wanted != variant.path.mtu:
        apply_mtu(network.router, wanted)
    check_mtu(network.router, wanted)


def _check_path(
    network: Network, variant: Variant, conditions: Conditions, folder: Path
) -> None:
    """Measure the path, write the environment with it; raise if it is not as asked."""
    bounds = EXACT if conditions.exact else REAL
    asked = asked_of(variant.path, bounds)
    shown = queue_shown(network, asked.queue, variant.path.mtu)
    seen = measure_path(network, asked, bounds)
    told = {
        **describe(network),
        "path": describe_path(asked, seen, shown),
        "pinned_inside": conditions.own_processors,
    }
    write_json(folder / "environment.json", told)
    wrong = wrongs(asked, seen, shown, bounds)
    if wrong:
        raise InfrastructureError(f"the path is not as asked for: {'; '.join(wrong)}")


def _start_captures(
    stack: ExitStack, network: Network, folder: Path
) -> dict[str, Child]:
    return {
        where: stack.enter_context(
            child_on(
                host,
                f"capture at the {where}",
                record(host.device, f"at the {where}", folder / f"{where}.pcapng"),
            )
        )
        for where, host in _ends(network).items()
    }


def _start_decisions(stack: ExitStack, variant: Variant) -> Path | None:
    return stack.enter_context(recording(PORT, variant.workload.known_by))


def _start_traffic(
    stack: ExitStack,
    network: Network,
    variant: Variant,
    processors: dict[str, int],
) -> dict[str, Child]:
    workload = variant.workload
    if not workload.is_one_stream:
        stack.enter_context(room_for_flows())
    if workload.driver != "testbed":
        stack.enter_context(room_for_buffers(workload.sndbuf, workload.rcvbuf))
    works = _works(workload, network.address(workload.family))
    return {
        name: stack.enter_context(
            child_on(_ends(network)[name], name, work, processors.get(name))
        )
        for name, work in works.items()
    }


def _works(workload: Workload, address: str) -> dict[str, Callable[[Connection], None]]:
    """Return what each end does."""
    receives, sends = receive_flows, send_flows
    if workload.driver != "testbed":
        receives, sends = receive_driven, send_driven
    elif workload.is_one_stream:
        receives, sends = receive, send
    return {"receiver": receives(workload), "sender": sends(workload, address)}


def _transfer(
    ends: dict[str, Child], variant: Variant, ready_s: float | None
) -> dict[str, Any]:
    for end in ("receiver", "sender"):  # the sender connects at once
        ends[end].tell("start")
        ends[end].hear(ready_s)
    sent = ends["sender"].hear()
    received = ends["receiver"].hear(ready_s)
    if received["bytes"] not in (None, sent["bytes"]):
        raise InfrastructureError(
            f"the sender sent {sent['bytes']} bytes, "
            f"the receiver has {received['bytes']}"
        )
    # The last ACK is still under way to the receiver.
    time.sleep((variant.path.rtt + 10_000_000) / 1e9)
    for child in ends.values():
        child.tell("finish")
    facts = {
        "counters": {name: child.hear(ready_s) for name, child in ends.items()},
        "tcp_info": sent.pop("tcp_info"),
    }
    if "latency_ns" in sent:
        facts["latency"] = sent.pop("latency_ns")
    elapsed_ns = sent["end_ns"] - sent["begin_ns"]
    return {
        **facts,
        "workload": {**sent, "elapsed_ns": elapsed_ns, "receiver": received},
    }


def _align(conditions: Conditions, grid_ns: int) -> None:
    if conditions.clock == "virtual":
        sleep_to_grid(grid_ns)
