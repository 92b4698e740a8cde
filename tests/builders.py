"""Records for tests: each is legal as it stands, and takes what a test is about."""

from collections.abc import Mapping
from pathlib import Path as FilePath

from testbed.spec.claim import Claim
from testbed.spec.experiment import Experiment, Patch, Variant
from testbed.spec.kernel import BuiltKernel, KernelIdentity
from testbed.spec.path import Path
from testbed.spec.settings import HostSettings
from testbed.spec.workload import Workload
from testbed.store import FORMAT, Run

IDENTITY = KernelIdentity(
    name="6.12",
    release="6.12.117",
    build_id="ab" * 20,
    config_sha256="cd" * 32,
    patches=("uml-seed.patch 0123456789ab",),
    source="linux-source-6.12 6.12.117-1",
    compiler="gcc (Debian 12.2.0-14) 12.2.0",
)
BUILT = BuiltKernel(image=FilePath("/cache/linux"), identity=IDENTITY)
PATCH = Patch(
    subject="tcp: a patch",
    author="A. Hacker",
    date="2014-12-05",
    commit="605ad7f184b6",
    version="v3.19",
    mail="<message@id>",
    fate="applied",
)


def a_workload(**given: object) -> Workload:
    plain: dict[str, object] = {
        "bytes": 1000,
        "duration": None,
        "send_size": 1000,
        "sndbuf": None,
        "rcvbuf": None,
        "congestion": "cubic",
        "pacing_rate": None,
        "family": 4,
        "sample_every": 1_000_000,
    }
    return Workload(**(plain | given))  # type: ignore[arg-type]


def a_variant(name: str = "before", **given: object) -> Variant:
    plain: dict[str, object] = {
        "about": f"the {name} side",
        "kernel": "6.12",
        "topology": "long_haul",
        "path": Path(rtt=40_000_000, rate=10**9, queue=1000),
        "switches": {},
        "sender": HostSettings(),
        "receiver": HostSettings(),
        "workload": a_workload(),
    }
    return Variant(name=name, **(plain | given))  # type: ignore[arg-type]


def a_claim(
    claimed: Mapping[str, float], within: float = 0.1, metric: str = "TcpOutSegs"
) -> Claim:
    return Claim(
        metric=metric,
        host="sender",
        claimed=claimed,
        within=dict.fromkeys(claimed, within),
        source="the mail",
        why="",
    )


def an_experiment(*claims: Claim) -> Experiment:
    return Experiment(
        name="an-experiment",
        question="Does it?",
        patch=PATCH,
        variants=(a_variant("before"), a_variant("after")),
        claims=claims,
    )


def a_run(folder: FilePath, variant: str = "before", repeat: int = 1) -> Run:
    return Run(
        format=FORMAT,
        state="void",
        why="",
        run_id="20260101T000000Z-abcd",
        experiment=an_experiment(),
        variant=variant,
        repeat=repeat,
        seed=1,
        machine="uml",
        clock="virtual",
        kernel=IDENTITY,
        command="python -m testbed run",
        version="0.1.0",
        wall_seconds=0.0,
        virtual_seconds=0.0,
        folder=folder,
    )
