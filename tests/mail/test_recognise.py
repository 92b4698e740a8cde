"""Lines of tested sections: what each kind says, and what is left over of it."""

from fractions import Fraction

import pytest

from testbed.mail.facts import Choice, Fact, Figure, Note
from testbed.mail.recognise import recognise
from testbed.mail.text import Line

S = 1_000_000_000


def read(*texts: str) -> tuple[list[Fact], list[str]]:
    lines = [
        Line(number=number, depth=0, text=text) for number, text in enumerate(texts)
    ]
    said, missed = recognise(lines)
    return [each.fact for each in said], [each.text for each in missed]


def choices(*texts: str) -> dict[str, object]:
    facts, missed = read(*texts)
    assert missed == []
    return {
        f"{each.section}.{each.key}": each.value
        for each in facts
        if isinstance(each, Choice)
    }


def figures(*texts: str) -> dict[str, Fraction]:
    facts, missed = read(*texts)
    assert missed == []
    return {each.metric: each.value for each in facts if isinstance(each, Figure)}


@pytest.mark.parametrize(
    ("command", "set_"),
    [
        pytest.param(
            "netperf -H remote -l 20 -- -m 64K -S 1m,2m",
            {"duration": 20 * S, "send_size": 65536, "rcvbuf": 1_000_000},
            id="netperf",
        ),
        pytest.param(
            "$ netperf -H remote -Cc -l -2000000 -- -s 1000000",
            {"bytes": 2_000_000, "sndbuf": 1_000_000},
            id="bytes-and-cpu",
        ),
        pytest.param(
            "[root@a ~]# taskset 4 ./netperf -6 -l5 -- -K bbr,bbr -q 2000 | tail -1",
            {
                "family": 6,
                "duration": 5 * S,
                "congestion": "bbr",
                "pacing_rate": 16_000,
            },
            id="prefixes-and-filter",
        ),
    ],
)
def test_netperf_commands_say_the_workload(command, set_) -> None:
    assert choices(command) == {f"workload.{key}": set_[key] for key in set_}


def test_netperf_without_a_length_runs_its_default() -> None:
    facts, _ = read("netperf -H a")

    assert [each.guess for each in facts if isinstance(each, Choice)] == [
        "netperf's own default, no -l"
    ]


@pytest.mark.parametrize(
    ("command", "set_"),
    [
        pytest.param(
            "super_netperf 200 -H a -t TCP_RR -l 10 -- -r 1,2",
            {"flows": 200, "request_size": 1, "response_size": 2, "duration": 10 * S},
            id="many-that-ask",
        ),
        pytest.param(
            "netperf -H a -t TCP_RR -l 1 -- -r 80000",
            {"request_size": 80_000, "response_size": 80_000, "duration": S},
            id="one-size-is-both",
        ),
        pytest.param(
            "netperf -H a -t TCP_RR -l 1",
            {"request_size": 1, "response_size": 1, "duration": S},
            id="no-size-is-a-byte",
        ),
        pytest.param("super_netperf 3 -l 1", {"flows": 3, "duration": S}, id="streams"),
    ],
)
def test_flows_and_transactions_are_of_the_workload(command, set_) -> None:
    assert choices(command) == {f"workload.{key}": set_[key] for key in set_}


def test_a_test_that_no_workload_is_leaves_a_gap() -> None:
    facts, _ = read("netperf -H a -t TCP_CRR -l 10", "netperf -t TCP_RR -l -500")

    gaps = [each.text for each in facts if isinstance(each, Note) and each.gap]
    assert gaps == [
        "the test is TCP_CRR; no workload is",
        "netperf -l -500 (transactions)",
    ]


@pytest.mark.parametrize(
    ("command", "set_"),
    [
        pytest.param(
            "iperf3 -c remote -t 20 -P 4 -C dctcp -l 64k",
            {"duration": 20 * S, "flows": 4, "congestion": "dctcp", "send_size": 65536},
            id="short",
        ),
        pytest.param(
            "# iperf3 --client remote --bytes=1M --fq-rate 80M --window 500K -6 -J",
            {
                "bytes": 1 << 20,
                "pacing_rate": 80_000_000,
                "sndbuf": 512_000,
                "rcvbuf": 512_000,
                "family": 6,
            },
            id="long",
        ),
        pytest.param("iperf3 -c a -i 1", {"duration": 10 * S}, id="default"),
        pytest.param("iperf3 -s -D", {}, id="server"),
    ],
)
def test_iperf3_commands_say_the_workload(command, set_) -> None:
    assert choices(command) == {f"workload.{key}": set_[key] for key in set_}


