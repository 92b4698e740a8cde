"""What the words and counters of a report mean, and in what unit a claim is made."""

from collections.abc import Mapping

from testbed.facts import UNITS
from testbed.spec.claim import Claim
from testbed.trace.causes import Cause
from testbed.verdict import VerdictKind

#: nstat counters, as Linux 6.x counts them. Source: include/uapi/linux/snmp.h, and the
#: functions named.
COUNTERS: Mapping[str, str] = {
    "IpInReceives": (
        "packets that IP received, ip_rcv_core(); one merged by GRO counts once. At "
        "the sender of a bulk stream these are the ACKs"
    ),
    "IpOutRequests": (
        "packets that IP was asked to send, __ip_local_out(); a GSO packet counts "
        "once, so at the sender these are the TSO packets (and a few without payload)"
    ),
    "IpInDelivers": "packets that IP passed on to TCP; one merged by GRO counts once",
    "TcpOutSegs": (
        "segments sent, __tcp_transmit_skb(); a GSO packet counts all of its segments"
    ),
    "TcpInSegs": "packets that TCP received, tcp_v4_rcv(); a GRO packet counts once",
    "TcpRetransSegs": "segments sent again, __tcp_retransmit_skb()",
    "IpExtOutOctets": (
        "bytes sent by IP, headers included; a GSO packet counts the headers of one "
        "packet, so fewer packets mean fewer octets for the same payload"
    ),
    "IpExtInOctets": (
        "bytes received by IP, headers included, one set of headers a GSO or GRO packet"
    ),
}

#: What a claim that needs real time is judged by: testbed/ratio.py.
RATIO = (
    "in real time: the median of one variant's repeats over the median of another's, "
    "with its 95% interval, by bootstrap over the pairs that ran in turn"
)

SAMPLES: Mapping[str, str] = {
    "cwnd": "congestion window, in segments (tcpi_snd_cwnd)",
    "ssthresh": "slow start threshold, in segments; not set until slow start ends",
    "pacing rate": "the rate the sender spaces its packets at (tcpi_pacing_rate)",
    "srtt": "smoothed round-trip time (tcpi_rtt)",
    "min_rtt": "the smallest round-trip time of the last minutes (tcpi_min_rtt)",
}

#: How a prediction is held against a run: testbed/model/match.py.
MATCHING: Mapping[str, str] = {
    "match": (
        "the share of data packets that kernel and model have in common, in order, "
        "equal in first byte and length; times do not count"
    ),
    "size distance, stretch distance": (
        "Kolmogorov-Smirnov distances of payload bytes per packet and of ack_stretch: "
        "the largest difference between the shares at or below any value"
    ),
    "first divergence": "the first data packet that differs in first byte or length",
}

#: Why a data packet has its size, by the name of its rule.
RULES: Mapping[Cause, str] = {
    Cause.AUTOSIZE: "as large as the autosize, tcp_tso_autosize()",
    Cause.DEFER_RELEASE: "it was deferred to become larger, and did not",
    Cause.CWND_QUOTA: "it fills its share of the congestion window",
    Cause.RECEIVE_WINDOW: "it ends where the receiver's window ends",
    Cause.END_OF_DATA: "nothing more was written, or Nagle cut a partial segment off",
    Cause.TSQ: "it was cut, and then kept waiting by TCP small queues",
    Cause.PACING: "it was cut, and then kept waiting by pacing",
    Cause.HALF_WINDOW: "built at most half the receiver's largest window long",
}

VERDICTS: Mapping[VerdictKind, str] = {
    VerdictKind.REPRODUCED: (
        "every value is within its tolerance of the one claimed; in real time, all of "
        "the ratio's interval is"
    ),
    VerdictKind.DIRECTION_ONLY: (
        "values differ, but the change between the variants goes the claimed way and "
        "is at least half as large (on a logarithmic scale); in real time, all of the "
        "ratio's interval is on the claimed side of 1"
    ),
    VerdictKind.NOT_REPRODUCED: (
        "neither the values nor the change are there; in real time, nothing in the "
        "ratio's interval is half the claimed change"
    ),
    VerdictKind.NOT_COMPARABLE: (
        "a value that was claimed was not measured, or takes another machine or scale; "
        "in real time, the ratio's interval allows no verdict"
    ),
}

#: Shown for every experiment, in this order, as far as it has them: what the sender's
#: packets look like, and its transactions.
PACKET_METRICS = (
    *("tso_size", "tso_segs", "ack_stretch", "send_gap"),
    *("packets_per_transaction", "transactions", "latency"),
)


def unit_of(metric: str) -> str:
    """Return the unit of a metric or an nstat counter."""
    name = metric.partition(".")[0]
    if name in UNITS:
        return UNITS[name]
    if "Octets" in metric:
        return "octets"
    if "Segs" in metric:
        return "segments"
    return "packets" if metric in COUNTERS else "events"


def titled(metric: str, unit: str) -> str:
    """Return a metric's name, with its unit if its values are written without one."""
    return metric if unit in ("ns", "bit/s", "bytes") else f"{metric} ({unit})"


def claimed_unit(claim: Claim) -> str:
    """Return the unit of a claim's values."""
    if claim.relative_to is not None:
        return f"share of {claim.relative_to}"
    return unit_of(claim.metric)


def scope_of(claim: Claim) -> str:
    """Return where a claimed value is seen, and in what unit: "sender, packets"."""
    return f"{claim.host}, {claimed_unit(claim)}"


def is_counter(metric: str) -> bool:
    """Tell whether a claim's metric is an nstat counter, and none of ours."""
    return metric.partition(".")[0] not in UNITS
