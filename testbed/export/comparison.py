"""The JSON of `compare --json`."""

from typing import Any

from testbed.report.comparing import Comparison, Pair, Row, Side

FORMAT = 1


def comparison_json(found: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values; within a format keys are only ever added.

    Lists of values, ranges and ratios have one entry a side, in the order of "sides".
    """
    return {
        "format": FORMAT,
        "sides": [_side(each) for each in found.sides],
        "same": list(found.same),
        "differences": [
            {"variants": each.pair or None, "what": each.what, "values": each.values}
            for each in found.differences
        ],
        "unpaired": {label: list(names) for label, names in found.unpaired.items()},
        "variants": [_pair(each) for each in found.pairs],
    }


def _side(side: Side) -> dict[str, Any]:
    run = side.runs[0].run
    return {
        "label": side.label,
        "experiment": run.experiment.name,
        "run_id": run.run_id,
        "folders": [str(each.run.folder) for each in side.runs],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {"names": list(pair.names), "figures": [_row(row) for row in pair.rows]}


def _row(row: Row) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "name": row.name,
        "host": row.host,
        "unit": row.unit,
        "values": list(row.values),
        "ranges": list(row.ranges),
        "ratios": [row.ratio(at) for at in range(len(row.values))],
    }
