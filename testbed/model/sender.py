"""The sending host's TCP: one socket, and the four parts that work on it."""

from collections.abc import Callable

from testbed.model.congestion import CongestionControl, Reno
from testbed.model.cpu import Cpu
from testbed.model.cubic import Cubic
from testbed.model.features import Features
from testbed.model.input import Input
from testbed.model.output import Output, Pacing
from testbed.model.packet import Packet
from testbed.model.settings import Tuning, mss_option_of, tuning_of
from testbed.model.sock import TcpSock
from testbed.model.writer import Writer
from testbed.spec.experiment import Variant
from testbed.trace.causes import Cause


class Sender:
    """A socket, what writes into it, what leaves it, and what ACKs do to it.

    transmit: takes each packet.  sent: told the cause of each data packet's size.
    """

    __slots__ = ("input", "output", "sock", "writer")

    def __init__(
        self,
        variant: Variant,
        features: Features,
        *,
        cpu: Cpu,
        transmit: Callable[[Packet], None],
        sent: Callable[[Cause], None],
    ) -> None:
        work, tuning = variant.workload, tuning_of(variant)
        pacing = _pacing(variant)
        self.sock = TcpSock(2 * work.sndbuf if work.sndbuf else tuning.wmem[1])
        self.output = Output(
            self.sock,
            cpu=cpu,
            tuning=tuning,
            features=features,
            pacing=pacing,
            family=work.family,
            transmit=transmit,
            sent=sent,
        )
        self.writer = Writer(
            self.sock,
            workload=work,
            cpu=cpu,
            output=self.output,
            tuning=tuning,
            features=features,
        )
        self.input = Input(
            self.sock,
            cpu=cpu,
            output=self.output,
            congestion=_congestion(work.congestion, features, tuning, pacing),
            tuning=tuning,
            mss_clamp=mss_option_of(variant),
            locked=work.sndbuf is not None,
            writeable=lambda: cpu.wake(self.writer.resume),
        )

    def take(self, packet: Packet) -> None:
        """Take a packet that has arrived, once no process owns the socket."""
        self.sock.sk_lock.bring(lambda: self._take(packet))

    def _take(self, packet: Packet) -> None:
        if packet.syn:
            self.input.established(packet)
            self.output.send_bare()
            return
        self.input.ack(packet)
        if packet.fin:
            self.output.send_bare()


def _pacing(variant: Variant) -> Pacing:
    if variant.sender.qdisc is not None:
        return Pacing.FQ
    return Pacing.NONE if variant.workload.pacing_rate is None else Pacing.NEEDED


def _congestion(
    name: str, features: Features, tuning: Tuning, pacing: Pacing
) -> CongestionControl:
    if name == "reno":
        return Reno(stretch_acks=features.stretch_acks)
    return Cubic(
        gso_max_size=tuning.gso_max_size,
        paced=pacing is not Pacing.NONE,
        stretch_acks=features.stretch_acks,
    )
