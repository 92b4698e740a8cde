"""The benchmark: who is how fast, and what it says without its tools."""

from pathlib import Path

import pytest

from testbed.process import Cost
from tools.bench import (
    MANY_FLOWS,
    PACKETS,
    Pace,
    main,
    ours,
    pace,
    race_lines,
    scaling_lines,
    scapy,
    tcptrace,
    too_slow,
    tshark,
    uneven,
)

EVEN = {
    "inspect": Pace(wall_ns=300, cpu_ns=400),
    "tcptrace": Pace(wall_ns=300, cpu_ns=200),
    "tshark": Pace(wall_ns=15_000, cpu_ns=15_000),
    "scapy": Pace(wall_ns=150_000, cpu_ns=150_000),
}


def took(seconds: float, cpu_seconds: float, peak_rss: int = 0) -> Cost:
    return Cost(seconds=seconds, cpu_seconds=cpu_seconds, peak_rss=peak_rss)


def test_the_fastest_round_counts_and_the_largest_memory() -> None:
    its = pace([took(3, 2, 10), took(5, 1, 30)], packets=1_000_000)

    assert its == Pace(wall_ns=3000, cpu_ns=1000, peak_rss=30)


def test_what_a_tool_takes_to_start_can_be_left_out() -> None:
    its = pace([took(3, 2)], 1_000_000, starts=[took(1, 0.5), took(2, 0.6)])

    assert its.wall_ns == 2000
    assert its.cpu_ns == 1500


def test_as_fast_as_asked_is_fast_enough() -> None:
    assert too_slow(EVEN) == []


@pytest.mark.parametrize(
    ("tool", "asked"), [("tcptrace", 1), ("tshark", 50), ("scapy", 500)]
)
def test_a_tool_that_is_faster_than_allowed_is_named(tool: str, asked: int) -> None:
    its = Pace(wall_ns=EVEN[tool].wall_ns - 1, cpu_ns=1e9)

    assert too_slow({**EVEN, tool: its}) == [f"not {asked} times as fast as {tool}"]


def test_the_race_is_a_line_for_each_tool() -> None:
    lines = [line.split() for line in race_lines(EVEN, rounds=5)]

    assert lines[2:] == [
        ["inspect", "3000000", "3.333", "300", "400"],
        ["tcptrace", "3000000", "3.333", "300", "200", "1.00", "0.50", "1"],
        ["tshark", "300000", "0.067", "15000", "15000", "50.00", "37.50", "50"],
        ["scapy", "15000", "0.007", "150000", "150000", "500.00", "375.00", "500"],
    ]


def test_scaling_is_told_as_a_share_of_the_base_case() -> None:
    base = Pace(wall_ns=300, cpu_ns=400, peak_rss=100 << 20)
    many = Pace(wall_ns=330, cpu_ns=480, peak_rss=120 << 20)

    lines = [*scaling_lines({(PACKETS, MANY_FLOWS): many, (PACKETS, 1): base})]

    assert lines[1].split() == "3000000 1 300 400 1.00, 1.00 100 MB".split()
    assert lines[2].split() == "3000000 10000 330 480 1.10, 1.20 120 MB".split()


@pytest.mark.parametrize("command", [ours, tcptrace, tshark, scapy])
def test_every_command_reads_the_capture(command) -> None:
    assert "a.pcap" in command(Path("a.pcap"))


def test_missing_tools_are_named_with_the_line_that_installs_them(
    monkeypatch, capsys
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert main([]) == 3
    assert capsys.readouterr().err.splitlines() == [
        "bench: no tcptrace, tshark",
        "  to fix it: apt-get install -y --no-install-recommends tcptrace tshark",
    ]


def test_captures_whose_packets_cost_more_are_named() -> None:
    paces = {
        (PACKETS, MANY_FLOWS): Pace(wall_ns=300, cpu_ns=150),
        (PACKETS, 1): Pace(wall_ns=300, cpu_ns=100),
        (10 * PACKETS, 1): Pace(wall_ns=300, cpu_ns=105),
    }

    told = f"a packet of {PACKETS} in {MANY_FLOWS} flows costs 1.50 times as much"
    assert list(uneven(paces)) == [told]
