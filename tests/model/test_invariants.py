"""What holds in every run, whatever the path and the rules; with losses and without."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from testbed.model.connection import Connection
from testbed.model.cpu import Machine
from testbed.model.features import Defer, Features, Sizing, Tsq
from testbed.model.packet import Packet
from testbed.model.record import Record
from testbed.model.settings import mss_of, tuning_of
from testbed.model.simulate import Prediction, simulate
from testbed.model.sock import TcpSock
from testbed.spec.experiment import Variant
from testbed.spec.path import Path
from testbed.spec.qdisc import Qdisc
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


@given(VARIANTS, FEATURES)
def test_a_stream_arrives_whole_within_its_limits(
    variant: Variant, features: Features
) -> None:
    prediction = simulate(variant, features)

    check_stream(variant, prediction)
    check_acks(prediction)
    check_samples(prediction)


# With losses: a short queue on the path, and a short one of fq's own.

SHORT_QUEUES = st.builds(
    Path,
    rtt=st.integers(20_000, 60_000_000),
    rate=st.integers(10**7, 4 * 10**10),
    queue=st.integers(2, 50),
    mtu=st.sampled_from((1500, 4168, 9000)),
)
SENDERS = st.one_of(
    st.sampled_from((FQ, HostSettings())),
    st.builds(
        lambda limit: HostSettings(
            qdisc=Qdisc(kind="fq", options={"flow_limit": limit})
        ),
        st.integers(2, 30),
    ),
)
LOSSY = st.builds(
    a_stream,
    st.integers(1_000_000, 2_000_000),
    SHORT_QUEUES,
    SENDERS,
    send_size=st.integers(5_000, 2_000_000),
    sndbuf=st.one_of(st.none(), st.integers(20_000, 2_000_000)),
    rcvbuf=st.one_of(st.none(), st.integers(20_000, 1_000_000)),
    pacing_rate=st.one_of(st.none(), st.integers(10**7, 10**10)),
    congestion=st.sampled_from(("cubic", "reno")),
    family=st.sampled_from((4, 6)),
    sample_every=st.just(10_000_000),
)
#: Each segment of 2 MB ten times; an hour of samples.
MOST_PACKETS = 14_000
MOST_SAMPLES = 360_000
#: A loss probe comes at least 2 jiffies after what was sent last: TCP_TIMEOUT_MIN_US.
PROBE_MIN_NS = 2_000_000


def check_queues(sock: TcpSock) -> None:
    """Compare the queues with each other: what is sent follows what is acknowledged."""
    queue = [*sock.rtx_queue, *sock.write_queue]
    starts = [skb.seq for skb in queue]
    ends = [skb.end_seq for skb in queue]

    assert sock.snd_una <= sock.snd_nxt <= sock.write_seq
    assert starts[1:] == ends[:-1]
    assert not ends or (starts[0] <= sock.snd_una < ends[0])
    assert not ends or ends[-1] == sock.write_seq
    assert not sock.write_queue or sock.write_queue[0].seq == sock.snd_nxt
    assert sock.sk_wmem_queued == sum(skb.truesize for skb in queue)


def check_counts(sock: TcpSock) -> None:
    """Compare what is counted with the marks of each packet."""
    queue = sock.rtx_queue

    assert sock.packets_out == sum(skb.pcount for skb in queue)
    assert sock.sacked_out == sum(skb.pcount for skb in queue if skb.sacked)
    assert sock.lost_out == sum(skb.pcount for skb in queue if skb.lost)
    assert sock.retrans_out == sum(skb.pcount for skb in queue if skb.retrans)
    assert sock.sacked_out + sock.lost_out <= sock.packets_out
    assert sock.snd_cwnd >= 1


class Watched(Connection):
    """A connection that is looked at whenever its sender takes or sends a packet."""

    def __init__(self, variant: Variant, features: Features) -> None:
        super().__init__(variant, features, Machine(), Record())
        self.sent = 0
        self.largest = tuning_of(variant).gso_max_size
        self.last_ns = 0

    def _transmit(self, packet: Packet) -> bool:
        self.sent += 1
        assert self.sent <= MOST_PACKETS
        assert packet.length <= self.largest
        assert packet.skb is None or packet.again or self.may_leave(packet)
        return super()._transmit(packet)

    def _take(self, packet: Packet) -> None:
        super()._take(packet)
        self.check()

    def _sample(self, readings: int = 1) -> None:
        super()._sample(readings)
        assert len(self.record.samples()) <= MOST_SAMPLES
        self.check()

    def may_leave(self, packet: Packet) -> bool:
        """Tell whether new data is within cwnd, or may be a loss probe."""
        sock = self._sender.sock
        if sock.in_flight() + packet.pcount <= sock.snd_cwnd:
            return True
        age_ns = self._cpu.clock - sock.rtx_queue[-1].tstamp_ns
        return packet.pcount == 1 and not sock.tlp_high_seq and age_ns >= PROBE_MIN_NS

    def check(self) -> None:
        sock, received = self._sender.sock, self._receiver.sock
        check_queues(sock)
        check_counts(sock)

        assert sock.snd_una <= received.rcv_nxt <= sock.write_seq
        assert received.copied_seq <= received.rcv_nxt
        assert self.last_ns <= self._cpu.clock
        self.last_ns = self._cpu.clock

    def check_end(self, size: int) -> None:
        sock, received = self._sender.sock, self._receiver.sock

        assert sock.snd_una == sock.write_seq == size + 1  # with the FIN
        assert received.copied_seq == size
        assert (sock.sk_wmem_queued, sock.sk_wmem_alloc) == (0, 1)
        assert received.ofo.memory == 0


#: fq drops what is sent again, and TCP Small Queues would at once send it once more.
FULL_QDISC = a_stream(
    1_000_000,
    Path(rtt=20_000, rate=10**7, queue=5, mtu=1500),
    HostSettings(qdisc=Qdisc(kind="fq", options={"flow_limit": 2})),
    send_size=5000,
    sndbuf=None,
    sample_every=10_000_000,
)
OLD = Features(sizing=Sizing.SENDMSG, grow=False, defer=Defer.ANY, tsq=Tsq.MIN)


@given(LOSSY, FEATURES)
@example(FULL_QDISC, OLD)
def test_a_stream_arrives_whole_whatever_is_lost(
    variant: Variant, features: Features
) -> None:
    connection = Watched(variant, features)
    connection.run()
    trace = connection.record.trace(mss_of(variant))

    assert variant.workload.bytes is not None
    connection.check_end(variant.workload.bytes)
    assert (np.diff(trace.time_ns) >= 0).all()
    assert (np.diff(trace.ack_time_ns) >= 0).all()
    assert (np.diff(trace.ack) >= 0).all()
