"""What PcapngWriter writes, and what the reader makes of files by anybody."""

import io
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed import process
from testbed.errors import CaptureError
from testbed.trace.capture import parse_capture
from testbed.trace.pcapng import Direction, PcapngWriter
from tests.trace.craft import Talk
from tests.trace.reads import records

PACKET = st.tuples(
    st.integers(0, 2**62),
    st.binary(max_size=70),
    st.integers(70, 2**32 - 1),
    st.sampled_from([None, False, True]),
)
DIRECTIONS = {
    None: Direction.UNKNOWN,
    False: Direction.INCOMING,
    True: Direction.OUTGOING,
}
HEADER = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)


def started(stream: io.BytesIO) -> PcapngWriter:
    return PcapngWriter(stream, interface="h1-eth0", comment="sender", snaplen=128)


def block(order: str, kind: int, body: bytes) -> bytes:
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, options: bytes = b"", link: int = 1) -> bytes:
    return block(order, 1, struct.pack(order + "HHI", link, 0, 0) + options)


def enhanced(order: str, ticks: int, number: int = 0) -> bytes:
    fixed = struct.pack(order + "5I", number, ticks >> 32, ticks & 0xFFFFFFFF, 4, 4)
    return block(order, 6, fixed + b"data")


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value.ljust(4, b"\0")


def test_a_written_file_begins_with_a_section_that_tells_nothing_of_the_host() -> None:
    stream = io.BytesIO()
    started(stream)

    assert stream.getvalue().startswith(HEADER)


@settings(deadline=None, max_examples=50)
@given(st.lists(PACKET, max_size=20))
def test_packets_written_read_back_the_same(packets: list[tuple]) -> None:
    stream = io.BytesIO()
    writer = started(stream)
    times, frames, wires, outgoing = zip(*packets, strict=True) if packets else [()] * 4
    list(map(writer.packet, times, frames, wires, outgoing))

    read = records(stream.getvalue())

    assert read.time_ns == list(times)
    assert read.frames == list(frames)
    assert read.wire == list(wires)
    assert read.direction == [DIRECTIONS[known] for known in outgoing]
    assert read.told.warnings == []


def test_the_counts_and_the_vantage_point_read_back() -> None:
    stream = io.BytesIO()
    started(stream).close(10**18, received=12, dropped=3)

    capture = parse_capture(stream.getvalue(), "x")

    assert capture.dropped == 3
    assert capture.vantage == "sender"
    assert capture.packets == 0


def test_a_file_without_statistics_does_not_tell_what_was_dropped() -> None:
    assert Talk().client(length=1).capture().dropped is None


def test_the_writer_needs_nothing_but_the_standard_library() -> None:
    code = "import sys, testbed.trace.pcapng; print('numpy' in sys.modules)"

    printed = process.run([sys.executable, "-c", code], timeout_s=60)

    assert printed.strip() == "False"


@pytest.mark.parametrize(
    "order", [pytest.param("<", id="little"), pytest.param(">", id="big")]
)
def test_both_byte_orders_are_read(order: str) -> None:
    nanoseconds = option(order, 9, b"\x09")
    offset = option(order, 14, struct.pack(order + "q", 100))
    file = section(order) + interface(order, nanoseconds + offset)

    read = records(file + enhanced(order, 2**33 + 5))

    assert read.time_ns == [2**33 + 5 + 100 * 10**9]
    assert read.wire == [4]


@pytest.mark.parametrize(
    ("resolution", "time_ns"),
    [
        pytest.param(b"", 3_000, id="microseconds-when-not-told"),
        pytest.param(b"\x03", 3_000_000, id="milliseconds"),
        pytest.param(b"\x0a", 0, id="tenths-of-nanoseconds"),
        pytest.param(b"\x81", 1_500_000_000, id="halves-of-seconds"),
        pytest.param(b"\xff", 0, id="finest-of-all"),
    ],
)
def test_each_interface_has_its_resolution(resolution: bytes, time_ns: int) -> None:
    options = option("<", 9, resolution) if resolution else b""
    file = section("<") + interface("<") + interface("<", options)

    read = records(file + enhanced("<", 3, number=1))

    assert read.time_ns == [time_ns]


