"""A machine that runs nothing: it leaves the files a test asks for, or fails."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from testbed.errors import MachineLost
from testbed.machine.machine import Job, Outcome
from testbed.process import Stop
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import Arch, BuiltKernel
from testbed.trace.pcapng import PcapngWriter

#: One Ethernet frame: IPv4, TCP 10.0.1.2:1 > 10.0.2.2:2, seq 0, ACK flag, 100 bytes.
FRAME = bytes.fromhex(
    "020000000201020000000102" + "0800"
    "4500008c00004000400600000a0001020a000202"
    "00010002000000000000000050100200" + "00000000"
) + bytes(100)


@dataclass(eq=False)  # a machine is itself, as the real ones are
class FakeMachine:
    """Leaves a capture and counters behind. fails: variants in which it is lost."""

    name: str = "fake"
    clock: str = "virtual"
    arch: Arch = Arch.UM
    fails: frozenset[str] = frozenset()
    dropped: int = 0
    seeds: list[int] = field(default_factory=list)

    def check(self, experiment: Experiment) -> None:
        """Find that it can do anything."""

    def run(
        self,
        kernel: BuiltKernel,
        job: Job,
        on_line: Callable[[str], None],
        stop: Stop,
    ) -> Outcome:
        """Do as a machine does."""
        self.seeds.append(job.seed)
        on_line("lab: traffic")
        if job.folder.parent.name in self.fails:
            raise MachineLost("the guest panicked")
        for where in ("sender", "receiver"):
            write_capture(job.folder / f"{where}.pcapng", self.dropped)
        facts = {
            "counters": {"sender": {"TcpOutSegs": 10}, "receiver": {}},
            "tcp_info": [],
            "workload": {"bytes": 100, "begin_ns": 0, "end_ns": 9, "elapsed_ns": 9},
            "environment": {"hosts": {}, "counters": ["TcpOutSegs", "TcpRetransSegs"]},
        }
        for name, fact in facts.items():
            (job.folder / f"{name}.json").write_text(json.dumps(fact))
        return Outcome(status=0, wall_ns=2_000_000_000, virtual_ns=10_000_000_000)


def write_capture(path: Path, dropped: int = 0) -> None:
    """Write a capture of one data packet."""
    with path.open("wb") as stream:
        writer = PcapngWriter(stream, interface="h1-eth0", comment="here", snaplen=128)
        writer.packet(1_000, FRAME, len(FRAME), outgoing=True)
        writer.close(2_000, 1, dropped)