IPERF3 = (
    "Connecting to host remote, port 5201",
    "[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201",
    "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
    "[  5]   0.00-1.00   sec  1.09 GBytes  9.40 Gbits/sec    0   1.51 MBytes",
    "- - - - - - - - - - - - - - - - - - - - - - - - -",
    "[ ID] Interval           Transfer     Bitrate         Retr",
    "[  5]   0.00-10.00  sec  10.9 GBytes  9.41 Gbits/sec   12             sender",
    "[  5]   0.00-10.04  sec  10.9 GBytes  9.38 Gbits/sec                  receiver",
    "[SUM]   0.00-10.00  sec  21.8 GBytes  18.8 Gbits/sec   30             sender",
    "[SUM]   0.00-10.04  sec  21.8 GBytes  18.7 Gbits/sec                  receiver",
    "iperf Done.",
)


def test_of_one_stream_iperf3_tells_what_the_receiver_got() -> None:
    assert figures("iperf3 -c remote", *IPERF3[:8], IPERF3[-1]) == {
        "TcpRetransSegs": Fraction(12),
        "throughput": Fraction(9_380_000_000),
    }


def test_of_many_streams_iperf3_tells_the_sum() -> None:
    assert figures("iperf3 -c remote -P 2", *IPERF3) == {
        "TcpRetransSegs": Fraction(30),
        "throughput": Fraction(18_700_000_000),
    }


@pytest.mark.parametrize(
    ("lines", "measured"),
    [
        pytest.param(
            ["bytes bytes bytes secs. 10^6bits/s", " 87380 16384 16384 10.00 9415.21"],
            {"throughput": Fraction(9_415_210_000)},
            id="stream",
        ),
        pytest.param(
            ["bytes bytes bytes secs. MBytes/sec", " 87380 16384 16384 10.00 2.5"],
            {"throughput": Fraction(20 << 20)},
            id="stream-in-mbytes",
        ),
        pytest.param(
            ["netperf -t TCP_RR -l 10", "16384 87380 1 1 10.00 25000.5", "16384 87380"],
            {"transactions": Fraction("25000.5")},
            id="request-response",
        ),
        pytest.param(
            ["netperf -t OMNI -l 1 -- -k THROUGHPUT", "THROUGHPUT=9415.2"],
            {"throughput": Fraction(9_415_200_000)},
            id="key-value",
        ),
        pytest.param(
            [
                "netperf -l 1 -- -o P99_LATENCY,THROUGHPUT",
                "99th Percentile Latency Microseconds,Throughput",
                "183,9415.2",
            ],
            {"latency.p99": Fraction(183_000), "throughput": Fraction(9_415_200_000)},
            id="csv",
        ),
        pytest.param(
            ["super_netperf 2 -l 1", "  96005"],
            {"throughput": Fraction(96_005_000_000)},
            id="super-netperf",
        ),
        pytest.param(
            ["TcpOutSegs      1397     0.0"], {"TcpOutSegs": Fraction(1397)}, id="nstat"
        ),
        pytest.param(
            ["TcpOutSegs 1397 0.0 # Average of 3.7 4K segments per TSO packet"],
            {"TcpOutSegs": Fraction(1397), "segs_per_ack": Fraction("3.7")},
            id="nstat-remark",
        ),
        pytest.param(
            ["  65,945.29 msec task-clock  # 2.845 CPUs utilized"],
            {"cpu": Fraction(65_945_290_000)},
            id="perf",
        ),
        pytest.param(
            ["P50: 12 us", "P99 latency: 1.5 ms"],
            {"latency.p50": Fraction(12_000), "latency.p99": Fraction(1_500_000)},
            id="percentiles",
        ),
        pytest.param(
            ["Throughput: 9.41 Gbit/s"],
            {"throughput": Fraction(9_410_000_000)},
            id="a-rate-alone",
        ),
    ],
)
def test_what_tools_print_is_measured(lines, measured) -> None:
    assert figures(*lines) == measured


