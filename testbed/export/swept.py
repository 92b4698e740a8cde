"""The JSON and the CSV of a sweep."""

import csv
import io
from typing import Any

from testbed.report.swept import Swept

FORMAT = 1


def swept_json(swept: Swept) -> dict[str, Any]:
    """Return a sweep as JSON values; within a format keys are only ever added."""
    return {
        "format": FORMAT,
        "experiment": swept.experiment.name,
        "axes": [{"key": each.key, "values": each.values} for each in swept.axes],
        "points": [
            {
                "at": _at(swept, each.at),
                "run_id": each.run_id,
                "variants": {name: dict(found) for name, found in each.figures.items()},
            }
            for each in swept.points
        ],
        "broken": [{"at": _at(swept, at), "why": why} for at, why in swept.broken],
    }


def swept_csv(swept: Swept) -> str:
    """Return a row a point and variant: its place, its run, then every figure."""
    every = (
        name
        for each in swept.points
        for figures in each.figures.values()
        for name in figures
    )
    names = tuple(dict.fromkeys(every))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    keys = (axis.key for axis in swept.axes)
    writer.writerow((*keys, "variant", "run_id", *names))
    for each in swept.points:
        for variant, figures in each.figures.items():
            values = (figures.get(name, "") for name in names)
            writer.writerow((*each.at, variant, each.run_id, *values))
    return stream.getvalue()


def _at(swept: Swept, at: tuple[str, ...]) -> dict[str, str]:
    return {axis.key: each for axis, each in zip(swept.axes, at, strict=True)}
