"""Results in a line of words each, the same on the terminal and on the page."""

from collections.abc import Sequence

from testbed.report.numbers import listed, plural
from testbed.report.result import Result
from testbed.spec.claim import Claim
from testbed.spec.experiment import Scale
from testbed.store import Run
from testbed.verdict import VerdictKind

_BUILD_ID_DIGITS = 12


def summary(result: Result) -> str:
    """Count the verdicts: "2 of 3 claims reproduced; 1 direction only"."""
    if not result.verdicts:
        return "void: no verdict" if result.voids else "no claim was made"
    kinds = [verdict.kind for verdict in result.verdicts]
    others = [
        f"{kinds.count(kind)} {kind.value}"
        for kind in VerdictKind
        if kind in kinds and kind is not VerdictKind.REPRODUCED
    ]
    done = kinds.count(VerdictKind.REPRODUCED)
    head = f"{done} of {plural(len(kinds), 'claim')} reproduced"
    return "; ".join((head, *others))


def named(claim: Claim) -> str:
    """Name a claim as a test: "throughput at the sender by before"."""
    relative = f" by {claim.relative_to}" if claim.relative_to else ""
    return f"{claim.metric} at the {claim.host}{relative}"


def ran_on(result: Result) -> Sequence[str]:
    """Say which kernel and machine ran; one line if all variants had the same."""
    ran: dict[str, list[str]] = {}
    for run in result.stored():
        variants = ran.setdefault(_where(run), [])
        variants.extend({run.variant} - set(variants))
    if len(ran) == 1:
        return (*ran, *_scale(result))
    where = (f"{listed(variants)}: {where}" for where, variants in ran.items())
    return (*where, *_scale(result))


def _scale(result: Result) -> Sequence[str]:
    """Say that a quick form was run, and so not what was published."""
    if result.experiment.scale is Scale.FULL:
        return ()
    return ("scale quick; run --full sends what was published",)


def void(run: Run) -> str:
    """Say why a run is void."""
    return f"void: {run.variant}, repeat {run.repeat}: {run.why}"


def _where(run: Run) -> str:
    kernel = run.kernel
    build = f"build id {kernel.build_id[:_BUILD_ID_DIGITS]}"
    patched = plural(len(kernel.patches), "patch", "patches")
    told = f"kernel {kernel.release} ({build}, {patched})"
    return f"{told}, machine {run.machine}, {run.clock} clock"