@pytest.mark.parametrize(
    ("line", "set_"),
    [
        pytest.param(
            "echo 9 >/proc/sys/net/ipv4/tcp_tso_rtt_log",
            {"sender.sysctls.net.ipv4.tcp_tso_rtt_log": "9"},
            id="echo",
        ),
        pytest.param(
            'sysctl -w net.ipv4.tcp_rmem="4096 87380 6291456" net.ipv4.tcp_sack=0',
            {
                "sender.sysctls.net.ipv4.tcp_rmem": "4096 87380 6291456",
                "sender.sysctls.net.ipv4.tcp_sack": "0",
            },
            id="sysctl",
        ),
        pytest.param(
            "net.core.wmem_max = 212992",
            {"sender.sysctls.net.core.wmem_max": "212992"},
            id="sysctl-shown",
        ),
        pytest.param(
            "ip link set dev eth0 gso_max_size 185000 mtu 4168",
            {"path.link_sizes.gso_max_size": 185_000, "path.mtu": 4168},
            id="ip-link",
        ),
        pytest.param(
            "ethtool -K eth0 tso off gro on",
            {
                "sender.offloads.tcp-segmentation-offload": False,
                "receiver.offloads.generic-receive-offload": True,
            },
            id="ethtool-K",
        ),
        pytest.param(
            "generic-segmentation-offload: off [fixed]",
            {"sender.offloads.generic-segmentation-offload": False},
            id="ethtool-k",
        ),
        pytest.param(
            "tc qdisc replace dev eth0 root netem delay 2ms rate 1Gbit loss 1% limit 9",
            {
                "path.rtt": 2_000_000,
                "path.rate": S,
                "path.loss": 0.01,
                "path.queue": 9,
            },
            id="netem",
        ),
        pytest.param(
            "tc qdisc add dev eth0 root fq flow_limit 200",
            {"sender.qdisc": {"flow_limit": 200}},
            id="fq",
        ),
        pytest.param(
            "cubic wscale:7,7 rto:201 rtt:40.1/0.2 mss:1448 pmtu:1500 minrtt:40",
            {
                "path.rtt": 40_000_000,
                "path.mtu": 1500,
                "workload.congestion": "cubic",
            },
            id="ss",
        ),
        pytest.param(
            "100Gbit NIC, two hosts in the same rack, 4K MTU.",
            {"path.rate": 100 * S, "path.mtu": 4096, ".topology": "rack_local"},
            id="sentence",
        ),
        pytest.param("40 ms rtt link", {"path.rtt": 40_000_000}, id="rtt"),
    ],
)
def test_settings_and_the_path_are_chosen(line, set_) -> None:
    assert choices(line) == set_


@pytest.mark.parametrize(
    ("heading", "variant"),
    [
        pytest.param("Before patch :", "before", id="before"),
        pytest.param("before:", "before", id="bare"),
        pytest.param("== Before ==", "before", id="decorated"),
        pytest.param("Without this patch:", "before", id="without"),
        pytest.param("Baseline:", "before", id="baseline"),
        pytest.param("After the patch", "after", id="after"),
        pytest.param("With the patch applied:", "after", id="with"),
        pytest.param("patched kernel:", "after", id="patched"),
        pytest.param("Now enable BIG TCP on both hosts.", "after", id="now"),
        pytest.param("A nice line before lunch:", None, id="no-heading"),
        pytest.param("With 600 flows:", None, id="with-something-else"),
    ],
)
def test_a_heading_says_whose_the_figures_below_are(heading, variant) -> None:
    lines = [heading, "TcpOutSegs 1 0.0"]
    said, _ = recognise([Line(number=1, depth=0, text=text) for text in lines])

    assert said[-1].variant == variant


def test_a_heading_may_have_its_figure_behind_it() -> None:
    said, missed = recognise([Line(number=1, depth=0, text="After: 9.4 Gbit/s")])

    assert [each.variant for each in said] == ["after"]
    assert missed == ()


def test_one_sentence_may_have_both_figures() -> None:
    text = "I reached 37Gbps instead of 20Gbps"
    said, missed = recognise([Line(number=1, depth=0, text=text)])

    assert [(each.variant, each.fact.value) for each in said] == [
        ("before", 20 * S),
        ("after", 37 * S),
    ]
    assert [each.text for each in missed] == [text]


def test_what_wmem_max_cut_is_read_off_the_table() -> None:
    lines = ["netperf -l 1 -- -s 1000000", " 87380 327680 327680 1.29 12.54"]

    assert choices(*lines)["workload.sndbuf"] == 163_840


def test_a_backslash_continues_a_command() -> None:
    assert choices("netperf -l 3 \\", "   -- -m 1000") == {
        "workload.duration": 3 * S,
        "workload.send_size": 1000,
    }


@pytest.mark.parametrize(
    ("line", "missed"),
    [
        pytest.param("It works well.", "It works well.", id="sentence"),
        pytest.param("netperf -l 1 -z 3", "-z 3", id="unknown-option"),
        pytest.param("iperf3 -c a -t 1 -z 3", "-z 3", id="iperf3-option"),
        pytest.param("iperf3 is a tool", "iperf3 is a tool", id="prose-iperf3"),
        pytest.param("nstat; reboot now", "reboot now", id="unknown-command"),
        pytest.param("ip is fast", "ip is fast", id="prose-like-a-command"),
        pytest.param('netperf -l 1 "', 'netperf -l 1 "', id="open-quote"),
        pytest.param("x" * 5000, "x" * 5000, id="huge"),
        pytest.param("TcpOutSegs 1 0.0 # why?", "why?", id="remark"),
        pytest.param("It took 40 ms rtt link ages", None, id="in-part"),
    ],
)
def test_what_is_not_understood_is_told(line, missed) -> None:
    _, told = read(line)

    assert told == [missed or line]


def test_a_section_too_long_to_be_one_is_not_read_to_its_end() -> None:
    _, told = read(*[""] * 5002)

    assert told == ["2 lines from here on, for that is no tested section"]
