"""One connection: sender, path, receiver, the wires between them, and who looks on."""

import random

from testbed.model.cpu import NS_PER_MS, Cpu, Machine, Timer
from testbed.model.features import Features
from testbed.model.late_tx import late_tx_of
from testbed.model.packet import IP_HEADERS, TCP_HEADER, Packet
from testbed.model.path import Fq, Hand, LateDevice, Loss, Netem
from testbed.model.rcv_sock import RcvSock
from testbed.model.receiver import Receiver
from testbed.model.record import Record
from testbed.model.sender import Sender, setup_of
from testbed.model.settings import ecn_of, mss_of, sysctls_of
from testbed.model.shaper import DelayedShaper
from testbed.model.sock import state_of
from testbed.spec.experiment import Variant
from testbed.spec.path import Path

#: When the SYN leaves, on the machine's clock; its place within a millisecond is that
#: of the lab's runs, for whatever happens at a jiffy.  measured: 20261201T015147Z-1658,
#: as the rest here.
_START_NS = 10_000_515_072
#: From the SYN-ACK until the writer first looks at the clock.
_CONNECT_READS = 9
#: From the writer's sleep until the sampler sets when it samples.
_SAMPLER_READS = 10
#: From when a sample is due until it is taken: Python reads it twice to poll a pipe.
_SAMPLE_READS = 4
#: Of the timer that wakes the sampler; less cannot be asked for: testbed.lab.clock.
_SLEEP_SLACK_NS = 1
_FQ_FLOW_LIMIT = 100
_ENDLESS = 1_000_000


class Connection:
    """A connection from its SYN to its last ACK. Start with run."""

    __slots__ = (
        "_backward",
        "_cpu",
        "_data_packets",
        "_due_ns",
        "_forward",
        "_fq",
        "_jiffies",
        "_late",
        "_over",
        "_receiver",
        "_sample_every",
        "_sampler",
        "_sender",
        "_watch",
        "record",
        "watched",
    )

    def __init__(
        self,
        variant: Variant,
        features: Features,
        machine: Machine,
        record: Record,
        *,
        watch: int | None = None,
        seed: int = 1,
    ) -> None:
        self.record = record
        self.watched: dict[str, int] | None = None
        self._watch = watch
        self._data_packets = 0  # handed to the device so far
        self._cpu = cpu = Cpu(machine, _START_NS)
        setup = setup_of(variant, features)
        decides = record.decides
        self._sender = Sender(setup, cpu=cpu, transmit=self._transmit, sent=decides)
        if watch is not None:
            self._sender.output.deciding = self._note
        self._fq = _fq(variant, cpu, self._leave)
        self._late = _late_device(variant, cpu, self._sender.output.done)
        path = variant.path
        self._forward = _forward(cpu, self._to_receiver, path, seed)
        back = path.rtt - path.rtt // 2
        self._backward = Netem(cpu, self._to_sender, back, path.rate, _ENDLESS)
        self._receiver = Receiver(
            _rcv_sock(variant, features),
            cpu=cpu,
            header=IP_HEADERS[variant.workload.family] + TCP_HEADER,
            ecn=ecn_of(variant),
            transmit=self._acknowledge,
        )
        self._sample_every = variant.workload.sample_every
        self._sampler = Timer(self._wake_sampler)
        self._due_ns = 0
        self._jiffies = Timer(self._next_jiffy)
        self._over = False

    def run(self) -> None:
        """Connect, and run until nothing is left to happen."""
        self._cpu.start(self._jiffies, _START_NS - _START_NS % NS_PER_MS + NS_PER_MS)
        self._sender.handshake.connect()
        self._cpu.run()

    def _next_jiffy(self) -> None:
        # measured: the tick also interrupts a machine with nothing to do, and with it
        # runs what has slack; so all 1260 packets of d10 in tests/system/test_marks.py
        # are the kernel's, and without it the first 215.
        if not self._over:
            self._cpu.start(self._jiffies, self._jiffies.soft_ns + NS_PER_MS)

    def _note(self) -> None:
        if self._data_packets == self._watch:
            self.watched = state_of(self._sender.sock)

    def _transmit(self, packet: Packet) -> bool:
        self.record.counts("sender", packet)
        taken = self._fq is None or self._fq.enqueue(packet)
        if self._fq is None:
            self._leave(packet)
        self._data_packets += bool(taken and packet.length)
        return taken

    def _leave(self, packet: Packet) -> None:
        self.record.leaves(self._cpu.clock, packet)
        if self._late is not None:
            self._late.keep(packet)
        self._cpu.receive(self._route, packet)

    def _route(self, packet: Packet) -> None:
        # The router's ip_rcv() orphans the packet: the sender gets its memory back.
        if self._late is None:
            self._sender.output.done(packet)
        self._forward(packet)

    def _to_receiver(self, packet: Packet) -> None:
        self.record.arrives("receiver", packet)
        self._cpu.receive(self._receiver.receive, packet)

    def _acknowledge(self, packet: Packet) -> None:
        self.record.counts("receiver", packet)
        self._cpu.receive(self._backward.enqueue, packet)

    def _to_sender(self, packet: Packet) -> None:
        self.record.arrives("sender", packet)
        self._cpu.receive(self._take, packet)

    def _take(self, packet: Packet) -> None:
        self.record.returns(self._cpu.clock, packet)
        self._sender.take(packet)
        if packet.syn:
            self._cpu.wake(self._begin)
        elif packet.fin:
            self._over = True
            self._cpu.cancel(self._sampler)

    def _begin(self) -> None:
        cpu = self._cpu
        cpu.paid_clock(_CONNECT_READS)
        self._sender.writer.begin()
        self._due_ns = cpu.paid_clock(_SAMPLER_READS)
        self._sample(1)

    def _wake_sampler(self) -> None:
        self._cpu.wake_on_time(self._sample)

    def _sample(self, readings: int = _SAMPLE_READS) -> None:
        cpu = self._cpu
        now = cpu.paid_clock(readings)
        if self._over:
            cpu.finish()
            return
        self.record.sample(now, self._sender.sock)
        cpu.finish()  # getsockopt() locks the socket, and lets go of it
        self._due_ns += self._sample_every
        cpu.start(self._sampler, self._due_ns, _SLEEP_SLACK_NS)


def _rcv_sock(variant: Variant, features: Features) -> RcvSock:
    return RcvSock(
        mss=mss_of(variant),
        rmem=sysctls_of(variant.receiver)["tcp_rmem"],
        rcvbuf=variant.workload.rcvbuf,
        skb_overhead=features.skb_overhead,
    )


def _forward(cpu: Cpu, hand_on: Hand, path: Path, seed: int) -> Hand:
    """Return what takes packets at the router's port towards the receiver."""
    delay = path.rtt // 2
    if path.shaper == "netem":
        taker = Netem(cpu, hand_on, delay, path.rate, path.queue).enqueue
    else:
        taker = DelayedShaper(cpu, hand_on, delay, path).enqueue
    if not path.loss:
        return taker
    rng = random.Random(seed)  # noqa: S311  # no secret
    return Loss(taker, path.loss, rng).enqueue


def _late_device(variant: Variant, cpu: Cpu, done: Hand) -> LateDevice | None:
    late = late_tx_of(variant)
    return LateDevice(cpu, done, late) if late else None


def _fq(variant: Variant, cpu: Cpu, hand_on: Hand) -> Fq | None:
    qdisc = variant.sender.qdisc
    if qdisc is None:
        return None
    return Fq(cpu, hand_on, int(qdisc.options.get("flow_limit", _FQ_FLOW_LIMIT)))
