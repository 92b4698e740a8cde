"""An inspection as the JSON that other people's scripts rely on. Start with to_json.

Of one capture it is an object: {"format": 1, "file", "packets", "skipped", "dropped",
"warnings", "flows"}; of several, {"format": 1, "files": [...]}, each as of one. A flow
has the fields of FlowReport under the same names, its addresses and ports as src,
sport, dst, dport; with --series the columns of its Trace, as "series"; and with --model
the one that was fitted its "fit", see report/fitting.py. Keys are added, never renamed,
within a format number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from testbed.trace.inspection import FlowReport, Flows, Inspection
from testbed.trace.measurement import STATISTICS, Summaries

if TYPE_CHECKING:
    from testbed.model.fit import Fit

FORMAT = 1
_SERIES = ("time_ns", "seq", "length", "ack_time_ns", "ack", "ack_window")


def to_json(
    inspections: Sequence[Inspection],
    fits: Sequence[Mapping[int, "Fit"]] = (),
    *,
    series: bool = False,
) -> dict[str, Any]:
    """Return the object that stands for what was inspected.

    fits: of each inspection, by the places of the flows that were fitted.  series:
    whether to tell every packet, if it was kept.
    """
    objects = [
        _object(each, fitted or {}, series=series)
        for each, fitted in zip_longest(inspections, fits)
    ]
    if len(objects) == 1:
        return {"format": FORMAT, **objects[0]}
    return {"format": FORMAT, "files": objects}


def _object(
    inspection: Inspection, fits: Mapping[int, "Fit"], *, series: bool
) -> dict[str, Any]:
    flows = _flows(inspection.flows)
    for at, found in fits.items():
        # Not above: the model takes time to load, and most inspections do without.
        from testbed.report.fitting import fit_json  # noqa: PLC0415

        flows[at]["fit"] = fit_json(found)
    for flow, trace in zip(flows, inspection.traces if series else (), strict=False):
        flow["series"] = {name: getattr(trace, name).tolist() for name in _SERIES}
    return {
        "file": inspection.file,
        "packets": inspection.packets,
        "skipped": dict(inspection.skipped),
        "dropped": inspection.dropped,
        "warnings": list(inspection.warnings),
        "flows": flows,
    }


def _flows(flows: Flows) -> list[dict[str, Any]]:
    """Return an object a flow, made of columns: one by one it would take long."""
    told: dict[str, Iterable[Any]] = {}
    for name, column in flows.columns().items():
        if isinstance(column, Summaries):
            told[name] = _summaries(column)
        elif name == "flow":
            told |= {end: [getattr(each, end) for each in column] for end in _ENDS}
        else:
            told[name] = [each.value for each in column] if name in _ENUMS else column
    ordered = [told[name] for name in _FIELDS]
    return [dict(zip(_FIELDS, row, strict=True)) for row in zip(*ordered, strict=True)]


_ENDS = ("src", "sport", "dst", "dport")
_ENUMS = ("mss_source", "vantage")
_FIELDS = (
    *_ENDS,
    *(field.name for field in fields(FlowReport) if field.name != "flow"),
)


def _summaries(column: Summaries) -> Iterator[dict[str, int | float | None]]:
    for n, found in column.rows():
        if n:
            mean, p50, p90, p99, most = found
            told = {"mean": mean, "p50": p50, "p90": p90, "p99": p99, "max": most}
            yield {"n": n, **told}
        else:
            yield {"n": 0, **dict.fromkeys(STATISTICS)}
