"""What holds in every run without loss, whatever the path and the rules."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.model.features import Defer, Features, Sizing, Tsq
from testbed.model.settings import tuning_of
from testbed.model.simulate import Prediction, simulate
from testbed.spec.experiment import Variant
from testbed.spec.path import Path
from testbed.spec.settings import HostSettings
from tests.model.scenarios import FQ, a_stream

PATHS = st.builds(
    Path,
    rtt=st.integers(20_000, 60_000_000),
    rate=st.integers(10**8, 4 * 10**10),
    queue=st.just(10_000),
    mtu=st.sampled_from((1500, 4168, 9000)),
)
FEATURES = st.builds(
    Features,
    sizing=st.sampled_from(Sizing),
    grow=st.booleans(),
    defer=st.sampled_from(Defer),
    tsq=st.sampled_from(Tsq),
)
VARIANTS = st.builds(
    a_stream,
    st.integers(1, 300_000),
    PATHS,
    st.sampled_from((FQ, HostSettings())),
    send_size=st.integers(500, 300_000),
    sndbuf=st.one_of(st.none(), st.integers(20_000, 1_000_000)),
    rcvbuf=st.one_of(st.none(), st.integers(20_000, 1_000_000)),
    pacing_rate=st.one_of(st.none(), st.integers(10**7, 10**10)),
    congestion=st.sampled_from(("cubic", "reno")),
    family=st.sampled_from((4, 6)),
)


def check_stream(variant: Variant, prediction: Prediction) -> None:
    trace = prediction.trace
    ends = trace.seq + trace.length

    assert trace.seq.tolist() == [0, *ends[:-1].tolist()]  # each byte once, in order
    assert ends[-1] == variant.workload.bytes
    assert trace.length.max() <= tuning_of(variant).gso_max_size
    assert (np.diff(trace.time_ns) >= 0).all()
    assert (np.diff(trace.ack_time_ns) >= 0).all()


def check_acks(prediction: Prediction) -> None:
    trace = prediction.trace
    ends = np.concatenate([[0], trace.seq + trace.length])
    sent = ends[np.searchsorted(trace.time_ns, trace.ack_time_ns, side="right")]

    assert (trace.ack <= sent).all()
    assert (np.diff(trace.ack) >= 0).all()
    assert trace.ack[-1] == ends[-1]


def check_samples(prediction: Prediction) -> None:
    samples = prediction.samples

    assert all(each["unacked"] <= each["snd_cwnd"] for each in samples)
    assert all(each["min_rtt"] <= each["rtt"] for each in samples)


@settings(max_examples=100, deadline=None)
@given(VARIANTS, FEATURES)
def test_a_stream_arrives_whole_within_its_limits(
    variant: Variant, features: Features
) -> None:
    prediction = simulate(variant, features)

    check_stream(variant, prediction)
    check_acks(prediction)
    check_samples(prediction)
