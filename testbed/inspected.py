"""An inspection as the JSON that other people's scripts rely on. Start with to_json.

Of one capture it is an object: {"format": 1, "file", "packets", "skipped", "dropped",
"warnings", "flows"}; of several, {"format": 1, "files": [...]}, each as of one. A flow
has the fields of FlowReport under the same names, its addresses and ports as src,
sport, dst, dport; with --series the columns of its Trace, as "series"; and with --model
the one that was fitted its "fit", see report/fitting.py. Keys are added, never renamed,
within a format number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from testbed.trace.inspection import FlowReport, Inspection
from testbed.trace.measurement import Summary

if TYPE_CHECKING:
    from testbed.model.fit import Fit

FORMAT = 1
_SERIES = ("time_ns", "seq", "length", "ack_time_ns", "ack", "ack_window")
_STATISTICS = ("n", "mean", "p50", "p90", "p99", "max")


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
    flows = [_flow(report) for report in inspection.flows]
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


def _flow(report: FlowReport) -> dict[str, Any]:
    flow = report.flow
    named = {
        "src": flow.src,
        "sport": flow.sport,
        "dst": flow.dst,
        "dport": flow.dport,
    }
    told = {name: _plain(getattr(report, name)) for name in _FIELDS}
    return {**named, **told}


_FIELDS = tuple(field.name for field in fields(FlowReport) if field.name != "flow")


def _plain(value: object) -> Any:
    if isinstance(value, Summary):
        return {name: getattr(value, name) for name in _STATISTICS}
    if isinstance(value, Enum):
        return value.value
    return dict(value) if isinstance(value, Mapping) else value
