"""Classic pcap in its four dialects."""

import struct
from pathlib import Path

import pytest

from testbed.errors import CaptureError
from testbed.trace.capture import parse_capture, read_capture
from tests.trace.reads import records

DIALECTS = [
    pytest.param("<", 0xA1B2C3D4, 5_000, id="little-microseconds"),
    pytest.param(">", 0xA1B2C3D4, 5_000, id="big-microseconds"),
    pytest.param("<", 0xA1B23C4D, 5, id="little-nanoseconds"),
    pytest.param(">", 0xA1B23C4D, 5, id="big-nanoseconds"),
]


def file_header(order: str = "<", magic: int = 0xA1B2C3D4, link: int = 1) -> bytes:
    return struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, link)


def record(data: bytes, wire: int, order: str = "<") -> bytes:
    return struct.pack(order + "IIII", 3, 5, len(data), wire) + data


@pytest.mark.parametrize(("order", "magic", "fraction_ns"), DIALECTS)
def test_every_dialect_is_read(order: str, magic: int, fraction_ns: int) -> None:
    packets = record(b"abc", 70_000, order) + record(b"", 0, order)

    table = records(file_header(order, magic) + packets)

    assert table.time_ns == [3 * 10**9 + fraction_ns] * 2
    assert table.captured == [3, 0]
    assert table.wire == [70_000, 0]
    assert table.link == [1, 1]
    assert table.told.warnings == []
    assert table.told.dropped is None


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(record(b"abc", 3)[:-1], id="in-the-packet"),
        pytest.param(record(b"abc", 3)[:9], id="in-its-header"),
        pytest.param(b"\xff" * 16, id="absurd-length"),
    ],
)
def test_a_cut_file_yields_what_came_before_and_a_warning(rest: bytes) -> None:
    read = records(file_header() + record(b"abc", 3) + rest)

    assert read.captured == [3]
    assert "x, byte 43: wanted a whole packet record" in read.told.warnings[0]


def test_half_a_file_header_is_an_error() -> None:
    with pytest.raises(CaptureError, match="wanted a file header of 24 bytes, got 23"):
        records(file_header()[:23])


def test_a_link_type_we_do_not_read_is_counted() -> None:
    capture = parse_capture(file_header(link=147) + record(bytes(80), 80), "x")

    assert capture.skipped == {"link type 147": 1}
    assert capture.packets == 1


def test_a_capture_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(file_header())

    assert read_capture(path).traces == ()


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"none\.pcap: cannot be read: No such file"):
        read_capture(tmp_path / "none.pcap")
