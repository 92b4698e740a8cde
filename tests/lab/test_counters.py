"""nstat's counters from /proc/net."""

import pytest

from testbed.errors import InfrastructureError
from testbed.lab.counters import cpu_used, deltas, parse_listed, parse_paired

#: head -4 /proc/net/snmp on Linux 6.12.117, columns dropped.
SNMP = """\
Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 576
Tcp: RtoAlgorithm MaxConn OutSegs
Tcp: 1 -1 1385
"""


def test_names_are_put_together_as_nstat_does() -> None:
    assert parse_paired(SNMP) == {
        "IpForwarding": 2,
        "IpDefaultTTL": 64,
        "IpInReceives": 576,
        "TcpRtoAlgorithm": 1,
        "TcpMaxConn": -1,
        "TcpOutSegs": 1385,
    }


def test_ipv6_counters_are_listed_one_a_line() -> None:
    assert parse_listed("Ip6InReceives   \t12\nIp6OutRequests\t7\n") == {
        "Ip6InReceives": 12,
        "Ip6OutRequests": 7,
    }


def test_lines_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(InfrastructureError, match="Ip is followed by Tcp"):
        parse_paired("Ip: A\nTcp: 1\n")


def test_a_counter_that_did_not_move_is_left_out() -> None:
    assert deltas({"A": 1, "B": 5}, {"A": 1, "B": 7, "C": 2}) == {"B": 2, "C": 2}


def test_what_a_process_computes_is_its_cpu_time() -> None:
    before = cpu_used()

    while cpu_used()["cpu_ns"] < before["cpu_ns"] + 10_000_000:
        sum(range(1000))

    assert cpu_used()["context_switches"] >= before["context_switches"]
