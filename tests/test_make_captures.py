"""Big captures: what they hold is what was asked for, the same every time."""

from collections import Counter
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.utils import PcapNgReader, PcapReader

from tools.make_captures import MSS, main, make_capture

PACKETS, FLOWS = 600, 20


def written(folder: Path, **how: object) -> Path:
    path = folder / "made"
    make_capture(path, **{"packets": PACKETS, "flows": FLOWS, **how})
    return path


@pytest.mark.parametrize(
    ("pcapng", "reader"),
    [
        pytest.param(False, PcapReader, id="pcap"),
        pytest.param(True, PcapNgReader, id="pcapng"),
    ],
)
@pytest.mark.parametrize("flows", [1, 20, 150])
def test_it_has_so_many_packets_of_so_many_flows(
    tmp_path: Path, reader, pcapng, flows
) -> None:
    with reader(str(written(tmp_path, flows=flows, pcapng=pcapng))) as file:
        packets = [*file]

    assert len(packets) == PACKETS
    assert all(packet.wirelen >= 66 for packet in packets)
    clients = Counter(
        packet.payload.src + f" {packet[TCP].sport}"
        for packet in packets
        if packet[TCP].dport == 443
    )
    assert len(clients) == flows


def test_a_flow_has_super_packets_acks_sacks_and_retransmissions(
    tmp_path: Path,
) -> None:
    with PcapReader(str(written(tmp_path, flows=1))) as file:
        packets = [packet.payload for packet in file]

    sizes = [packet.len - 20 - 4 * packet[TCP].dataofs for packet in packets]
    data = [size for size in sizes if size]
    assert min(data) == MSS
    assert max(data) > 20 * MSS
    assert {size % MSS for size in data} == {0}
    sacks = [p for p in packets if any(name == "SAck" for name, _ in p[TCP].options)]
    assert len(sacks) == pytest.approx(PACKETS / 16, abs=1)
    ends = [p[TCP].seq + size for p, size in zip(packets, sizes, strict=True) if size]
    again = [end <= max(ends[:row]) for row, end in enumerate(ends) if row]
    assert sum(again) == PACKETS // 16 // 8 + 1


def test_the_times_ascend(tmp_path: Path) -> None:
    with PcapReader(str(written(tmp_path))) as file:
        times = [packet.time for packet in file]

    assert times == sorted(times)


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    one = written(tmp_path).read_bytes()

    assert written(tmp_path).read_bytes() == one
    assert written(tmp_path, seed=2).read_bytes() != one


def test_more_flows_than_packets_can_open_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="10 packets cannot be of 4 flows"):
        written(tmp_path, packets=10, flows=4)


def test_the_command_line_writes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"

    assert main([str(path), "--packets", "600", "--flows", "20"]) == 0

    assert path.read_bytes() == written(tmp_path).read_bytes()
