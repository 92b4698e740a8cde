"""The GNU build id of an ELF file: the linker's hash of what it linked."""

import struct
from collections.abc import Iterator
from pathlib import Path

from testbed.errors import SpecError

_PT_NOTE = 4  # elf.h: program header type
_NT_GNU_BUILD_ID = 3  # elf.h: note type, of owner "GNU"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr, little endian
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")  # Elf64_Phdr
_NOTE = struct.Struct("<III")  # Elf64_Nhdr: name size, content size, type


def build_id(path: Path) -> str:
    """Return the build id in hex. Raises SpecError when the file carries none."""
    data = path.read_bytes()
    try:
        for notes in _note_segments(data):
            if found := build_id_of_notes(notes):
                return found
    except struct.error as error:
        raise SpecError(f"{path} is cut short: {error}") from error
    raise SpecError(f"{path} is no 64-bit ELF file with a GNU build id")


def build_id_of_notes(notes: bytes) -> str:
    """Return the build id among ELF notes, in hex; "" if it is not there."""
    for owner, kind, content in _notes(notes):
        if owner == b"GNU\0" and kind == _NT_GNU_BUILD_ID:
            return content.hex()
    return ""


def _note_segments(data: bytes) -> Iterator[bytes]:
    if data[:6] != b"\x7fELF\x02\x01":  # 64 bit, little endian
        return
    header = _HEADER.unpack_from(data)
    offset, size, count = header[5], header[9], header[10]
    for index in range(count):
        segment = _PROGRAM_HEADER.unpack_from(data, offset + index * size)
        kind, start, length = segment[0], segment[2], segment[5]
        if kind == _PT_NOTE:
            yield data[start : start + length]


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    position = 0
    while position + _NOTE.size <= len(data):
        name_size, content_size, kind = _NOTE.unpack_from(data, position)
        name_at = position + _NOTE.size
        content_at = name_at + _padded(name_size)
        yield (
            data[name_at : name_at + name_size],
            kind,
            data[content_at : content_at + content_size],
        )
        position = content_at + _padded(content_size)


def _padded(size: int) -> int:
    """Round up to the four bytes that notes are aligned to."""
    return (size + 3) & ~3
