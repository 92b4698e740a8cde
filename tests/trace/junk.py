"""Pcapng files of blocks at random: whole, short, damaged or cut, few of them sensible.

Start with Junk.written.
"""

import struct
from random import Random

BYTE_ORDER_MAGIC = 0x1A2B3C4D


class Junk:
    """A file of blocks at random, most of them whole, few of them sensible."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.order = "<"

    def written(self) -> bytes:
        made = [self.section()]
        kinds = (self.section, self.interface, self.statistics, self.packet, self.other)
        for _ in range(self.random.randrange(60)):
            (kind,) = self.random.choices(kinds, (1, 5, 4, 6, 1))
            made.append(kind())
            if self.random.random() < 0.01:
                made.append(self.damaged(made.pop()))
        data = b"".join(made)
        return data[: len(data) - self.random.choice((0, 0, 0, 1, 4, 9, 30))]

    def damaged(self, block: bytes) -> bytes:
        """Return it with a byte that differs, in its head or its trailer."""
        at = self.random.choice((4, 5, 7, 8, 9, 12, len(block) - 4, len(block) - 1))
        return block[:at] + self.random.randbytes(1) + block[at + 1 :]

    def block(self, kind: int, body: bytes, *, more: int = 0) -> bytes:
        length = struct.pack(self.order + "I", len(body) + 12 + more)
        return struct.pack(self.order + "I", kind) + length + body + length

    def section(self) -> bytes:
        self.order = self.random.choice("<>")
        fixed = struct.pack(self.order + "IHHq", BYTE_ORDER_MAGIC, 1, 0, -1)
        return self.block(0x0A0D0D0A, fixed + self.options((1, 2, 3)))

    def options(self, codes: tuple[int, ...]) -> bytes:
        """Return a few; now and then one claims to be longer than there is room."""
        made = b""
        for _ in range(self.random.choice((0, 0, 1, 2, 3, 6))):
            value = self.value()
            claimed = len(value) + (self.random.random() < 0.03) * 99
            head = struct.pack(self.order + "HH", self.random.choice(codes), claimed)
            made += head + value + bytes(-len(value) % 4)
        return made

    def value(self) -> bytes:
        number = self.random.choice((0, 1, -1, 5, 9, -(2**31), 2**31, -(2**63)))
        whole = struct.pack(self.order + "q", number)
        size = self.random.choice((0, 1, 2, 3, 5, 9))
        resolution = bytes([self.random.choice((0, 6, 9, 10, 19, 99, 148, 192, 255))])
        return self.random.choice((whole, self.random.randbytes(size), resolution))

    def short(self, body: bytes) -> tuple[bytes, int]:
        """Return it with a length that is no multiple of four, or cut, seldom."""
        if self.random.random() < 0.1:
            body = body[: 4 * self.random.randrange(len(body) // 4 + 1)]
        return body, self.random.choice((0,) * 20 + (1, 2, 3))

    def interface(self) -> bytes:
        link, snaplen = self.random.choice((1, 101)), self.random.choice((0, 6))
        fixed = struct.pack(self.order + "HHI", link, 0, snaplen)
        body, more = self.short(fixed + self.options((0, 1, 2, 3, 3, 9, 9, 9, 14)))
        return self.block(1, body, more=more)

    def statistics(self) -> bytes:
        number = self.random.choice((0, 0, 1, 2, 65_535, 65_536, 2**32 - 1))
        fixed = struct.pack(self.order + "III", number, 0, 0)
        body, more = self.short(fixed + self.options((0, 1, 4, 5, 5, 7, 7)))
        return self.block(5, body, more=more)

    def packet(self) -> bytes:
        kind, number = self.random.choice((6, 6, 6, 2, 3)), self.random.choice((0, 1))
        half, whole = f"{self.order}HH", f"{self.order}I"
        which = (
            struct.pack(half, number, 0) if kind == 2 else struct.pack(whole, number)
        )
        ticks = self.random.choice((0, 3, 2**33 + 5, 2**64 - 1))
        data = self.random.randbytes(self.random.randrange(12))
        sizes = (ticks >> 32, ticks & 0xFFFFFFFF, len(data), self.random.randrange(20))
        fixed = which + struct.pack(self.order + "4I", *sizes)
        padded = data + bytes(-len(data) % 4)
        body, more = self.short(fixed + padded + self.options((0, 1, 2, 2)))
        return self.block(kind, body, more=more)

    def other(self) -> bytes:
        body = self.random.randbytes(4 * self.random.randrange(5))
        return self.block(self.random.choice((0, 4, 0x0BAD, 2**31)), body)
