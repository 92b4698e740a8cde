"""Scenarios for tests: a 40 ms path and a rack, whole and small."""

from pathlib import Path as FilePath

from builders import a_variant, a_workload

from testbed.model.settings import Tuning
from testbed.spec.experiment import Variant
from testbed.spec.load import load_experiment
from testbed.spec.path import Path
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings

#: The sender's captures of both variants of refine-tso-autosizing, on the kernel that
#: captures/reference/README.md names.
CAPTURES = FilePath(__file__).parents[2] / "captures/reference/refine-tso-autosizing"
FQ = HostSettings(qdisc=Qdisc(kind="fq"))
LONG = Path(rtt=40_000_000, rate=10**9, queue=1000)
RACK = Path(rtt=50_000, rate=10**10, queue=1000)
TUNING = Tuning(
    mss=1448,
    gso_max_size=65215,
    gso_max_segs=65535,
    limit_output_bytes=1 << 20,
    min_tso_segs=2,
    tso_win_divisor=3,
    tso_rtt_log=9,
    pacing_ss_ratio=200,
    pacing_ca_ratio=120,
    autocorking=True,
    wmem=(4096, 16384, 4194304),
    max_pacing_rate=None,
)


def the_variant(name: str) -> Variant:
    """Return a variant of refine-tso-autosizing."""
    variants = load_experiment("refine-tso-autosizing").variants
    return next(each for each in variants if each.name == name)


def a_stream(
    size: int, path: Path = LONG, sender: HostSettings = FQ, **given: object
) -> Variant:
    """Return a variant that sends size bytes in one send(), through fq."""
    message = {"bytes": size, "send_size": size, "sndbuf": 1_000_000}
    workload = a_workload(**(message | given))
    return a_variant(path=path, workload=workload, sender=sender)
