import re
import shutil
import struct
from pathlib import Path

import pytest

from testbed.errors import SpecError
from testbed.kernels.elf import build_id
from testbed.process import run


def elf(notes: bytes) -> bytes:
    """Write an ELF header, one program header, and a note segment."""
    header = struct.pack(
        *("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01".ljust(16, b"\0")),
        *(2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0),
    )
    segment = struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(notes), len(notes), 4)
    return header + segment + notes


def note(owner: bytes, kind: int, content: bytes) -> bytes:
    padding = -len(content) % 4
    head = struct.pack("<III", len(owner), len(content), kind)
    return head + owner.ljust((len(owner) + 3) & ~3, b"\0") + content + bytes(padding)


BUILD_ID = note(b"GNU\0", 3, bytes.fromhex("00112233445566778899"))


def test_the_build_id_is_found_behind_other_notes(tmp_path: Path) -> None:
    file = tmp_path / "linux"
    file.write_bytes(elf(note(b"Xen\0", 3, b"12345") + BUILD_ID))

    assert build_id(file) == "00112233445566778899"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"#!/bin/sh\n", id="script"),
        pytest.param(elf(note(b"GNU\0", 1, b"abi!")), id="no-build-id"),
        pytest.param(elf(BUILD_ID)[:80], id="cut-in-the-header"),
    ],
)
def test_a_file_without_a_build_id_is_a_spec_error(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "linux"
    file.write_bytes(data)

    with pytest.raises(SpecError, match="linux"):
        build_id(file)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_readelf_agrees_about_a_program_of_this_system() -> None:
    program = Path("/bin/true")
    told = run(("readelf", "-n", str(program)), timeout_s=10)
    match = re.search(r"Build ID: ([0-9a-f]+)", told)

    assert match is not None
    assert build_id(program) == match[1]
