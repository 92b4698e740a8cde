"""The terminal's tables of an inspection: the first flows, or one in full."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.report.numbers import NOTHING, amount, count, plural
from testbed.report.plain import printable
from testbed.trace.inspection import FlowReport, Inspection
from testbed.trace.measurement import Summary
from testbed.trace.vantage import Vantage

_METRICS = {
    "tso_size": "bytes",
    "tso_segs": "segments",
    "ack_stretch": "segments",
    "send_gap": "ns",
    "ack_gap": "ns",
    "rtt": "ns",
    "burst": "packets",
    "burst_gap": "ns",
    "pace": "bit/s",
}
_COUNTS = {
    "retransmits": "retransmitted",
    "late": "late",
    "reordered": "reordered",
    "dup_acks": "duplicate ACKs",
    "dsacks": "D-SACKs",
    "zero_windows": "zero windows",
}
_ENDPOINT = len("255.255.255.255:65535 >")
_STATISTICS = ("mean", "p50", "p90", "p99", "max")


def flows_table(inspection: Inspection, rows: Sequence[int]) -> RenderableType:
    """Return a line a flow for those asked for, below what the file holds.

    Segments a packet and an ACK are p50 and p99; rtt and pace are p50.
    """
    table = _table()
    table.add_column("#", justify="right")
    table.add_column("flow", overflow="fold", min_width=_ENDPOINT)
    for name in ("packets", "bytes", "segs", "stretch", "rtt", "pace", "resent"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("seen at")
    for row in rows:
        _add_flow(table, row, inspection.flows[row])
    total = len(inspection.flows)
    shown = f", {len(rows)} shown" if len(rows) < total else ""
    return Group(*_heading(inspection), Text(f"{plural(total, 'flow')}{shown}"), table)


def _heading(inspection: Inspection) -> list[Text]:
    file, packets = printable(inspection.file), plural(inspection.packets, "packet")
    lines = [Text(f"{file}: {packets}", "bold")]
    if inspection.skipped:
        reasons = (f"{count(n)} {why}" for why, n in inspection.skipped.items())
        lines.append(Text(f"skipped: {', '.join(reasons)}"))
    if inspection.dropped:
        lines.append(
            Text(f"the capture dropped {plural(inspection.dropped, 'packet')}")
        )
    return lines


def _add_flow(table: Table, row: int, report: FlowReport) -> None:
    table.add_row(
        str(row + 1),
        Text(str(report.flow).replace(" > ", " >\n")),
        count(report.packets),
        count(report.bytes),
        _p50_and_p99(report.tso_segs),
        _p50_and_p99(report.ack_stretch),
        amount(report.rtt.p50, "ns"),
        amount(report.pace.p50, "bit/s"),
        count(report.retransmits),
        report.vantage.value,
    )


def _p50_and_p99(found: Summary) -> str:
    if not found.n:
        return NOTHING
    return f"{amount(found.p50, 'segments')}, {amount(found.p99, 'segments')}"


def flow_table(inspection: Inspection, row: int) -> RenderableType:
    """Return everything about one flow."""
    report = inspection.flows[row]
    table = _table()
    table.add_column("metric")
    for name in ("n", *_STATISTICS):
        table.add_column(name, justify="right", no_wrap=True)
    for metric, unit in _METRICS.items():
        found: Summary = getattr(report, metric)
        values = [amount(getattr(found, name), unit) for name in _STATISTICS]
        table.add_row(_titled(metric, unit), count(found.n), *values)
    return Group(
        Text(f"{printable(inspection.file)}, flow {row + 1}: {report.flow}", "bold"),
        *map(Text, _facts(report)),
        table,
    )


def _titled(metric: str, unit: str) -> str:
    return metric if unit in ("ns", "bit/s", "bytes") else f"{metric} ({unit})"


def _facts(report: FlowReport) -> list[str]:
    tso = {
        True: "packets larger than a segment are seen",
        False: "taken after segmentation: no packet is larger than a segment",
        None: "too few full segments to tell whether it shows TSO",
    }
    by = f", by {report.vantage_source}" if report.vantage_source else ""
    counts = (
        f"{count(getattr(report, name))} {words}" for name, words in _COUNTS.items()
    )
    took = report.last_ns - report.first_ns
    seen = f"seen at the {report.vantage.value}"
    if report.vantage is Vantage.UNKNOWN:
        seen = "where it was seen is not known"
    return [
        f"{plural(report.packets, 'data packet')}, {count(report.bytes)} bytes in "
        f"{amount(took, 'ns') if took else NOTHING}",
        f"mss {count(report.mss)} ({report.mss_source.value}); {seen}{by}",
        tso[report.tso_visible],
        ", ".join(counts),
        f"{count(report.duplicate_bytes)} bytes seen again, "
        f"{count(report.sacked_bytes)} bytes selectively acknowledged",
    ]


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
