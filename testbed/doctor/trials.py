"""All trials there are. Each has its deadlines, and leaves nothing behind."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from testbed.doctor.features import try_counters, try_features, try_ptrace, try_root
from testbed.doctor.finding import Finding
from testbed.doctor.guests import try_kvm, try_tcg, try_uml
from testbed.doctor.tools import try_compiler, try_disk, try_sources, try_tools

Trial = Callable[[], tuple[Finding, ...]]
#: In the order in which they are shown.
TRIALS: Sequence[Trial] = (
    try_root,
    try_features,
    try_ptrace,
    try_counters,
    try_uml,
    try_kvm,
    try_tcg,
    try_compiler,
    try_sources,
    try_disk,
    try_tools,
)


def findings(trials: Sequence[Trial] = TRIALS) -> tuple[Finding, ...]:
    """Try everything, some of it side by side; return what was found, in order.

    It takes as long as the slowest guest takes to boot, or not to.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        groups = pool.map(lambda trial: trial(), trials)
        return tuple(finding for group in groups for finding in group)
