"""netperf: its commands, and what it prints."""

from itertools import pairwise

import pytest
from builders import a_workload
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import InfrastructureError
from testbed.lab.netperf import clients, parse, server
from testbed.spec.workload import FlowGroup, Workload

SECOND = 1_000_000_000
#: As 2.7.0 printed them in a guest.
STREAM = """\
LOCAL_BYTES_SENT=12320768
REMOTE_BYTES_RECVD=12444184
ELAPSED_TIME=1.06
THROUGHPUT=94098.22
THROUGHPUT_UNITS=10^3bits/s
LOCAL_SEND_CALLS=94
LOCAL_TRANSPORT_RETRANS=0
LOCAL_CONG_CONTROL=cubic
REMOTE_CONG_CONTROL=cubic
"""
TRANSACTIONS = """\
LOCAL_BYTES_SENT=10080000
REMOTE_BYTES_RECVD=10080000
ELAPSED_TIME=1.00
THROUGHPUT=83277.35
THROUGHPUT_UNITS=10^3bits/s
LOCAL_SEND_CALLS=126
LOCAL_TRANSPORT_RETRANS=0
LOCAL_CONG_CONTROL=cubic
REMOTE_CONG_CONTROL=cubic
LOCAL_BYTES_RECVD=375000
TRANSACTION_RATE=124.422
MIN_LATENCY=7961
STDDEV_LATENCY=126.25
MEAN_LATENCY=7973.19
P50_LATENCY=7950
P90_LATENCY=7990
P99_LATENCY=7999
MAX_LATENCY=9379
"""


def timed(**given: object) -> Workload:
    plain = {"bytes": None, "duration": SECOND, "send_size": 131_072}
    return a_workload(driver="netperf", **plain | given)


ASKING = timed(request_size=80_000, response_size=3_000)


def words(workload: Workload) -> list[str]:
    ((_after, argv),) = clients(workload, "10.0.2.2")
    return [" ".join(pair) for pair in pairwise(argv)]


def test_netserver_stays_in_the_foreground() -> None:
    assert server(timed(family=6)) == ("netserver", "-D", "-N", "-6")


@pytest.mark.parametrize(
    ("workload", "wanted"),
    [
        pytest.param(
            a_workload(driver="netperf", bytes=2_000_000, send_size=1_000_000),
            ["-t TCP_STREAM", "-l -2000000", "-m 1000000", "-K cubic,cubic"],
            id="bytes",
        ),
        pytest.param(timed(duration=20 * SECOND), ["-l 20"], id="seconds"),
        pytest.param(timed(sndbuf=5000), ["-s 5000,"], id="the-send-buffer-alone"),
        pytest.param(timed(rcvbuf=5000), ["-S ,5000"], id="the-receivers-alone"),
        pytest.param(
            ASKING, ["-t TCP_RR", "-r 80000,3000", "-P ,5001"], id="transactions"
        ),
        pytest.param(timed(family=6), ["10.0.2.2 -6", "-- -6"], id="ipv6"),
    ],
)
def test_its_options_are_what_the_workload_asks_for(workload, wanted) -> None:
    assert set(wanted) <= set(words(workload))


def test_each_flow_has_a_netperf_that_starts_in_its_turn() -> None:
    reno = FlowGroup(flows=2, congestion="reno", pacing_rate=None)
    cubic = FlowGroup(flows=1, congestion="cubic", pacing_rate=None)
    workload = timed(flows=3, groups=(reno, cubic), stagger=5)

    started = clients(workload, "10.0.2.2")

    assert [after for after, _argv in started] == [0, 5, 10]
    assert [argv[argv.index("-K") + 1] for _after, argv in started] == [
        "reno,reno",
        "reno,reno",
        "cubic,cubic",
    ]
    ports = [argv[len(argv) - argv[::-1].index("-P")] for _after, argv in started]
    assert ports == [",5001", ",5002", ",5003"]


def test_a_stream_is_what_the_peer_has_of_it() -> None:
    (flow,) = parse(STREAM, timed())

    assert flow.bytes == 12_444_184
    assert flow.carried == (12_444_184, 12_444_184)
    assert flow.elapsed_ns == pytest.approx(1_057_974_000, abs=1000)
    assert flow.figures["THROUGHPUT"] == 94_098.22
    assert flow.transactions is None


def test_transactions_come_with_their_statistics_in_ns() -> None:
    (flow,) = parse(TRANSACTIONS, ASKING)

    assert flow.transactions == 125
    assert flow.bytes == 10_000_000
    assert flow.carried == (10_000_000, 10_080_000)
    assert flow.elapsed_ns == pytest.approx(125 * SECOND / 124.422, abs=2)
    assert flow.latency == {
        "mean": pytest.approx(7_973_190),
        "p50": 7_950_000,
        "p90": 7_990_000,
        "p99": 7_999_000,
        "max": 9_379_000,
    }


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param("LOCAL_BYTES_SENT=", "X=", "nothing of LOCAL_BYTES_S", id="gone"),
        pytest.param("=12320768", "=-1", "LOCAL_BYTES_SENT=-1", id="negative"),
        pytest.param("=94098.22", "=nan", "THROUGHPUT=nan", id="nan"),
        pytest.param("=94098.22", "=0.00", "THROUGHPUT=0.00", id="nothing-moved"),
        pytest.param("10^3", "10^6", "THROUGHPUT=94098.22", id="units"),
        pytest.param("=12444184", "=99", "REMOTE_BYTES_RECVD=99", id="lost"),
        pytest.param("=12444184", "=99999999", "REMOTE_BYTES_RECVD", id="invented"),
        pytest.param("=cubic", "=bbr", "LOCAL_CONG_CONTROL=bbr", id="ignored"),
    ],
)
def test_odd_output_is_one_clear_error(old, new, complaint) -> None:
    with pytest.raises(InfrastructureError, match=f"netperf said {complaint}"):
        parse(STREAM.replace(old, new), timed())


def test_of_bytes_the_peer_has_to_have_them_all() -> None:
    workload = a_workload(driver="netperf", bytes=262_144, send_size=131_072)

    with pytest.raises(InfrastructureError, match="REMOTE_BYTES_RECVD"):
        parse(STREAM, workload)


PRINTED = st.sampled_from([(STREAM, timed()), (TRANSACTIONS, ASKING)])


@given(PRINTED, st.data())
def test_output_that_is_cut_off_is_an_error_or_whole(printed, data) -> None:
    output, workload = printed
    cut = output[: data.draw(st.integers(0, len(output)))]

    try:
        flows = parse(cut, workload)
    except InfrastructureError:
        return
    assert set(flows[0].figures) == set(parse(output, workload)[0].figures)


@given(PRINTED, st.data())
def test_damaged_output_is_an_error_or_a_flow(printed, data) -> None:
    output, workload = printed
    at = data.draw(st.integers(0, len(output) - 1))
    damaged = output[:at] + data.draw(st.text(max_size=5)) + output[at + 1 :]

    try:
        (flow,) = parse(damaged, workload)
    except InfrastructureError:
        return
    assert flow.bytes >= 0
    assert flow.elapsed_ns >= 0


@given(st.text())
def test_any_text_is_an_error(text: str) -> None:
    with pytest.raises(InfrastructureError):
        parse(text, timed())
