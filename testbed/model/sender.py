"""The sending host's TCP: one socket, and the four parts that work on it."""

from collections.abc import Callable

from testbed.model.congestion import CongestionControl, Reno
from testbed.model.cpu import Cpu
from testbed.model.cubic import Cubic
from testbed.model.dctcp import Dctcp
from testbed.model.features import Features
from testbed.model.handshake import Handshake
from testbed.model.input import Input
from testbed.model.output import Output, Pacing
from testbed.model.packet import Packet
from testbed.model.recovery import Recovery
from testbed.model.retransmit import Retransmit
from testbed.model.settings import Tuning, ecn_of, mss_option_of, tuning_of
from testbed.model.sock import TcpSock
from testbed.model.writer import Writer
from testbed.model.xmit_timer import XmitTimer
from testbed.spec.experiment import Variant
from testbed.trace.causes import Cause


class Sender:
    """A socket, what writes into it, what leaves it, and what ACKs do to it.

    transmit: takes each packet; False if the qdisc drops it.  sent: told the cause of
    the size of each packet of new data.
    """

    __slots__ = ("handshake", "input", "output", "sock", "writer")

    def __init__(
        self,
        variant: Variant,
        features: Features,
        *,
        cpu: Cpu,
        transmit: Callable[[Packet], bool],
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
            ecn=ecn_of(variant),
            transmit=transmit,
            sent=sent,
        )
        self.handshake = Handshake(cpu, self.output)
        self.writer = Writer(
            self.sock,
            workload=work,
            cpu=cpu,
            output=self.output,
            tuning=tuning,
            features=features,
        )
        congestion = _congestion(work.congestion, features, tuning, pacing)
        self.input = self._input(variant, cpu, congestion, tuning)

    def _input(
        self, variant: Variant, cpu: Cpu, congestion: CongestionControl, tuning: Tuning
    ) -> Input:
        """Build what ACKs and timers do, and have the output tell of what it does."""
        sock, output, mss = self.sock, self.output, tuning.mss
        timer = XmitTimer(cpu)
        recovery = Recovery(sock, congestion=congestion, timer=timer, mss=mss)
        retransmit = Retransmit(
            sock, cpu=cpu, output=output, recovery=recovery, timer=timer, mss=mss
        )
        acks = Input(
            sock,
            cpu=cpu,
            output=output,
            congestion=congestion,
            recovery=recovery,
            retransmit=retransmit,
            tuning=tuning,
            mss_clamp=mss_option_of(variant),
            locked=variant.workload.sndbuf is not None,
            writeable=lambda: cpu.wake(self.writer.resume),
        )
        timer.tell(retransmit.expired)
        output.tell(
            congested=recovery.enter_cwr,
            progress=retransmit.progress,
            check_space=acks.check_space,
            send_again=retransmit.queue,
        )
        return acks

    def take(self, packet: Packet) -> None:
        """Take a packet that has arrived, once no process owns the socket."""
        self.sock.sk_lock.bring(lambda: self._take(packet))

    def _take(self, packet: Packet) -> None:
        if packet.syn:
            self.handshake.answered()
            self.input.established(packet, timeouts=self.handshake.timeouts)
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
    if name == "dctcp":
        return Dctcp()
    return Cubic(
        gso_max_size=tuning.gso_max_size,
        paced=pacing is not Pacing.NONE,
        stretch_acks=features.stretch_acks,
    )
