"""Captures from files, from stdin, compressed, cut; and what else may come as one."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard

from testbed.errors import CaptureError
from testbed.trace.inspection import Inspection, inspect, inspect_bytes
from tests.trace.craft import Talk

TALK = Talk().handshake()
for number in range(3000):
    TALK.client(seq=1000 * number, length=1000, ack=0)
FILE = TALK.written()
PACKED = {"gzip": gzip.compress(FILE), "zstd": zstandard.compress(FILE)}
each_packing = pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)


def data_packets(inspection: Inspection) -> int:
    return sum(report.packets for report in inspection.flows)


@each_packing
def test_a_compressed_capture_reads_as_the_plain_one(packed: bytes) -> None:
    inspection = inspect_bytes(packed, "x")

    assert data_packets(inspection) == 3000
    assert inspection.warnings == ()


@each_packing
def test_a_compressed_capture_may_come_in_several_parts(packed: bytes) -> None:
    pack = gzip.compress if packed == PACKED["gzip"] else zstandard.compress

    inspection = inspect_bytes(pack(FILE[:90_000]) + pack(FILE[90_000:]), "x")

    assert data_packets(inspection) == 3000
    assert inspection.warnings == ()


@each_packing
def test_a_cut_compressed_capture_yields_what_came_before(packed: bytes) -> None:
    inspection = inspect_bytes(packed[: len(packed) * 2 // 3], "x")

    assert 0 <= data_packets(inspection) < 3000
    assert inspection.warnings


def test_zstd_cut_between_two_packets_yields_those_before_and_a_warning() -> None:
    half = Talk()
    half.packets[:] = TALK.packets[:1500]
    zstd = zstandard.ZstdCompressor().compressobj()
    packed = zstd.compress(half.written())
    packed += zstd.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    inspection = inspect_bytes(packed, "x")

    assert inspection.packets == 1500
    assert inspection.warnings == ("x: the zstd data ends early",)


def test_damaged_compressed_data_is_a_warning() -> None:
    packed = PACKED["gzip"]
    middle = len(packed) // 2

    inspection = inspect_bytes(packed[:middle] + bytes(64) + packed[middle:], "x")

    assert data_packets(inspection) < 3000
    assert inspection.warnings


def test_a_bomb_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(FILE)
        for _ in range(64):
            file.write(bytes(1 << 20))

    inspection = inspect(path)

    assert data_packets(inspection) == 3000


def test_a_capture_is_read_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(FILE)))

    assert data_packets(inspect(Path("-"))) == 3000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "byte 0: wanted a pcap .* got an empty file", id="empty"),
        pytest.param(b"\1", "byte 0: wanted a pcap or pcapng file", id="a-byte"),
        pytest.param(b"#!/bin/sh\n", "got 23 21 2f 62", id="a-script"),
        pytest.param(gzip.compress(b"hello"), "got 68 65 6c 6c", id="gzip-of-junk"),
        pytest.param(gzip.compress(b""), "got an empty file", id="gzip-of-nothing"),
        pytest.param(b"\x1f\x8b" + bytes(30), "damaged gzip data", id="half-a-gzip"),
        pytest.param(
            b"\x28\xb5\x2f\xfd" + bytes(100), "zstd data ends early", id="half-a-zstd"
        ),
    ],
)
def test_what_is_no_capture_is_one_clear_error(data: bytes, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        inspect_bytes(data, "x")


def test_a_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be read: Is a directory"):
        inspect(tmp_path)
