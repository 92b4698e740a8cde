"""The sizing rules that Linux has had, as candidates for a fit. See POLICIES.

Which kernel has which rule is in docs/model.md, with the commits' subjects.
"""

from dataclasses import dataclass, replace

from testbed.model.features import KERNELS, Defer, Features, Sizing, Tsq
from testbed.model.settings import Tuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A way to size packets, as some kernels have it.

    rule: what sets the size, a noun phrase; policies with one rule differ in what holds
    packets back.  kernels: that have it.  released: whether a release behaves so by
    itself, without a switch or a sysctl.  commits: that made it so, 12 hex digits each.
    autosizes: if not, a packet is as large as the device takes.  limit_output_bytes:
    what the sysctl was.
    """

    name: str
    rule: str
    kernels: str
    commits: tuple[str, ...]
    features: Features
    released: bool = True
    autosizes: bool = True
    limit_output_bytes: int = 1 << 20

    def tune(self, tuning: Tuning) -> Tuning:
        """Return a sender's limits under this policy."""
        least = tuning.min_tso_segs
        if not self.autosizes:
            least = max(tuning.gso_max_size // tuning.mss, 1)
        return replace(
            tuning, min_tso_segs=least, limit_output_bytes=self.limit_output_bytes
        )


_LARGEST = "the largest packet that the device takes, without autosizing"
_SENDMSG = "half a millisecond of the pacing rate when written, at sendmsg()"
_AUTOSIZE = "tcp_tso_autosize: a millisecond of the pacing rate"
_MIN_RTT = "tcp_tso_autosize with min_rtt"
_GROWTH = "tcp_tso_autosize with min_rtt, filled up from the next skb"
_OLD = replace(
    KERNELS["6.1"],
    sizing=Sizing.XMIT,
    defer=Defer.ANY,
    tsq=Tsq.SENDMSG,
    short_queue_passes=False,
)
_V3 = replace(_OLD, tsq=Tsq.MIN)
_RATE_ONLY = replace(_V3, defer=Defer.HALF_RTT, tsq=Tsq.UNPACED_ONLY)
_WITH_MIN_RTT = replace(_RATE_ONLY, sizing=Sizing.XMIT_MIN_RTT)
_TODAY = KERNELS["6.12"]

#: The newest first: where two explain a trace alike, the newer is named first.
POLICIES = (
    Policy(
        name="min_rtt-growth",
        rule=_GROWTH,
        kernels="6.18 on, 6.12.55 on",
        commits=("65466904b015", "8ee602c63520", "295ce1eb36ae"),
        features=_TODAY,
    ),
    Policy(
        name="min_rtt-growth-half_rtt",
        rule=_GROWTH,
        kernels="6.10 to 6.17",
        commits=("65466904b015", "8ee602c63520", "50c8339e9299"),
        features=replace(_TODAY, defer=Defer.HALF_RTT),
    ),
    Policy(
        name="autosize-growth",
        rule=f"{_AUTOSIZE}, filled up from the next skb",
        kernels="6.18 on and 6.12.55 on with tcp_tso_rtt_log 0",
        commits=("605ad7f184b6", "8ee602c63520", "295ce1eb36ae"),
        released=False,
        features=replace(_TODAY, sizing=Sizing.XMIT),
    ),
    Policy(
        name="min_rtt",
        rule=_MIN_RTT,
        kernels="Debian's 6.1.192",
        commits=("65466904b015", "295ce1eb36ae"),
        features=KERNELS["6.1"],
    ),
    Policy(
        name="min_rtt-half_rtt",
        rule=_MIN_RTT,
        kernels="5.18 to 6.9",
        commits=("65466904b015", "50c8339e9299"),
        features=_WITH_MIN_RTT,
    ),
    Policy(
        name="autosize-half_rtt",
        rule=_AUTOSIZE,
        kernels="5.0 to 5.17",
        commits=("605ad7f184b6", "50c8339e9299", "c73e5807e4f6"),
        features=_RATE_ONLY,
    ),
    Policy(
        name="autosize",
        rule=_AUTOSIZE,
        kernels="3.19 and 4.0",
        commits=("605ad7f184b6",),
        features=_V3,
        limit_output_bytes=131_072,
    ),
    Policy(
        name="autosize-v1",
        rule="a millisecond of the pacing rate, deferred for the size of an skb",
        kernels="none: v1 of 605ad7f184b6",
        commits=(),
        released=False,
        features=replace(_V3, defer_unsized=True),
        limit_output_bytes=131_072,
    ),
    Policy(
        name="min_rtt-growth-v1",
        rule="tcp_tso_autosize with min_rtt, deferred for the size of an skb",
        kernels="6.12 with the switches defer_unsized and defer_far",
        commits=(),
        released=False,
        features=replace(_TODAY, defer=Defer.ANY, defer_unsized=True),
    ),
    Policy(
        name="sendmsg-one_ms",
        rule=_SENDMSG,
        kernels="6.12 with the switch sendmsg_autosize",
        commits=("95bd09eb2750",),
        released=False,
        features=replace(_TODAY, sizing=Sizing.SENDMSG, grow=False, tsq=Tsq.SENDMSG),
        limit_output_bytes=131_072,
    ),
    Policy(
        name="sendmsg",
        rule=_SENDMSG,
        kernels="3.12 to 3.18",
        commits=("95bd09eb2750",),
        features=replace(_OLD, sizing=Sizing.SENDMSG),
        limit_output_bytes=131_072,
    ),
    Policy(
        name="largest-growth",
        rule=_LARGEST,
        kernels="6.12.55 on with tcp_min_tso_segs of a whole packet",
        commits=("8ee602c63520", "295ce1eb36ae"),
        released=False,
        features=_TODAY,
        autosizes=False,
    ),
    Policy(
        name="largest",
        rule=_LARGEST,
        kernels="3.6 to 3.11",
        commits=("46d3ceabd8d9",),
        features=_OLD,
        autosizes=False,
        limit_output_bytes=131_072,
    ),
)
