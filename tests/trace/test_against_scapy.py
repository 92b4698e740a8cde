"""What we decode is what scapy decodes."""

import io

import pytest

from testbed.trace.pcapng import PcapngWriter
from tests.trace.craft import (
    FIN,
    SYN,
    TIMESTAMPS,
    Talk,
    ethernet,
    ipv6_header,
    mss_option,
    tcp_header,
)
from tests.trace.reads import headers, records

pytest.importorskip("scapy.layers.l2")
inet = pytest.importorskip("scapy.layers.inet")
inet6 = pytest.importorskip("scapy.layers.inet6")
utils = pytest.importorskip("scapy.utils")


def crafted() -> Talk:
    talk = Talk(client_isn=2**32 - 700).handshake(mss_option(1460) + TIMESTAMPS)
    talk.client(length=30_000, ack=0, options=TIMESTAMPS).server(ack=30_000)
    talk.client(seq=30_000, length=9, ack=0, flags=FIN).server(flags=SYN, window=1)
    tagged = ethernet(0x86DD, tags=bytes.fromhex("88a8000781000009"))
    frame = tagged + ipv6_header(20 + 5) + tcp_header((7, 9), seq=5, ack=6) + b"hello"
    talk.packets.append((12_345_678_901, frame, len(frame)))
    return talk


def row(packet) -> tuple[object, ...]:
    """Return the columns of a header that scapy knows of."""
    tcp = packet[inet.TCP]
    ip = packet[inet6.IPv6] if inet6.IPv6 in packet else packet[inet.IP]
    total = ip.plen if inet6.IPv6 in packet else ip.len - 4 * ip.ihl
    fields = (tcp.sport, tcp.dport, tcp.seq, tcp.ack, int(tcp.flags), tcp.window)
    length = total - 4 * tcp.dataofs
    return (int(packet.time * 10**9), ip.src, ip.dst, *fields, length)


def rows(found) -> list[tuple[object, ...]]:
    columns = (found.time_ns, found.src, found.dst, found.sport, found.dport)
    numbers = (found.seq, found.ack, found.flags, found.window, found.length)
    return list(zip(*columns, *numbers, strict=True))


def test_a_crafted_capture_is_decoded_as_scapy_decodes_it() -> None:
    file = crafted().written()
    wanted = [row(packet) for packet in utils.rdpcap(io.BytesIO(file))]

    packets = headers(file)

    assert rows(packets) == wanted
    assert packets.skipped == {}


def test_wire_lengths_and_directions_are_what_scapy_reads() -> None:
    stream = io.BytesIO()
    writer = PcapngWriter(stream, interface="eth0", comment="", snaplen=128)
    writer.packet(1, bytes(60), 60, None)
    writer.packet(2, bytes(61), 99, outgoing=False)
    writer.packet(3, bytes(62), 200_000, outgoing=True)
    file = stream.getvalue()
    read = list(utils.PcapNgReader(io.BytesIO(file)))

    table = records(file)

    assert table.wire == [packet.wirelen for packet in read]
    assert table.direction == [packet.direction or 0 for packet in read]
