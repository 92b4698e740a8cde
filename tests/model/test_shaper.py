import pytest

from testbed.model.cpu import Cpu, Machine
from testbed.model.packet import Packet
from testbed.model.shaper import DelayedShaper, Rate, htb_buffer_ns
from testbed.spec.path import Path

MS = 1_000_000
#: On the wire, at 1 Gbit/s: 2896 B and twice 66 B of headers are 3028 B.
TAKES = 3028 * 8


def a_path(**given: object) -> Path:
    values = {"rtt": 20 * MS, "rate": 10**9, "queue": 10, "shaper": "htb"}
    return Path(**(values | given))  # type: ignore[arg-type]


class Device:
    """Behind a shaper: it notes when packets come."""

    def __init__(self, **path: object) -> None:
        self.cpu = Cpu(Machine(tick=1, min_delta=0), 10**12)
        self.packets: list[Packet] = []
        self.times: list[int] = []
        self.shaper = DelayedShaper(self.cpu, self.take, 10 * MS, a_path(**path))

    def take(self, packet: Packet) -> None:
        self.packets.append(packet)
        self.times.append(self.cpu.clock - 10**12)

    def send(self, count: int) -> None:
        for _ in range(count):
            packet = Packet(0, 2896, 2, 52)
            packet.ect = True
            self.shaper.enqueue(packet)
        self.cpu.run()


@pytest.mark.parametrize("shaper", ["htb", "tbf"])
def test_what_the_burst_allows_leaves_after_the_delay(shaper: str) -> None:
    device = Device(shaper=shaper, burst=4 * 3028)
    device.send(3)

    assert device.times == [10 * MS - 10 * MS % 64] * 3


def test_htb_sends_while_there_are_tokens_and_charges_what_it_sent() -> None:
    # 1500 B are 12 us: a first packet of 24 us leaves, and owes 12 us.
    device = Device(burst=1500)
    device.send(3)

    owed = TAKES - 12_000 + 12_000 % 64
    assert [time - device.times[0] for time in device.times] == [0, owed, owed + TAKES]


def test_tbf_sends_only_what_there_are_tokens_for() -> None:
    device = Device(shaper="tbf", burst=3028)
    device.send(3)

    assert [time - device.times[0] for time in device.times] == [0, TAKES, 2 * TAKES]


def test_pfifo_loses_what_is_beyond_its_limit_of_packets() -> None:
    device = Device(burst=1500, queue=2)
    device.send(5)

    # netem hands all five on before htb gives one away.
    assert len(device.packets) == 2


def test_tbf_loses_what_is_beyond_its_limit_of_bytes() -> None:
    # The limit is 5 * 1500 B, room for two packets.
    device = Device(shaper="tbf", burst=3028, queue=5)
    device.send(5)

    assert len(device.packets) == 2


def test_fq_codel_marks_what_waited_longer_than_the_threshold() -> None:
    # They wait for 0, 12, 36, 61 and 85 us.
    device = Device(burst=1500, discipline="fq_codel", ce_threshold=50_000)
    device.send(5)

    assert [packet.ce for packet in device.packets] == [False] * 3 + [True] * 2


@pytest.mark.parametrize(
    ("burst", "rate", "buffer_ns"),
    [
        # tc counts whole microseconds (2097 of 2097.152), then the ticks in them.
        pytest.param(262144, 10**9, 32765 * 64, id="1-gbit"),
        pytest.param(262144, 10**10, 3265 * 64, id="10-gbit"),
        pytest.param(262144, 10**11, 312 * 64, id="100-gbit"),
    ],
)
def test_a_burst_is_kept_as_ticks_of_its_time(
    burst: int, rate: int, buffer_ns: int
) -> None:
    assert htb_buffer_ns(burst, rate // 8) == buffer_ns


@pytest.mark.parametrize(
    ("rate", "size", "time_ns"),
    [
        pytest.param(10**9, 1514, 12_112, id="exact"),
        # (3 << 31) // 3 Gbit/s in bytes/s, and a shift: never more than it takes.
        pytest.param(3 * 10**9, 1514, 4037, id="rounded-down"),
    ],
)
def test_bytes_take_the_time_of_the_kernels_multiplication(
    rate: int, size: int, time_ns: int
) -> None:
    assert Rate(rate // 8).time_of(size) == time_ns
