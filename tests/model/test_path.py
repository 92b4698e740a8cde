import pytest

from testbed.errors import SpecError
from testbed.model.cpu import Cpu, Machine
from testbed.model.packet import Packet
from testbed.model.path import Fq, Netem

IDEAL = Machine(tick=1, min_delta=0)
MS = 1_000_000


class Device:
    """Where packets go: it notes when."""

    def __init__(self) -> None:
        self.cpu = Cpu(IDEAL, 0)
        self.times: list[int] = []

    def take(self, packet: Packet) -> None:
        self.times.append(self.cpu.clock)


def a_packet(edt_ns: int = 0) -> Packet:
    packet = Packet(0, 2896, 2, 52)
    packet.edt_ns = edt_ns
    return packet


def test_fq_hands_a_due_packet_on_at_once() -> None:
    device = Device()
    Fq(device.cpu, device.take, 100).enqueue(a_packet())

    assert device.times == [0]


def test_fq_releases_a_packet_up_to_ten_us_late() -> None:
    device = Device()
    Fq(device.cpu, device.take, 100).enqueue(a_packet(MS))
    device.cpu.run()

    assert device.times == [MS + 10_001]


def test_fq_releases_late_packets_with_a_new_one() -> None:
    device = Device()
    fq = Fq(device.cpu, device.take, 100)
    fq.enqueue(a_packet(MS))
    device.cpu.spend(MS + 500)
    fq.enqueue(a_packet(MS))

    assert device.times == [MS + 500, MS + 500]


def test_fq_never_drops_a_packet_silently() -> None:
    device = Device()
    fq = Fq(device.cpu, device.take, 1)
    fq.enqueue(a_packet(MS))

    with pytest.raises(SpecError, match="flow_limit"):
        fq.enqueue(a_packet(MS))


def test_a_packet_takes_its_own_time_and_the_delay() -> None:
    device = Device()
    Netem(device.cpu, device.take, 20 * MS, 10**9, 10).enqueue(a_packet())
    device.cpu.run()

    assert device.times == [20 * MS + (2896 + 2 * 66) * 8 + 1]


def test_packets_queue_behind_one_another() -> None:
    device = Device()
    netem = Netem(device.cpu, device.take, 20 * MS, 10**9, 10)
    netem.enqueue(a_packet())
    netem.enqueue(a_packet())
    device.cpu.run()

    assert device.times[1] - device.times[0] == (2896 + 2 * 66) * 8


def test_a_queue_that_overflows_is_beyond_the_model() -> None:
    device = Device()
    netem = Netem(device.cpu, device.take, 20 * MS, 10**9, 1)
    netem.enqueue(a_packet())

    with pytest.raises(SpecError, match="overflows"):
        netem.enqueue(a_packet())
