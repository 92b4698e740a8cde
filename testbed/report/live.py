"""The time-sequence picture as data, for the script that draws it: picture.js.

All packets and ACKs of each variant, and of its model, where there are few enough;
otherwise those that an eye could tell apart, and how many there were. Columns are
written as differences, which are short. Start with live_picture.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from testbed.report.numbers import count, plural
from testbed.report.plots import Side
from testbed.trace.attributed import CAUSES
from testbed.trace.trace import Column, Trace, again

#: So many packets of a variant are all drawn. A page of such is about a megabyte.
MOST_DRAWN = 20_000
#: Of more, each of so many slices of time has its first, last and largest one: more
#: slices than the widest picture has pixels.
SLICES = 5000
#: Retransmissions beyond these are thinned like everything else.
_MOST_AGAIN = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A picture's data. text: JSON.  thinned: a sentence each on what is left out."""

    text: str
    variants: tuple[str, ...]
    modelled: bool
    thinned: tuple[str, ...]


def live_picture(sides: Sequence[Side]) -> Live:
    """Return the data of the picture of some variants."""
    shown = {
        each.name: _rows_shown(each.trace)
        for side in sides
        for each in (side, side.model)
        if each is not None
    }
    variants = [_variant(side, shown) for side in sides]
    rules = [cause.value for cause in CAUSES]
    text = json.dumps({"causes": rules, "variants": variants}, separators=(",", ":"))
    return Live(
        text=text.replace("<", "\\u003c"),  # no name ends the script that holds it
        variants=tuple(side.name for side in sides),
        modelled=any(side.model for side in sides),
        thinned=tuple(
            f"{each.name}: {count(len(shown[each.name]))} of "
            f"{plural(len(each.trace.seq), 'packet')}"
            for side in sides
            for each in (side, side.model)
            if each is not None and len(shown[each.name]) < len(each.trace.seq)
        ),
    )


def _variant(side: Side, shown: Mapping[str, Column]) -> dict[str, object]:
    kernel, model = _voice(side, shown[side.name]), None
    if side.model is not None:
        model = _but_for(kernel, _voice(side.model, shown[side.model.name]))
    return {
        "name": side.name,
        "place": side.place,
        "mss": side.trace.mss,
        "kernel": kernel,
        "model": model,
    }


def _but_for(
    kernel: Mapping[str, object], model: Mapping[str, object]
) -> dict[str, object]:
    """Return the model's columns less those that are the kernel's, too: most are."""
    return {name: each for name, each in model.items() if each != kernel[name]}


def _voice(side: Side, rows: Column) -> dict[str, object]:
    """Return the columns of a trace: times in ns since connect, numbers in bytes.

    i: each packet's row in the trace.  t, s, l: its time, its first byte, its length.
    c: its cause's place in CAUSES; -1: unknown.  a: the rows that were sent again.
    at, aa, aw: of each ACK the time, the number, the window. All but l, c are
    differences: s from the byte that should come next, the others from the last value.
    """
    trace = side.trace
    acks = _acks_shown(trace)
    seq, length = trace.seq[rows], trace.length[rows]
    expected = np.concatenate([[0], (seq + length)[:-1]])[: len(rows)]
    causes = side.causes
    return {
        "n": len(trace.seq),
        "i": _differences(rows) if len(rows) < len(trace.seq) else None,
        "t": _differences(trace.time_ns[rows] - trace.start_ns),
        "s": (seq - expected).tolist(),
        "l": length.tolist(),
        "c": None if causes is None else causes[rows].tolist(),
        "a": np.flatnonzero(again(trace)[rows]).tolist(),
        "at": _differences(trace.ack_time_ns[acks] - trace.start_ns),
        "aa": _differences(trace.ack[acks]),
        "aw": _differences(trace.ack_window[acks]),
    }


def _differences(column: Column) -> list[int]:
    return [int(value) for value in np.diff(column, prepend=0)]


def _rows_shown(trace: Trace) -> Column:
    """Return the rows of the data packets that are drawn, in order."""
    if len(trace.seq) <= MOST_DRAWN:
        return np.arange(len(trace.seq))
    slices = _slices(trace.time_ns)
    largest = np.lexsort((-trace.length, slices))
    sent_again = np.flatnonzero(again(trace))[:_MOST_AGAIN]
    ends = _ends_of(slices)
    return np.unique(np.concatenate([*ends, largest[ends[0]], sent_again]))


def _acks_shown(trace: Trace) -> Column:
    if len(trace.ack) <= MOST_DRAWN:
        return np.arange(len(trace.ack))
    return np.unique(np.concatenate(_ends_of(_slices(trace.ack_time_ns))))


def _slices(times: Column) -> Column:
    """Return which of SLICES equal slices of the whole time each time is in."""
    since = np.maximum.accumulate(times) - times[0]
    slices: Column = since * SLICES // (int(since[-1]) + 1)
    return slices


def _ends_of(slices: Column) -> tuple[Column, Column]:
    """Return the first and the last row of each slice that has any."""
    starts = np.flatnonzero(np.diff(slices, prepend=-1))
    return starts, np.append(starts[1:], len(slices)) - 1
