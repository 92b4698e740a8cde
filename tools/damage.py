"""Captures of every kind, and what damage can be done to them. Start with mutated."""

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tests.trace.conversations import conversations
from tests.trace.dress import dressed

_REFERENCE = Path(__file__).parent.parent / "captures" / "reference"
_CAPTURES = 120
_LARGEST = 3000  # bytes of a capture in the corpus: small ones are quick, and as nasty
_HEAD = 3000  # bytes of a real capture
_VALUES = (0, 1, 2, 3, 4, 12, 20, 28, 64, 127, 128, 255, 1 << 15, (1 << 16) - 1)
_LARGE = ((1 << 31) - 1, 1 << 31, (1 << 32) - 4, (1 << 32) - 1, 1 << 30, 1 << 20)
_BLOCKS = (0, 1, 2, 3, 4, 5, 6, 0x0A0D0D0A, 0x0BAD, 0x8000_0000)


def corpus() -> list[bytes]:
    """Return small captures of every kind, always the same."""
    found = [
        path.read_bytes()[: _HEAD + start]
        for path in sorted(_REFERENCE.rglob("*.pcapng"))
        for start in (0, _HEAD)
    ]
    random = Random(0)  # noqa: S311  # nobody is kept out by it
    while len(found) < _CAPTURES:
        data = dressed(random, conversations(random)).data
        found += [data] if len(data) <= _LARGEST else []
    return found


def mutated(seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """Return one input: a capture of the corpus, damaged."""
    random = Random(seed << 40 | number)  # noqa: S311
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        random.choice(_MUTATIONS)(random, data, seeds)
    return bytes(data)


def _flip(random: Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    for _ in range(random.choice((1, 2, 8)) if data else 0):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(random: Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put a number where a length may stand."""
    layout = random.choice(("<I", ">I", "<H", ">H", "B"))
    size = struct.calcsize(layout)
    if len(data) < size:
        return
    aligned = random.random() < 0.7  # noqa: PLR2004
    at = random.randrange(len(data) - size + 1)
    at = at & ~3 if aligned else at
    value = random.choice((*_VALUES, *_LARGE, len(data), len(data) - at))
    struct.pack_into(layout, data, at, value % (1 << 8 * size))


def _cut(random: Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    del data[random.randrange(len(data) + 1) :]


def _remove(random: Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    at = random.randrange(len(data) + 1)
    del data[at : at + random.choice((1, 2, 4, 16, 60))]


def _double(random: Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    at = random.randrange(len(data) + 1)
    data[at:at] = data[at : at + random.randrange(400)]


def _splice(random: Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = random.choice(seeds)
    start = random.randrange(len(other) + 1)
    piece = other[start : start + random.randrange(600)]
    at = random.randrange(len(data) + 1)
    data[at : at + random.choice((0, len(piece)))] = piece


def _insert_block(random: Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put in a pcapng block, sound or nearly so, with anything in it."""
    order = random.choice("<>")
    body = random.randbytes(4 * random.randrange(20))
    kind, size = random.choice(_BLOCKS), len(body) + 12
    told = random.choice((size, size, size, size + 4, 0, 0xFFFF_FFFC))
    block = (
        struct.pack(f"{order}II", kind, told) + body + struct.pack(f"{order}I", told)
    )
    at = random.randrange(len(data) + 1) & ~3
    data[at:at] = block


_MUTATIONS: tuple[Callable[[Random, bytearray, Sequence[bytes]], None], ...] = (
    _flip,
    _flip,
    _overwrite,
    _overwrite,
    _overwrite,
    _cut,
    _remove,
    _double,
    _splice,
    _insert_block,
)
