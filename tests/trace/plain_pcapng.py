"""What a pcapng says: an independent account in plain Python, slow and obvious.

It has the whole file in memory and whole numbers of any size. It shares nothing with
the reader but the texts of its messages. Start with told_by.

Source: draft-ietf-opsawg-pcapng; section numbers below are that document's.
"""

import struct
from collections import Counter
from dataclasses import dataclass, field

MAGIC, BYTE_ORDER_MAGIC = bytes.fromhex("0a0d0d0a"), 0x1A2B3C4D
ORDERS = {"<": "little", ">": "big"}
MOST_BLOCK, MOST_INTERFACES, LATEST_NS = 1 << 24, 1 << 16, 1 << 62


@dataclass
class Account:
    """packets: time in ns, captured bytes, bytes on the wire, link, direction."""

    name: str
    packets: list[tuple[int, bytes, int, int, int]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    vantage: str | None = None
    dropped: int | None = None
    untimed: int = 0

    def wrong(self, at: int, wanted: str, got: str) -> None:
        self.warnings.append(f"{self.name}, byte {at}: wanted {wanted}, got {got}")


@dataclass
class Interface:
    link: int
    snaplen: int
    resolution: int
    offset_s: int

    def time_ns(self, ticks: int) -> int | None:
        exponent = self.resolution & 0x7F
        if self.resolution & 0x80:
            since = ticks * 10**9 >> min(exponent, 95)
        else:
            since = ticks * 10**9 // 10 ** min(exponent, 9 + 18)
        time_ns = since + self.offset_s * 10**9
        sane = abs(self.offset_s) < 1 << 31 and since <= LATEST_NS
        return time_ns if sane and abs(time_ns) <= LATEST_NS else None


class Section:
    def __init__(self, order: str, account: Account) -> None:
        self.order = order
        self.account = account
        self.interfaces: list[Interface] = []
        self.lost: dict[int, int] = {}

    def options(self, block: bytes, fixed: int) -> dict[int, bytes]:
        """Return the last of each code (section 3.5); fixed: bytes before them."""
        found: dict[int, bytes] = {}
        left = block[fixed:-4]
        while len(left) >= 4:
            code, length = struct.unpack(self.order + "HH", left[:4])
            if code == 0 or 4 + length > len(left):
                break
            found[code] = left[4 : 4 + length]
            left = left[4 + (length + 3) // 4 * 4 :]
        return found

    def number(self, value: bytes, *, signed: bool = False) -> int:
        return int.from_bytes(value[:8], ORDERS[self.order], signed=signed)

    def describe(self, block: bytes) -> None:
        """Section 4.2."""
        if len(self.interfaces) == MOST_INTERFACES:
            return
        link, snaplen = 0xFFFF, 0
        if len(block) >= 20:
            link, snaplen = struct.unpack(self.order + "HxxI", block[8:16])
        options = self.options(block, 16)
        resolution = (options.get(9) or b"\x06")[0]
        offset_s = self.number(options.get(14, b""), signed=True)
        self.interfaces.append(Interface(link, snaplen, resolution, offset_s))
        if self.account.vantage is None:
            text = options.get(3, options.get(1, b""))
            self.account.vantage = text.decode(errors="replace")

    def lose(self, block: bytes) -> None:
        """Section 4.6."""
        options = self.options(block, 20)
        counts = [self.number(options[code]) for code in (5, 7) if code in options]
        if len(block) >= 24 and counts:
            number = self.number(block[8:12])
            if number < MOST_INTERFACES:
                self.lost[number] = sum(counts)

    def packet(self, block: bytes, length: int, kind: int) -> None:
        """Sections 4.3 and A.1."""
        if length < 32 or self.number(block[20:24]) > length - 32:
            self.account.skipped["damaged packet block"] += 1
            return
        number = self.number(block[8:12] if kind == 6 else block[8:10])
        if number >= len(self.interfaces):
            full = len(self.interfaces) == MOST_INTERFACES
            beyond = f"packet of an interface after the first {MOST_INTERFACES}"
            why = beyond if full else "packet of an unknown interface"
            self.account.skipped[why] += 1
            return
        high, low, captured, wire = struct.unpack(self.order + "4I", block[12:28])
        time_ns = self.interfaces[number].time_ns(high << 32 | low)
        if time_ns is None:
            self.account.skipped["time out of range"] += 1
            return
        data, link = block[28 : 28 + captured], self.interfaces[number].link
        flags = self.flags(block[28 + (captured + 3) // 4 * 4 : -4])
        row = (time_ns, data, max(captured, wire), link, flags)
        self.account.packets.append(row)

    def flags(self, options: bytes) -> int:
        """Return the direction, which only the first option tells."""
        if len(options) < 8 or struct.unpack(self.order + "HH", options[:4]) != (2, 4):
            return 0
        return {1: 1, 2: 2}.get(self.number(options[4:8]) & 3, 0)

    def simple(self, block: bytes, length: int) -> None:
        """Section 4.4."""
        if length < 16:
            self.account.skipped["damaged packet block"] += 1
        elif not self.interfaces:
            self.account.skipped["packet of an unknown interface"] += 1
        else:
            first, wire = self.interfaces[0], self.number(block[8:12])
            captured = min(wire, length - 16, first.snaplen or wire)
            data = block[12 : 12 + captured]
            self.account.packets.append((0, data, wire, first.link, 0))
            self.account.untimed += 1

    def close(self) -> None:
        if self.lost:
            self.account.dropped = (self.account.dropped or 0) + sum(self.lost.values())


def told_by(data: bytes, name: str = "x") -> Account:
    """Return what a file says."""
    account, at = Account(name), 0
    section = Section("<", account)
    while at < len(data):
        if data[at : at + 4] == MAGIC:
            section.close()
            section = Section("<", account)
            size = begun(data, at, section)
        else:
            size = stepped(data, at, section)
        if not size:
            break
        at += size
    section.close()
    if account.untimed:
        told = f"{name}: {account.untimed} packets carry no time"
        account.warnings.append(told)
    return account


def begun(data: bytes, at: int, section: Section) -> int:
    """Read a section header (section 4.1); return its size, 0 if it is damaged."""
    head, wrong = data[at : at + 28], section.account.wrong
    if len(head) < 28:
        wrong(at, "a section header block", head.hex(" "))
        return 0
    magic = struct.pack("<I", BYTE_ORDER_MAGIC)
    section.order = "<" if head[8:12] == magic else ">"
    length, major = section.number(head[4:8]), section.number(head[12:14])
    if section.number(head[8:12]) != BYTE_ORDER_MAGIC:
        wrong(at + 8, "the byte order magic 1a2b3c4d", head[8:12].hex())
    elif major != 1:
        wrong(at + 12, "version 1", str(major))
    elif (
        not 28 <= length <= MOST_BLOCK
        or length % 4
        or at + length > len(data)
        or data[at + length - 4 : at + length] != head[4:8]
    ):
        wrong(at + 4, "a whole section header block", f"one of {length} bytes")
    else:
        return length
    return 0


def stepped(data: bytes, at: int, section: Section) -> int:
    """Read a block; return its size, 0 if it is damaged (section 3.1)."""
    left, wrong = len(data) - at, section.account.wrong
    if left < 12:
        wrong(at, "a whole block", f"{left} bytes")
        return 0
    kind, length = struct.unpack(section.order + "II", data[at : at + 8])
    size = length // 4 * 4
    block = data[at : at + size]
    if length <= MOST_BLOCK and left < size:
        wrong(at, f"a block of {length} bytes", f"{left} bytes")
    elif not 12 <= length <= MOST_BLOCK or section.number(block[-4:]) != length:
        wanted = "a block with its length before and after it"
        wrong(at, wanted, f"a damaged one of {length} bytes")
    else:
        take(section, kind, block, length)
        return size
    return 0


def take(section: Section, kind: int, block: bytes, length: int) -> None:
    if kind == 1:
        section.describe(block)
    elif kind == 5:
        section.lose(block)
    elif kind in (2, 6):
        section.packet(block, length, kind)
    elif kind == 3:
        section.simple(block, length)
