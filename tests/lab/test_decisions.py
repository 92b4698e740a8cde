"""The kernel's trace of its decisions, turned into CSV."""

from pathlib import Path

from testbed.lab.decisions import csv_lines, lost, recording

#: events/tcp/tcp_xmit_decision/format on Linux 6.12.117, fields dropped.
SHAPE = """\
name: tcp_xmit_decision
ID: 279
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:u32 seq;\toffset:16;\tsize:4;\tsigned:0;
\tfield:u64 pacing_rate;\toffset:8;\tsize:8;\tsigned:0;

print fmt: "seq=%u pacing_rate=%llu", REC->seq, REC->pacing_rate
"""
TRACE = """\
# tracer: nop
#
tcp_xmit_decision: seq=905216053 pacing_rate=723963
tcp_probe: family=AF_INET mark=0
CPU:0 [LOST 3 EVENTS]
tcp_xmit_decision: seq=905218949 pacing_rate=18446744073709551615
"""
#: per_cpu/cpu0/stats on Linux 6.12.117, its buffer full and not to be overwritten.
STATS = """\
entries: 500
overrun: 2
commit overrun: 0
bytes: 46000
oldest event ts: 1
now ts: 512
dropped events: 10
read events: 7
"""


def test_each_decision_is_a_line_of_numbers_below_their_names() -> None:
    assert list(csv_lines(SHAPE, TRACE.splitlines(keepends=True))) == [
        "seq,pacing_rate\n",
        "905216053,723963\n",
        "905218949,18446744073709551615\n",
    ]


def test_events_that_did_not_fit_are_counted_on_every_cpu() -> None:
    assert lost([STATS, STATS]) == 24


def test_a_kernel_without_the_tracepoint_decides_nothing(tmp_path: Path) -> None:
    with recording(5001, tracing=tmp_path) as instance:
        assert instance is None

    assert list(tmp_path.iterdir()) == []