def test_every_section_has_its_own_interfaces_and_byte_order() -> None:
    first = section("<") + interface("<", option("<", 9, b"\x09")) + enhanced("<", 7)
    second = section(">") + interface(">") + enhanced(">", 8)

    read = records(first + second)

    assert read.time_ns == [7, 8_000]
    assert read.told.warnings == []


def test_simple_packets_are_read_and_their_missing_times_told() -> None:
    simple = block("<", 3, struct.pack("<I", 9) + b"data")

    read = records(section("<") + interface("<") + simple)

    assert read.wire == [9]
    assert read.captured == [4]
    assert read.told.warnings == ["x: 1 packets carry no time"]


def test_blocks_of_other_kinds_are_passed_over() -> None:
    custom = block("<", 0x0BAD, struct.pack("<I", 1) + b"whatever")
    file = section("<") + custom + interface("<") + custom + enhanced("<", 1)

    read = records(file)

    assert len(read.wire) == 1
    assert read.told.skipped == {}


@pytest.mark.parametrize(
    ("blocks", "skipped"),
    [
        pytest.param(
            enhanced("<", 1) + interface("<"),
            {"packet of an unknown interface": 1},
            id="described-later",
        ),
        pytest.param(
            interface("<") + enhanced("<", 2**63),
            {"time out of range": 1},
            id="far-future",
        ),
        pytest.param(
            interface("<") + block("<", 6, struct.pack("<5I", 0, 0, 0, 5, 5) + b"data"),
            {"damaged packet block": 1},
            id="more-captured-than-there-is",
        ),
        pytest.param(
            interface("<") + block("<", 6, b""),
            {"damaged packet block": 1},
            id="empty-packet-block",
        ),
        pytest.param(
            interface("<") + block("<", 2, bytes(24)),
            {"captured too short": 1},
            id="obsolete",
        ),
    ],
)
def test_packets_that_cannot_be_used_are_counted_by_reason(
    blocks: bytes, skipped: dict[str, int]
) -> None:
    capture = parse_capture(section("<") + blocks, "x")

    assert capture.skipped == skipped
    assert capture.packets == 1


def test_a_cut_file_yields_what_came_before_and_a_warning() -> None:
    whole = section("<") + interface("<") + enhanced("<", 1)

    read = records(whole + enhanced("<", 2)[:-1])

    assert len(read.wire) == 1
    wanted = f"x, byte {len(whole)}: wanted a block of 36 bytes, got 35 bytes"
    assert read.told.warnings == [wanted]


def test_a_damaged_block_ends_the_reading_with_a_warning() -> None:
    whole = section("<") + interface("<") + enhanced("<", 1)
    damaged = enhanced("<", 2)[:-4] + b"\xff\xff\xff\xff"

    read = records(whole + damaged + enhanced("<", 3))

    assert len(read.wire) == 1
    assert "wanted a block with its length before and after it" in read.told.warnings[0]


def test_a_damaged_second_section_is_a_warning() -> None:
    file = section("<") + interface("<") + enhanced("<", 1)

    read = records(file + section("<")[:20])

    assert len(read.wire) == 1
    assert "wanted a section header block" in read.told.warnings[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", r"x, byte 0: wanted a pcap or pcapng file", id="empty"),
        pytest.param(b"GIF89a", r"wanted .* got 47 49 46 38", id="something-else"),
        pytest.param(HEADER[:20], r"wanted a section header block", id="cut"),
        pytest.param(
            HEADER[:8] + bytes(20), r"byte 8: wanted the byte order", id="no-order"
        ),
        pytest.param(
            HEADER[:12] + b"\x02" + HEADER[13:], r"version 1, got 2", id="version-2"
        ),
        pytest.param(HEADER[:-1] + b"\x01", r"wanted a whole section", id="trailer"),
    ],
)
def test_what_is_no_capture_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        parse_capture(data, "x")
