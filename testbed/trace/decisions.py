"""What the kernel said of each data packet it cut, and why each has its size.

Read from decisions.csv: what the tracepoint tcp:tcp_xmit_decision of our patch
tcp-xmit-decision printed, a line a packet. Start with read_decisions and causes.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from testbed.errors import StoreError
from testbed.trace.causes import Cause, Decision, cause
from testbed.trace.trace import Column

#: The tracepoint's held bits, TCP_XMIT_*, to the rule that kept the packet. Where more
#: than one is set the first here counts: what TCP paces itself waits for its time
#: first, and for room below after that.
_HELD = ((1, Cause.DEFER_RELEASE), (4, Cause.PACING), (2, Cause.TSQ))
_HELD_BY = tuple(
    next((rule for bit, rule in _HELD if held & bit), None) for held in range(8)
)
_SEQUENCE_SPACE = 1 << 32
_BODY = b"0123456789,\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What the sender knew of each data packet as it handed it down, a row a packet.

    Names and units are the kernel's, but seq, wnd_end and snd_una are relative: 0 is
    the first byte of payload.  length: bytes sent.  queued, limit: bytes of its skb,
    and what of it was allowed to leave.  tail: 1 where the write queue ended with it.
    held: TCP_XMIT_* bits.  pacing_rate: bytes/s.  srtt_us: times 8.  wmem_alloc: bytes
    below the socket, and 1.
    """

    seq: Column
    length: Column
    queued: Column
    limit: Column
    cwnd_quota: Column
    max_segs: Column
    mss_now: Column
    tail: Column
    held: Column
    wnd_end: Column
    snd_una: Column
    snd_cwnd: Column
    snd_ssthresh: Column
    packets_out: Column
    pacing_rate: Column
    srtt_us: Column
    min_rtt: Column
    wmem_alloc: Column

    def __len__(self) -> int:
        return len(self.seq)


COLUMNS = tuple(field.name for field in fields(Decisions))
_FLOW = ("sport", "dport")


def read_decisions(path: Path) -> Decisions:
    """Read decisions.csv; raises StoreError when it is no such file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return parse_decisions(data, str(path))


def parse_decisions(data: bytes, name: str) -> Decisions:
    """Read decisions.csv from bytes. name: the file's, for what is said about it.

    Columns may come in any order, and others beside them.
    """
    head, _, body = data.partition(b"\n")
    names = head.decode("ascii", "replace").split(",")
    if missing := [each for each in (*_FLOW, *COLUMNS) if names.count(each) != 1]:
        raise StoreError(f"{name}, line 1: wanted one column {missing[0]!r}")
    table = _table(body, len(names), name)
    columns = {each: table[:, names.index(each)] for each in (*_FLOW, *COLUMNS)}
    _check(columns, name)
    decided = {each: columns[each] for each in COLUMNS}
    return Decisions(**(decided | _relative(columns)))


def causes(decisions: Decisions, built_by: Cause) -> tuple[Cause, ...]:
    """Return which rule gave each packet its size.

    built_by: the rule that sized the skbs, for packets sent as they were built.
    """
    rows = zip(
        decisions.queued.tolist(),
        decisions.limit.tolist(),
        decisions.cwnd_quota.tolist(),
        decisions.max_segs.tolist(),
        decisions.mss_now.tolist(),
        (decisions.wnd_end - decisions.seq).tolist(),
        decisions.tail.astype(bool).tolist(),
        (_HELD_BY[bits] for bits in decisions.held.tolist()),
        strict=True,
    )
    return tuple(cause(Decision(*row), built_by) for row in rows)


def _table(body: bytes, width: int, name: str) -> Column:
    """Return rows of whole numbers, each of which fits 64 bits."""
    if not body:
        return np.empty((0, width), np.int64)
    # loadtxt() takes signs, floats, comments, empty lines and a last line that was cut.
    blank = b"\n\n" in b"\n" + body
    if body.translate(None, _BODY) or blank or not body.endswith(b"\n"):
        raise StoreError(f"{name}: wanted lines of numbers with commas between them")
    try:
        table = np.loadtxt(io.BytesIO(body), np.uint64, delimiter=",", ndmin=2)
    except (ValueError, OverflowError) as error:
        raise StoreError(f"{name}: {error}") from error
    if table.shape[1] != width:
        raise StoreError(f"{name}: wanted {width} columns, got {table.shape[1]}")
    # sk_pacing_rate is ~0 until there is one.
    return np.minimum(table, np.uint64(np.iinfo(np.int64).max)).astype(np.int64)


def _check(columns: Mapping[str, Column], name: str) -> None:
    """Raise StoreError for what the tracepoint does not print of one flow."""
    for each, column in columns.items():
        if each != "pacing_rate" and (column >= _SEQUENCE_SPACE).any():
            raise StoreError(f"{name}: a value of {each} does not fit 32 bits")
    if (columns["held"] >= len(_HELD_BY)).any():
        raise StoreError(f"{name}: held is {columns['held'].max()}; wanted 0 to 7")
    flows = np.unique(np.stack([columns[each] for each in _FLOW]), axis=1)
    if flows.shape[1] > 1:
        raise StoreError(f"{name}: wanted one flow, got {flows.shape[1]}")


def _relative(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the sequence numbers unwrapped and relative to the first packet's."""
    seq = columns["seq"]
    unwrapped = np.cumsum(_signed(np.diff(seq, prepend=seq[:1])))
    ahead = {each: _signed(columns[each] - seq) for each in ("wnd_end", "snd_una")}
    return {"seq": unwrapped} | {each: unwrapped + by for each, by in ahead.items()}


def _signed(distance: Column) -> Column:
    """Return distances between sequence numbers as before() in net/tcp.h has them."""
    half = _SEQUENCE_SPACE // 2
    return (distance + half) % _SEQUENCE_SPACE - half
