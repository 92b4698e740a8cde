"""Files made to break a reader: each is read as far as it can be, or refused."""

import gzip
import os
import struct
import zlib
from pathlib import Path

import pytest

from testbed.errors import CaptureError
from testbed.trace.inspection import inspect
from tests.trace.craft import ethernet, ipv4_header, ipv6_header, tcp_header

FRAME = ethernet(0x0800) + ipv4_header(1040) + tcp_header(seq=5)
WIRE = 14 + 1040


def block(kind: int, body: bytes, told: int | None = None) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12 if told is None else told)
    return struct.pack("<I", kind) + size + body + size


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(resolution: int | None = None) -> bytes:
    option = b"" if resolution is None else struct.pack("<HHB3x", 9, 1, resolution)
    return block(1, struct.pack("<HHI", 1, 0, 0) + option)


def packet(which: int = 0, *, captured: int = len(FRAME), ticks: int = 5) -> bytes:
    head = struct.pack("<IIIII", which, ticks >> 32, ticks % 2**32, captured, WIRE)
    return block(6, head + FRAME)


def pcap(*frames: bytes, snaplen: int = 65_535, wire: int = WIRE) -> bytes:
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, 1)
    return head + b"".join(
        struct.pack("<IIII", 1, at, len(frame), max(wire, len(frame))) + frame
        for at, frame in enumerate(frames)
    )


START = SECTION + interface() + packet()
CHAIN = bytes([60, 0, 1, 4, 0, 0, 0, 0]) * 8000
TAGS = struct.pack(">HH", 1, 0x8100) * 1000


def read(folder: Path, data: bytes):
    path = folder / "hostile"
    path.write_bytes(data)
    return inspect(path)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(START + bytes(1000), id="blocks-of-no-length"),
        pytest.param(START + struct.pack("<II", 6, 2**32 - 4), id="a-block-of-4-gb"),
        pytest.param(
            pcap(FRAME) + struct.pack("<IIII", 1, 1, *[2**32 - 1] * 2), id="a-packet"
        ),
        pytest.param(START + block(6, bytes(20), told=24), id="lengths-that-differ"),
        pytest.param(gzip.compress(pcap(FRAME) * 1)[:-9], id="gzip-that-ends-early"),
        pytest.param(gzip.compress(pcap(FRAME)) + b"junk", id="junk-behind-gzip"),
    ],
)
def test_what_came_before_the_damage_is_read_with_a_warning(
    tmp_path: Path, data: bytes
) -> None:
    inspection = read(tmp_path, data)

    assert len(inspection.warnings) >= 1
    assert inspection.packets == 1
    assert [flow.bytes for flow in inspection.flows] == [1000]


@pytest.mark.parametrize(
    ("data", "skipped"),
    [
        pytest.param(
            START + packet(captured=2**32 - 1),
            {"damaged packet block": 1},
            id="a-captured-length-of-4-gb",
        ),
        pytest.param(
            START + packet(2**32 - 1) + packet(2**31),
            {"packet of an unknown interface": 2},
            id="interface-4-billion",
        ),
        pytest.param(
            pcap(ethernet(0x86DD) + ipv6_header(64_000, next_header=60) + CHAIN, FRAME),
            {"not TCP": 1},
            id="8000-ipv6-extensions",
        ),
        pytest.param(
            pcap(ethernet(0x8100) + TAGS + struct.pack(">H", 0x0800) + FRAME, FRAME),
            {"not IP": 1},
            id="1000-vlan-tags",
        ),
        pytest.param(
            pcap(ethernet(0x0800) + ipv4_header(60_000, protocol=4) * 1000, FRAME),
            {"tunnels too deep": 1},
            id="1000-tunnels",
        ),
    ],
)
def test_what_cannot_be_read_is_counted_by_reason(
    tmp_path: Path, data: bytes, skipped: dict[str, int]
) -> None:
    inspection = read(tmp_path, data)

    assert inspection.skipped == skipped
    assert [flow.bytes for flow in inspection.flows] == [1000]


@pytest.mark.parametrize("resolution", [0, 19, 20, 127, 128, 191, 192, 255])
def test_any_resolution_of_the_clock_is_taken(tmp_path: Path, resolution: int) -> None:
    packets = packet(ticks=2**64 - 1) + packet(ticks=1)

    inspection = read(tmp_path, SECTION + interface(resolution) + packets)

    assert inspection.packets == 2
    assert inspection.flows[0].packets + sum(inspection.skipped.values()) == 2


def test_a_snaplen_of_2_gb_is_believed_by_nobody(tmp_path: Path) -> None:
    assert read(tmp_path, pcap(FRAME, snaplen=1 << 31)).packets == 1


def test_many_interfaces_and_sections_are_read(tmp_path: Path) -> None:
    data = SECTION * 500 + interface() * 2000 + packet(1999)

    assert [flow.bytes for flow in read(tmp_path, data).flows] == [1000]


def test_a_packet_of_4_gb_on_the_wire_has_so_many_bytes(tmp_path: Path) -> None:
    frame = ethernet(0x0800) + ipv4_header(0) + tcp_header()

    inspection = read(tmp_path, pcap(frame, wire=2**32 - 1))

    assert inspection.flows[0].bytes == 2**32 - 1 - len(frame)


def test_a_gzip_bomb_is_read_in_pieces(tmp_path: Path) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [bomb.compress(pcap()), *(bomb.compress(bytes(1 << 22)) for _ in range(8))]

    inspection = read(tmp_path, b"".join([*pieces, bomb.flush()]))

    assert inspection.packets == 8 * (1 << 22) // 16
    assert len(inspection.flows) == 0


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\n", id="a-byte"),
        pytest.param(b"\x0a\x0d\x0d\x0a", id="a-magic-alone"),
        pytest.param(pcap()[:23], id="most-of-a-header"),
        pytest.param(b"hello world\n" * 1000, id="text"),
        pytest.param(gzip.compress(b""), id="nothing-in-gzip"),
        pytest.param(gzip.compress(gzip.compress(pcap(FRAME))), id="gzip-in-gzip"),
    ],
)
def test_garbage_is_one_error_that_says_what_was_wanted(
    tmp_path: Path, data: bytes
) -> None:
    with pytest.raises(CaptureError, match="hostile, byte 0: wanted "):
        read(tmp_path, data)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/urandom", "/dev/null"])
def test_devices_without_end_are_refused_at_their_start(name: str) -> None:
    with pytest.raises(CaptureError, match=f"{name}, byte 0: wanted a pcap"):
        inspect(Path(name))


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    with pytest.raises(CaptureError, match="loop: cannot be read: Too many levels"):
        inspect(loop)
    with pytest.raises(CaptureError, match="cannot be read: Is a directory"):
        inspect(tmp_path)
    with pytest.raises(CaptureError, match="cannot be read: No such file"):
        inspect(tmp_path / "none")


def test_a_pipe_is_read_as_it_fills(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, pcap(FRAME))
    os.close(writing)

    try:
        assert inspect(Path(f"/proc/self/fd/{reading}")).packets == 1
    finally:
        os.close(reading)
