"""Metrics of counters and of the sender's account."""

import pytest

from testbed.facts import (
    Facts,
    facts_of,
    is_metric,
    is_total,
    measure_facts,
    measure_uncaptured,
    statistic,
)

SECOND = 1_000_000_000
FLOWS = (
    {"bytes": 1000, "begin_ns": 0, "end_ns": SECOND, "transactions": 10},
    {"bytes": 3000, "begin_ns": SECOND, "end_ns": 3 * SECOND, "transactions": 30},
)
COUNTERS = {
    "sender": {"TcpOutSegs": 58_883_378, "TcpInSegs": 1_434_706, "Ip6OutRequests": 50},
    "receiver": {"IpOutRequests": 30, "IpInReceives": 20, "Ip6InReceives": 20},
}
FACTS = Facts(
    counters=COUNTERS,
    flows=FLOWS,
    latency_ns=range(100, 10_100, 100),
    used={
        "sender": {"cpu_ns": 8000},
        "receiver": {"cpu_ns": 600, "cycles": 1200},
    },
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("segs_per_ack", 58_883_378 / 1_434_706, id="as-the-mail-has-it"),
        pytest.param("transactions", 10 + 15, id="each-flow-over-its-own-time"),
        pytest.param("packets_per_transaction", 2, id="both-ends-both-families"),
        pytest.param("latency", 5050, id="the-mean-unless-named"),
        pytest.param("latency.p90", 9000, id="p90"),
        pytest.param("latency.p99", 9900, id="p99"),
        pytest.param("cpu", 8000, id="cpu"),
        pytest.param("cpu_per_byte", 2, id="cpu-of-4000-bytes"),
        pytest.param("cpu_per_packet", 160, id="cpu-of-50-packets-sent"),
        pytest.param("receiver_cpu", 600, id="the-receivers-apart"),
        pytest.param("receiver_cpu_per_packet", 15, id="of-packets-received"),
        pytest.param("receiver_cycles_per_byte", 0.3, id="cycles-where-counted"),
        pytest.param("cycles", None, id="no-counter-at-the-sender"),
        pytest.param("context_switches", None, id="not-told"),
        pytest.param("goodput", None, id="not-a-metric"),
    ],
)
def test_facts_are_measured(name, value) -> None:
    assert statistic(measure_facts(FACTS), name) == pytest.approx(value)


def test_of_a_stream_without_acks_there_is_nothing_to_say() -> None:
    assert measure_facts(Facts(counters={"sender": {"TcpOutSegs": 3}})) == {}


def test_without_a_capture_throughput_is_what_netperfs_would_add_up_to() -> None:
    (told,) = measure_uncaptured(FACTS).values()

    assert told.metric == "throughput"
    assert told.samples.tolist() == [8000 + 12_000]


def test_a_single_streams_account_is_of_one_flow() -> None:
    account = {"bytes": 9, "begin_ns": 1, "end_ns": 2, "elapsed_ns": 1, "cpu_ns": 3}
    account |= {"receiver": {"bytes": 9, "cycles": 4}}

    facts = facts_of({}, account, ())

    assert facts.flows == (account,)
    assert facts.used == {"sender": {"cpu_ns": 3}, "receiver": {"cycles": 4}}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("latency", True),
        ("latency.p99", True),
        ("tso_segs.max", True),
        ("latency.p98", False),
        ("latency.", False),
        ("goodput.p99", False),
    ],
)
def test_a_claim_may_name_a_statistic(name, known) -> None:
    assert is_metric(name) is known


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("cpu", True),
        ("context_switches", True),
        ("TcpOutSegs", True),
        ("latency.p99", False),
        ("transactions", False),
        ("throughput", False),
        ("tso_size", False),
    ],
)
def test_what_grows_with_what_is_sent_is_a_total(name, total) -> None:
    assert is_total(name) is total


def test_of_a_driver_the_summary_it_tells_is_all_there_is() -> None:
    told = {"n": 125, "mean": 7973.0, "p50": 7950.0, "p90": 7990.0, "p99": 7999.0}

    facts = facts_of({}, {"flows": (), "latency_told": {**told, "max": 9379.0}}, ())

    measured = measure_facts(facts)
    assert measured["latency"].summary().n == 125
    assert statistic(measured, "latency") == 7973
    assert statistic(measured, "latency.p99") == 7999


def test_where_work_takes_no_time_it_costs_nothing_a_byte() -> None:
    facts = Facts(counters=COUNTERS, flows=FLOWS, used={"sender": {"cpu_ns": 0}})

    measured = measure_facts(facts)

    assert statistic(measured, "cpu") == 0
    assert "cpu_per_byte" not in measured
