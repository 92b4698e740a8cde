"""Whole runs: against the kernel's captures, and against facts anyone can check."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from builders import a_variant

from testbed.errors import SpecError
from testbed.model.features import Features, features_of
from testbed.model.match import compare
from testbed.model.simulate import count, simulate
from testbed.spec.load import load_experiment
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings
from testbed.trace.capture import read_capture
from testbed.trace.causes import Cause
from tests.model.scenarios import CAPTURES, FQ, LONG, RACK, a_stream, the_variant

both_variants = pytest.mark.parametrize("name", ["before", "after"])


@both_variants
def test_every_packet_of_2014_is_the_kernels(name: str) -> None:
    variant = the_variant(name)
    measured = read_capture(CAPTURES / f"{name}.pcapng").traces[0]
    match = compare(measured, simulate(variant, features_of(variant)).trace)

    assert match.match == 1.0, match.first_divergence


@both_variants
def test_every_ack_and_window_of_2014_is_the_kernels(name: str) -> None:
    variant = the_variant(name)
    measured = read_capture(CAPTURES / f"{name}.pcapng").traces[0]
    predicted = simulate(variant, features_of(variant)).trace

    assert measured.ack.tolist() == predicted.ack.tolist()
    assert measured.ack_window.tolist() == predicted.ack_window.tolist()


@both_variants
def test_packets_leave_and_acks_arrive_when_the_kernels_do(name: str) -> None:
    variant = the_variant(name)
    measured = read_capture(CAPTURES / f"{name}.pcapng").traces[0]
    predicted = simulate(variant, features_of(variant)).trace
    start, theirs = measured.start_ns, predicted.start_ns

    assert (measured.time_ns - start).tolist() == (predicted.time_ns - theirs).tolist()
    assert (measured.ack_time_ns - start).tolist() == (
        predicted.ack_time_ns - theirs
    ).tolist()


#: counters.json of the run that the captures are from.
@pytest.mark.parametrize(
    ("name", "packets", "octets", "acks"),
    [("before", 575, 2_029_908, 574), ("after", 178, 2_009_264, 177)],
)
def test_the_senders_counters_are_the_kernels(
    name: str, packets: int, octets: int, acks: int
) -> None:
    variant = the_variant(name)
    counters = simulate(variant, features_of(variant)).counters["sender"]

    assert counters == {
        "TcpOutSegs": 1385,
        "IpOutRequests": packets,
        "IpExtOutOctets": octets,
        "TcpInSegs": acks,
        "IpInReceives": acks,
        "IpExtInOctets": 60 + 52 * (acks - 1),
    }


def test_without_growth_2014_takes_200_packets() -> None:
    # measured: the comment on claims in refine-tso-autosizing.yaml
    counters = simulate(the_variant("after"), Features(grow=False)).counters

    assert counters["sender"]["IpOutRequests"] == 200


@pytest.mark.parametrize(("name", "packets"), [("before", 579), ("after", 197)])
def test_in_6_1_2014_takes_the_kernels_number_of_packets(name, packets) -> None:
    # measured: data packets in decisions.csv of refine-tso-autosizing, --kernel 6.1,
    # on linux-source-6.1 6.1.192-3; sequence numbers, lengths and causes agree too.
    variant = replace(the_variant(name), kernel="6.1")

    assert len(simulate(variant, features_of(variant)).causes) == packets


def test_what_is_sent_again_is_not_counted_as_segments_out() -> None:
    # RFC 4022, tcpOutSegs.  measured: 289666 of the kernel and of the model, 400 MB
    # through a queue of 8 packets, on linux-source-6.12 6.12.117-1~deb12u1.
    whole, lossy = (
        simulate(a_stream(2_000_000, replace(LONG, queue=queue)), Features())
        for queue in (1000, 5)
    )
    counted, sent = lossy.counters["sender"], lossy.trace.length

    assert sent.sum() > 2_000_000
    assert counted["TcpOutSegs"] == whole.counters["sender"]["TcpOutSegs"]


def test_a_late_device_starves_a_sender_under_the_minimum_of_small_queues() -> None:
    variants = load_experiment("tsq-low-pacing-rate").variants
    before, patched = variants[:2]
    pairs = simulate(before, features_of(before)).trace
    full = simulate(patched, features_of(patched)).trace

    starts = pairs.time_ns[2::2]  # of the pairs that late completions let go
    assert np.diff(starts) == pytest.approx(346_000_000, rel=0.001)
    assert np.ptp(pairs.time_ns) > 100 * np.ptp(full.time_ns)


def test_every_data_packet_has_its_cause() -> None:
    prediction = simulate(the_variant("after"), Features())

    assert len(prediction.causes) == len(prediction.trace.seq)
    assert sum(prediction.cause_shares().values()) == pytest.approx(1)


def test_the_last_packet_ends_the_data() -> None:
    assert simulate(a_stream(100), Features()).causes == (Cause.END_OF_DATA,)


def test_the_same_variant_gives_the_same_prediction() -> None:
    first, second = (simulate(a_stream(200_000), Features()) for _ in range(2))

    assert first.trace.time_ns.tolist() == second.trace.time_ns.tolist()


def test_ten_segments_leave_in_the_first_round_trip() -> None:
    # packetdrill, tcp/slow_start: slow-start-ack-per-2pkt.pkt begins with IW10.
    trace = simulate(a_stream(1_000_000), Features()).trace
    first_ack_ns = trace.ack_time_ns[trace.ack > 0][0]

    assert trace.length[trace.time_ns < first_ack_ns].sum() == 10 * 1448


def test_slow_start_doubles_cwnd_every_round_trip() -> None:
    # packetdrill, tcp/slow_start: cwnd grows by what is acknowledged.
    samples = simulate(a_stream(1_000_000), Features()).samples

    assert [samples[ms]["snd_cwnd"] for ms in (39, 79, 119, 159, 199)] == [
        *(10, 20, 40, 80, 160)
    ]


def test_cwnd_does_not_grow_where_the_application_is_the_limit() -> None:
    # packetdrill, tcp/slow_start: slow-start-app-limited.pkt
    quiet = a_stream(400_000, pacing_rate=4_000_000)

    samples = simulate(quiet, Features()).samples

    # tcp_is_cwnd_limited(), in slow start.  measured: the kernel's are 40 and 20, too.
    assert samples[-1]["snd_cwnd"] == 40
    assert max(sample["unacked"] for sample in samples) == 40 // 2


def test_a_rack_fills_its_link() -> None:
    trace = simulate(a_stream(20_000_000, RACK, sndbuf=None), Features()).trace
    seconds = int(trace.ack_time_ns[-1] - trace.time_ns[0]) / 1e9

    assert trace.length.sum() * 8 / seconds > 0.9 * RACK.rate
    assert trace.length.max() == 45 * 1448


def test_a_stream_by_duration_ends() -> None:
    stream = a_stream(1, RACK, bytes=None, duration=1_000_000, send_size=100_000)

    assert simulate(stream, Features()).trace.seq.size


def test_ipv6_has_smaller_segments_and_counters_of_its_own() -> None:
    prediction = simulate(a_stream(100_000, family=6), Features())

    assert prediction.trace.mss == 1428
    assert "Ip6OutRequests" in prediction.counters["sender"]


def test_big_tcp_sends_packets_beyond_64_kb() -> None:
    host = replace(FQ, link_sizes={"gso_max_size": 185_000})
    big = a_stream(20_000_000, RACK, host, sndbuf=None, family=6)
    prediction = simulate(big, Features())

    assert 150_000 < prediction.trace.length.max() <= 185_000 - 193


def test_the_length_of_a_big_packet_takes_eight_bytes_more() -> None:
    host = replace(FQ, link_sizes={"gso_max_size": 185_000})
    big = a_stream(20_000_000, RACK, host, sndbuf=None, family=6)
    prediction = simulate(big, Features())
    sent = prediction.counters["sender"]
    beyond = int((prediction.trace.length + 32 > 65_535).sum())

    assert sent["Ip6OutOctets"] == (
        20_000_000 + 72 * sent["Ip6OutRequests"] + 8 * beyond + 8
    )


@pytest.mark.parametrize(
    ("given", "what"),
    [
        pytest.param(
            {"path": replace(LONG, shaper="tbf", burst=65536)}, "tbf", id="shaper"
        ),
        pytest.param(
            {"sender": HostSettings(qdisc=Qdisc(kind="fq", options={"maxrate": 1000}))},
            "qdisc",
            id="an-option-of-fq",
        ),
        pytest.param(
            {"sender": HostSettings(sysctls={"net.ipv4.tcp_sack": "0"})},
            "tcp_sack",
            id="sysctl",
        ),
        pytest.param(
            {"receiver": HostSettings(offloads={"generic-receive-offload": False})},
            "offload",
            id="offload",
        ),
    ],
)
def test_what_the_model_does_not_reach_is_an_error(
    given: dict[str, object], what: str
) -> None:
    with pytest.raises(SpecError, match=what):
        simulate(a_variant(**({"sender": FQ} | given)), Features())


def test_bbr_is_not_modelled() -> None:
    with pytest.raises(SpecError, match="bbr"):
        simulate(a_stream(1000, congestion="bbr"), Features())


def test_the_sender_can_be_seen_as_any_packet_leaves() -> None:
    variant = the_variant("after")
    watched = simulate(variant, features_of(variant), watch=5).watched

    assert watched is not None
    assert (watched["snd_cwnd"], watched["snd_una"]) == (10 + 2, 2 * 1448)
    assert watched["srtt_us"] >> 3 == pytest.approx(40_000, rel=0.01)


def test_a_packet_that_is_watched_is_not_counted_yet() -> None:
    variant = the_variant("after")
    watched = simulate(variant, features_of(variant), watch=0).watched

    assert watched is not None
    assert (watched["packets_out"], watched["sk_wmem_alloc"]) == (0, 1)


def test_a_packet_that_is_sent_again_can_be_watched_too() -> None:
    lossy = a_stream(2_000_000, replace(LONG, queue=20), HostSettings())
    trace = simulate(lossy, Features()).trace
    ends = np.maximum.accumulate(trace.seq + trace.length)
    last = int((trace.seq[1:] < ends[:-1]).nonzero()[0][-1]) + 1
    watched = simulate(lossy, Features(), watch=last).watched

    assert watched is not None
    assert watched["snd_una"] <= trace.seq[last]


def test_watching_changes_no_packet() -> None:
    variant = the_variant("before")
    plain = simulate(variant, features_of(variant))
    watched = simulate(variant, features_of(variant), watch=5)

    assert compare(plain.trace, watched.trace).match == 1.0
    assert plain.causes == watched.causes


@pytest.mark.parametrize(
    "watch", [pytest.param(None, id="none"), pytest.param(10**6, id="beyond-the-end")]
)
def test_what_is_not_watched_is_not_noted(watch: int | None) -> None:
    variant = the_variant("after")

    assert simulate(variant, features_of(variant), watch=watch).watched is None


@pytest.mark.parametrize("name", ["before", "after"])
def test_counting_gives_what_simulating_gives(name: str) -> None:
    variant = the_variant(name)
    features = features_of(variant)
    whole, counted = simulate(variant, features), count(variant, features)

    assert counted.counters == whole.counters
    assert counted.cause_shares() == whole.cause_shares()


def test_counting_takes_no_more_memory_for_a_longer_stream() -> None:
    peaks = []
    for size in (5_000_000, 50_000_000):
        tracemalloc.start()
        count(a_stream(size, RACK, send_size=128_000), Features())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 2 * peaks[0]  # a trace would be ten times as long
