"""Time-sequence pictures for xplot, as tcptrace -S draws them.

An up and a down arrow with a line between them is a data packet, green is what was
acknowledged, yellow how far the receiver's window reached, red what was sent again.
Start with xplot_text.
"""

from collections.abc import Iterator

import numpy as np

from testbed.trace.trace import Trace
from testbed.units import NS_PER_S


def xplot_text(trace: Trace, title: str) -> str:
    """Return a trace as an xplot file: seconds since its start across, bytes up."""
    lines = [
        *("timeval double", "title", " ".join(title.split())),
        *("xlabel", "time", "ylabel", "sequence number"),
        *_sent(trace),
        *_acknowledged(trace),
        "go",
    ]
    return "\n".join(lines) + "\n"


def _sent(trace: Trace) -> Iterator[str]:
    highest = 0
    for time_ns, seq, length in trace.segments():
        at, end = _seconds(time_ns - trace.start_ns), seq + length
        yield "red" if end <= highest else "white"
        yield f"darrow {at} {seq}"
        yield f"uarrow {at} {end}"
        yield f"line {at} {seq} {at} {end}"
        highest = max(highest, end)


def _acknowledged(trace: Trace) -> Iterator[str]:
    """Yield two stairs: what is acknowledged, and where the window ends."""
    times = [_seconds(time - trace.start_ns) for time in trace.ack_time_ns.tolist()]
    acks = np.maximum.accumulate(trace.ack) if len(trace.ack) else trace.ack
    ends = trace.ack + trace.ack_window
    for colour, heights in (("green", acks.tolist()), ("yellow", ends.tolist())):
        yield colour
        for before, now, low, high in zip(
            times, times[1:], heights, heights[1:], strict=False
        ):
            yield f"line {before} {low} {now} {low}"
            if high != low:
                yield f"line {now} {low} {now} {high}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns // NS_PER_S}.{time_ns % NS_PER_S:09d}"
