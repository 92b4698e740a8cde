"""The sending host's TCP: one socket, and the four parts that work on it."""

from collections.abc import Callable
from dataclasses import dataclass

from testbed.model.congestion import CongestionControl, Reno
from testbed.model.cpu import Cpu
from testbed.model.cubic import Cubic
from testbed.model.dctcp import Dctcp
from testbed.model.ecn import Ecn
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
from testbed.spec.workload import Workload
from testbed.trace.causes import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a sender is made of, and set to.

    congestion: of this sender alone, it has a state.  mss_clamp: the MSS that the SYNs
    announce.
    """

    workload: Workload
    features: Features
    tuning: Tuning
    pacing: Pacing
    congestion: CongestionControl
    ecn: Ecn
    mss_clamp: int


def setup_of(variant: Variant, features: Features) -> Setup:
    """Return what a variant sets its sender to."""
    tuning, pacing = tuning_of(variant), _pacing(variant)
    name = variant.workload.congestion
    return Setup(
        workload=variant.workload,
        features=features,
        tuning=tuning,
        pacing=pacing,
        congestion=congestion_of(name, features, tuning, pacing),
        ecn=ecn_of(variant),
        mss_clamp=mss_option_of(variant),
    )


class Sender:
    """A socket, what writes into it, what leaves it, and what ACKs do to it.

    transmit: takes each packet; False if the qdisc drops it.  sent: told the cause of
    the size of each packet of new data.
    """

    __slots__ = ("handshake", "input", "output", "sock", "writer")

    def __init__(
        self,
        setup: Setup,
        *,
        cpu: Cpu,
        transmit: Callable[[Packet], bool],
        sent: Callable[[Cause], None],
    ) -> None:
        work, tuning, features = setup.workload, setup.tuning, setup.features
        self.sock = TcpSock(2 * work.sndbuf if work.sndbuf else tuning.wmem[1])
        self.output = Output(
            self.sock,
            cpu=cpu,
            tuning=tuning,
            features=features,
            pacing=setup.pacing,
            family=work.family,
            ecn=setup.ecn,
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
        self.input = self._input(setup, cpu)

    def _input(self, setup: Setup, cpu: Cpu) -> Input:
        """Build what ACKs and timers do, and have the output tell of what it does."""
        sock, output, mss = self.sock, self.output, setup.tuning.mss
        congestion = setup.congestion
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
            tuning=setup.tuning,
            mss_clamp=setup.mss_clamp,
            locked=setup.workload.sndbuf is not None,
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


def congestion_of(
    name: str, features: Features, tuning: Tuning, pacing: Pacing
) -> CongestionControl:
    """Return a congestion control by its name: cubic, unless it is another's."""
    if name == "reno":
        return Reno(counting=features.counting)
    if name == "dctcp":
        return Dctcp()
    return Cubic(
        gso_max_size=tuning.gso_max_size,
        paced=pacing is not Pacing.NONE,
        counting=features.counting,
    )
