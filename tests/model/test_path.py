from testbed.model.cpu import Cpu, Machine
from testbed.model.late_tx import LateTx
from testbed.model.packet import Packet
from testbed.model.path import Fq, LateDevice, Netem

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

    assert device.times == [MS + 10_000]


def test_fq_releases_late_packets_with_a_new_one() -> None:
    device = Device()
    fq = Fq(device.cpu, device.take, 100)
    fq.enqueue(a_packet(MS))
    device.cpu.spend(MS + 500)
    fq.enqueue(a_packet(MS))

    assert device.times == [MS + 500, MS + 500]


def test_fq_drops_what_is_beyond_its_flow_limit_and_says_so() -> None:
    device = Device()
    fq = Fq(device.cpu, device.take, 1)

    assert [fq.enqueue(a_packet(MS)) for _ in range(2)] == [True, False]


def test_a_late_device_completes_all_it_holds_a_delay_after_the_first() -> None:
    device = Device()
    late = LateDevice(device.cpu, device.take, LateTx(delay=3 * MS, ring=16))
    late.keep(a_packet())
    device.cpu.spend(MS)
    late.keep(a_packet())
    device.cpu.run()

    assert device.times == [3 * MS, 3 * MS]


def test_a_late_device_completes_a_full_ring_at_once_and_starts_anew() -> None:
    device = Device()
    late = LateDevice(device.cpu, device.take, LateTx(delay=3 * MS, ring=2))
    late.keep(a_packet())
    device.cpu.spend(MS)
    late.keep(a_packet())
    device.cpu.receive(device.take, a_packet())  # softirqs run
    assert device.times == [MS, MS, MS]
    late.keep(a_packet())
    device.cpu.run()

    assert device.times == [MS, MS, MS, 4 * MS]


def test_a_packet_takes_its_own_time_and_the_delay() -> None:
    device = Device()
    Netem(device.cpu, device.take, 20 * MS, 10**9, 10).enqueue(a_packet())
    device.cpu.run()

    assert device.times == [20 * MS + (2896 + 2 * 66) * 8]


def test_packets_queue_behind_one_another() -> None:
    device = Device()
    netem = Netem(device.cpu, device.take, 20 * MS, 10**9, 10)
    netem.enqueue(a_packet())
    netem.enqueue(a_packet())
    device.cpu.run()

    assert device.times[1] - device.times[0] == (2896 + 2 * 66) * 8


def test_what_finds_the_queue_full_is_lost() -> None:
    device = Device()
    netem = Netem(device.cpu, device.take, 20 * MS, 10**9, 2)
    for _ in range(3):
        netem.enqueue(a_packet())
    device.cpu.run()

    assert len(device.times) == 2


def test_delays_are_rounded_down_to_ticks_of_64_ns_as_tc_does() -> None:
    device = Device()
    Netem(device.cpu, device.take, 25_000, 10**12, 10).enqueue(a_packet())
    device.cpu.run()

    assert device.times == [24_960 + (2896 + 2 * 66) * 8 // 1000]
