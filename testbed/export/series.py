"""Packets as tables: one row a data packet or an ACK, as CSV or Parquet.

Columns: experiment, variant, repeat, said_by ("measured" or "model"), kind ("data" or
"ack"), time_ns (since the flow's start), seq and length (bytes; of data), ack and
window (bytes; of ACKs). seq and ack are relative: 0 is the first byte of payload.
Start with csv_text.
"""

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np

from testbed.errors import Unavailable
from testbed.export.voices import Voice, voices
from testbed.report.result import Result

COLUMNS = (
    *("experiment", "variant", "repeat", "said_by", "kind"),
    *("time_ns", "seq", "length", "ack", "window"),
)
_NUMBERS = ("repeat", "time_ns", "seq", "length", "ack", "window")
Row = tuple[str | int | None, ...]


def csv_text(results: Sequence[Result]) -> str:
    """Return all packets of some results as CSV; what a row has not is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(results))
    return stream.getvalue()


def parquet_bytes(results: Sequence[Result]) -> bytes:
    """Return the same as a Parquet file. Raises Unavailable without pyarrow."""
    try:
        import pyarrow  # noqa: PLC0415  # large, and for this alone
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise Unavailable(
            "Parquet needs pyarrow", remedy="python -m pip install pyarrow"
        ) from error
    columns = list(zip(*rows(results), strict=True)) or [()] * len(COLUMNS)
    types = (
        pyarrow.int64() if name in _NUMBERS else pyarrow.string() for name in COLUMNS
    )
    arrays = [
        pyarrow.array(column, of) for column, of in zip(columns, types, strict=True)
    ]
    packed = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays, names=COLUMNS), packed)
    return packed.getvalue()


def rows(results: Sequence[Result]) -> Iterator[Row]:
    """Yield the rows of some results: those of a trace by time, data before ACKs."""
    for result in results:
        for voice in voices(result):
            yield from _voice(result.experiment.name, voice)


def _voice(experiment: str, voice: Voice) -> Iterator[Row]:
    run, trace = voice.run.run, voice.trace
    head = (experiment, run.variant, run.repeat, voice.said_by)
    times = np.concatenate([trace.time_ns, trace.ack_time_ns]) - trace.start_ns
    sent = [
        ("data", seq, length, None, None)
        for seq, length in zip(trace.seq.tolist(), trace.length.tolist(), strict=True)
    ]
    came = [
        ("ack", None, None, ack, window)
        for ack, window in zip(
            trace.ack.tolist(), trace.ack_window.tolist(), strict=True
        )
    ]
    both = [*sent, *came]
    for at in np.argsort(times, kind="stable").tolist():
        kind, *values = both[at]
        yield (*head, kind, int(times[at]), *values)
