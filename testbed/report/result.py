"""Result: everything a report shows of one experiment, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from testbed.measured import MeasuredRun
from testbed.predicted import Predicted, Unreached
from testbed.spec.experiment import Experiment
from testbed.store import Run
from testbed.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An experiment, its runs measured (in the order of its variants), the verdicts.

    predictions: by variant, held against its first run.  voids: runs that are void,
    and so were not measured.
    """

    experiment: Experiment
    runs: tuple[MeasuredRun, ...]
    verdicts: tuple[Verdict, ...]
    predictions: Mapping[str, Predicted | Unreached] = field(default_factory=dict)
    voids: tuple[Run, ...] = ()

    def __post_init__(self) -> None:
        if not all(each.run.whole for each in self.runs):
            raise ValueError("a void run is among those measured")

    def variants(self) -> Sequence[str]:
        """Return the names of the variants that were run, in the experiment's order."""
        return tuple(dict.fromkeys(each.run.variant for each in self.runs))

    def first(self, variant: str) -> MeasuredRun:
        """Return the first repeat of a variant: the one that is drawn."""
        return next(each for each in self.runs if each.run.variant == variant)

    def predicted(self, variant: str) -> Predicted | None:
        """Return what the model says of a variant, None where it does not reach."""
        found = self.predictions.get(variant)
        return found if isinstance(found, Predicted) else None

    def stored(self) -> Sequence[Run]:
        """Return every run as it was stored, the void ones last."""
        return (*(each.run for each in self.runs), *self.voids)
