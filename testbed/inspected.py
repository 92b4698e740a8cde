"""An inspection as the JSON that other people's scripts rely on. Start with to_json.

Of one capture it is an object: {"format": 1, "file", "packets", "skipped", "dropped",
"warnings", "flows"}; of several, {"format": 1, "files": [...]}, each as of one. A flow
has the fields of FlowReport under the same names, its addresses and ports as src,
sport, dst, dport; with --series the columns of its Trace, as "series"; and with --model
the one that was fitted its "fit", see report/fitting.py. Keys are added, never renamed,
within a format number.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import compress, islice, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from testbed.trace.inspection import FlowReport, Inspection
from testbed.trace.measurement import STATISTICS, Summaries

if TYPE_CHECKING:
    from testbed.model.fit import Fit

FORMAT = 1
_SERIES = ("time_ns", "seq", "length", "ack_time_ns", "ack", "ack_window")


#: Flows told at a time: enough to be worth it, and few enough for the cache.
_TOGETHER = 1 << 8


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
        {**_file(each), "flows": list(_flows(each, fitted or {}, series=series))}
        for each, fitted in zip_longest(inspections, fits)
    ]
    if len(objects) == 1:
        return {"format": FORMAT, **objects[0]}
    return {"format": FORMAT, "files": objects}


def encoded(
    inspections: Sequence[Inspection],
    fits: Sequence[Mapping[int, "Fit"]] = (),
    *,
    only: Sequence[Sequence[int]] = (),
    series: bool = False,
) -> Iterator[str]:
    """Yield that object in JSON, some flows at a time: there may be a million.

    only: the places of the flows to tell of each inspection; of all if there are none.
    """
    opened = _dumped({"format": FORMAT})[:-1] + ","
    several = len(inspections) != 1
    yield opened + '"files":[' if several else opened
    every = zip_longest(inspections, fits, only)
    for number, (each, fitted, places) in enumerate(every):
        head = _dumped(_file(each))[:-1] + ',"flows":['
        yield ("," if number else "") + head if several else head[1:]
        flows, comma = _flows(each, fitted or {}, series=series), ""
        if places is not None:
            told = set(places)
            flows = compress(flows, (at in told for at in range(len(each.flows))))
        while some := list(islice(flows, _TOGETHER)):
            yield comma + _dumped(some)[1:-1]
            comma = ","
        yield "]}"
    yield "]}" if several else ""


def _dumped(told: Any) -> str:
    import orjson  # noqa: PLC0415  # only --json needs it

    try:
        return orjson.dumps(told).decode()
    except orjson.JSONEncodeError:  # the name of a file that is no UTF-8
        return json.dumps(told, allow_nan=False, separators=(",", ":"))


def _file(inspection: Inspection) -> dict[str, Any]:
    return {
        "file": inspection.file,
        "packets": inspection.packets,
        "skipped": dict(inspection.skipped),
        "dropped": inspection.dropped,
        "warnings": list(inspection.warnings),
    }


def _flows(
    inspection: Inspection, fits: Mapping[int, "Fit"], *, series: bool
) -> Iterator[dict[str, Any]]:
    """Yield an object a flow, made of columns: one by one it would take long."""
    columns, number = inspection.flows.columns(), len(inspection.flows)
    for start in range(0, number, _TOGETHER):
        for at, flow in enumerate(_some(columns, start), start=start):
            if at in fits:
                # Not above: the model takes time to load, and few inspections need it.
                from testbed.report.fitting import fit_json  # noqa: PLC0415

                flow["fit"] = fit_json(fits[at])
            if series and inspection.traces:
                trace = inspection.traces[at]
                flow["series"] = {
                    name: getattr(trace, name).tolist() for name in _SERIES
                }
            yield flow


def _some(columns: Mapping[str, Any], start: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of the flows from a place on that are told together."""
    told: dict[str, Iterable[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, Summaries):
            told[name] = _summaries(column, start)
            continue
        some = column[start : start + _TOGETHER]
        if name == "flow":
            told |= {end: map(attrgetter(end), some) for end in _ENDS}
        else:
            told[name] = map(attrgetter("value"), some) if name in _ENUMS else some
    for row in zip(*(told[name] for name in _FIELDS), strict=True):
        yield dict(zip(_FIELDS, row, strict=True))


_ENDS = ("src", "sport", "dst", "dport")
_ENUMS = ("mss_source", "vantage")
_FIELDS = (
    *_ENDS,
    *(field.name for field in fields(FlowReport) if field.name != "flow"),
)


def _summaries(column: Summaries, start: int) -> list[dict[str, int | float | None]]:
    none = {"n": 0, **dict.fromkeys(STATISTICS)}
    some = slice(start, start + _TOGETHER)
    rows = zip(column.n[some].tolist(), column.statistics[some].tolist(), strict=True)
    return [
        {"n": n, "mean": mean, "p50": p50, "p90": p90, "p99": p99, "max": most}
        if n
        else none
        for n, (mean, p50, p90, p99, most) in rows
    ]
