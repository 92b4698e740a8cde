"""The packets around what one would look for in a trace, each with why it has its size.

The first packet where kernel and model part, the first one sent again, the ACK that
acknowledges most, the longest pause, the largest packet. Start with moments.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from testbed.report.grid import Grid
from testbed.report.numbers import NOTHING, amount, count, milliseconds, plural
from testbed.report.plots import Side
from testbed.trace.attributed import CAUSES, UNTOLD
from testbed.trace.metrics import newly_acked
from testbed.trace.trace import Trace, again

#: So many packets and ACKs on either side of a moment are shown.
_AROUND = 5
#: In a row's last column: this is the one.
HERE = "\N{LEFTWARDS ARROW} this one"
_HEAD = ("ms since connect", "what", "from byte", "to byte", "segments", "cut by", "")
_KINDS = ("packet", "packet, sent again")
_BOTH = ("ms", "from byte", "bytes", "cut by")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One moment of a variant's transfer, in a sentence and as a table.

    packet: the row in the trace of the packet it is about, of an ACK the last before.
    begin, end: what the table covers, in ns since connect.
    """

    variant: str
    title: str
    grid: Grid
    packet: int
    begin: int
    end: int


def moments(
    sides: Sequence[Side], divergences: Mapping[str, int]
) -> tuple[Moment, ...]:
    """Return the moments of some variants.

    divergences: by variant, the row of the first packet that the model has otherwise.
    """
    return tuple(each for side in sides for each in _of(side, divergences))


def _of(side: Side, divergences: Mapping[str, int]) -> Iterator[Moment]:
    if not len(side.trace.seq):
        return
    if side.model is not None and side.name in divergences:
        yield _divergence(side, side.model, divergences[side.name])
    for find in (_sent_again, _largest_stretch, _longest_pause, _largest_packet):
        found: tuple[str, int] | None = find(side.trace)
        if found is not None:
            yield _around(side, *found)


def _sent_again(trace: Trace) -> tuple[str, int] | None:
    (rows,) = np.nonzero(again(trace))
    if not len(rows):
        return None
    title = f"the first of {plural(len(rows), 'packet')} sent again"
    return title, _packet(trace, rows[0])


def _largest_stretch(trace: Trace) -> tuple[str, int] | None:
    newly = newly_acked(trace)
    if not newly.any():
        return None
    at = int(np.argmax(newly))
    segments = plural(-(-int(newly[at]) // trace.mss), "segment")
    return f"the ACK that acknowledges most: {segments}", at


def _longest_pause(trace: Trace) -> tuple[str, int] | None:
    gaps = np.diff(trace.time_ns)
    if not len(gaps):
        return None
    at = int(np.argmax(gaps))
    pause = amount(int(gaps[at]), "ns")
    return f"after the longest pause: {pause}", _packet(trace, at + 1)


def _largest_packet(trace: Trace) -> tuple[str, int]:
    row = int(np.argmax(trace.length))
    size = amount(int(trace.length[row]), "bytes")
    return f"the first of the largest packets: {size}", _packet(trace, row)


def _packet(trace: Trace, row: int) -> int:
    """Return the number of an event that is a packet: they come after the ACKs."""
    return len(trace.ack) + int(row)


def _around(side: Side, title: str, event: int) -> Moment:
    """Return a moment, with what came before and after. event: an ACK's row, or see
    _packet.
    """
    trace, acks = side.trace, len(side.trace.ack)
    every = np.concatenate([trace.ack_time_ns, trace.time_ns])
    order = np.argsort(every, kind="stable")
    at = int(np.flatnonzero(order == event)[0])
    chosen = order[max(0, at - _AROUND) : at + _AROUND + 1].tolist()
    resent, newly = again(trace), newly_acked(trace)
    rows = (
        _ack_cells(trace, each, int(newly[each]))
        if each < acks
        else _packet_cells(side, each - acks, _KINDS[int(resent[each - acks])])
        for each in chosen
    )
    before = int(np.searchsorted(trace.time_ns, every[event], side="right")) - 1
    return Moment(
        variant=side.name,
        title=title,
        grid=Grid(
            title=f"{side.name}: {title}",
            head=_HEAD,
            rows=tuple(
                (*cells, HERE if each == event else "")
                for each, cells in zip(chosen, rows, strict=True)
            ),
            folded=True,
        ),
        packet=event - acks if event >= acks else max(0, before),
        begin=int(every[chosen[0]]) - trace.start_ns,
        end=int(every[chosen[-1]]) - trace.start_ns,
    )


def _packet_cells(side: Side, row: int, what: str) -> tuple[str, ...]:
    trace = side.trace
    return (
        milliseconds(int(trace.time_ns[row]) - trace.start_ns),
        what,
        count(int(trace.seq[row])),
        count(int(trace.seq[row] + trace.length[row])),
        count(-(-int(trace.length[row]) // trace.mss)),
        _cause(side, row),
    )


def _ack_cells(trace: Trace, row: int, newly: int) -> tuple[str, ...]:
    return (
        milliseconds(int(trace.ack_time_ns[row]) - trace.start_ns),
        "ACK",
        count(int(trace.ack[row]) - newly),
        count(int(trace.ack[row])),
        count(-(-newly // trace.mss)),
        "",
    )


def _cause(side: Side, row: int) -> str:
    if side.causes is None or side.causes[row] == UNTOLD:
        return NOTHING
    return CAUSES[int(side.causes[row])].value


def _divergence(side: Side, model: Side, index: int) -> Moment:
    """Return where kernel and model part: packet by packet, side by side."""
    title = f"kernel and model part at data packet #{count(index)}"
    rows = range(max(0, index - _AROUND), index + _AROUND + 1)
    both = zip_longest(
        _told(side, rows), _told(model, rows), fillvalue=(NOTHING,) * len(_BOTH)
    )
    names = (f"{who}:\n{what}" for who in ("kernel", "model") for what in _BOTH)
    packet = min(index, len(side.trace.seq) - 1)
    times = side.trace.time_ns[max(0, packet - _AROUND) : packet + _AROUND + 1]
    return Moment(
        variant=side.name,
        title=title,
        grid=Grid(
            title=f"{side.name}: {title}",
            head=("packet", *names, ""),
            rows=tuple(
                (f"#{count(row)}", *ours, *theirs, HERE if row == index else "")
                for row, (ours, theirs) in zip(rows, both, strict=False)
            ),
            folded=True,
        ),
        packet=packet,
        begin=int(times[0]) - side.trace.start_ns,
        end=int(times[-1]) - side.trace.start_ns,
    )


def _told(side: Side, rows: range) -> Iterator[tuple[str, ...]]:
    trace = side.trace
    for row in rows:
        if row < len(trace.seq):
            yield (
                milliseconds(int(trace.time_ns[row]) - trace.start_ns),
                count(int(trace.seq[row])),
                count(int(trace.length[row])),
                _cause(side, row),
            )
