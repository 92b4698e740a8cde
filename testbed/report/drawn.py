"""Drawn: a result with all that takes time to draw, so that two pages need it once.

Start with draw.
"""

from dataclasses import dataclass

from testbed.report.figures import Figure, figures, sides_of
from testbed.report.live import Live, live_picture
from testbed.report.moments import Moment, moments
from testbed.report.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A result and its pictures. live: None where no packet was seen."""

    result: Result
    figures: tuple[Figure, ...]
    live: Live | None
    moments: tuple[Moment, ...]


def draw(result: Result) -> Drawn:
    """Return a result with its pictures."""
    sides = sides_of(result)
    seen = any(len(side.trace.seq) for side in sides)
    return Drawn(
        result=result,
        figures=figures(sides),
        live=live_picture(sides) if seen else None,
        moments=moments(sides, _divergences(result)),
    )


def _divergences(result: Result) -> dict[str, int]:
    """Return, by variant, the first data packet that the model has otherwise."""
    matches = {
        name: predicted.match
        for name in result.variants()
        if (predicted := result.predicted(name)) is not None
    }
    return {
        name: match.first_divergence.index
        for name, match in matches.items()
        if match is not None and match.first_divergence is not None
    }
