"""Packets to frames at random: any IP header, any link type, whole or padded.

Start with framed.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from random import Random

from tests.trace.craft import ipv4_header, ipv6_header, mss_option, tcp_header
from tests.trace.oracle import FIN, RST, SYN, Seen

_TCP = 20
_MSS_END = 24  # where the MSS option ends, which is the first
_MOST = 65_535
_AUTHENTICATION = 51


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A packet with its headers. tcp_at: where the TCP header begins, None if none.

    data may hold less than wire bytes: the rest is payload, or cut off.
    """

    data: bytes
    wire: int
    seen: Seen | None = None
    tcp_at: int = 0

    def cut(self, snaplen: int) -> "Frame":
        """Return it as a capture with that snaplen keeps it.

        What begins or ends a connection is kept with its TCP header: without, nothing
        tells two connections between the same ports apart.
        """
        seen = self.seen
        if seen and seen.has(SYN | FIN | RST):
            snaplen = max(snaplen, self.tcp_at + _TCP)
        data = self.data[:snaplen]
        if seen and len(data) < self.tcp_at + _TCP:
            seen = None
        elif seen and len(data) < self.tcp_at + _MSS_END:
            seen = replace(seen, mss=None)
        return replace(self, data=data, seen=seen)

    def at(self, time_ns: int) -> "Frame":
        return replace(self, seen=self.seen and replace(self.seen, time_ns=time_ns))


# From TCP to IP.


def _segment(random: Random, packet: Seen) -> bytes:
    """Return its TCP header; the MSS option is the first, the others are NOPs."""
    options = mss_option(packet.mss) if packet.mss else b""
    if packet.option_bytes > 20:
        options += bytes((1, 1, 5, 10)) + random.randbytes(8)
    elif packet.option_bytes == 12:
        options += bytes((1, 1, 8, 10)) + random.randbytes(8)
    options = options[: packet.option_bytes].ljust(packet.option_bytes, b"\1")
    return tcp_header(
        (packet.sport, packet.dport),
        seq=packet.seq,
        ack=packet.ack,
        flags=packet.flags | random.choice((0, 0, 8, 64)),
        window=random.randrange(1 << 16),
        options=options,
    )


def _ipv4(random: Random, packet: Seen, segment: bytes) -> tuple[bytes, int]:
    """Return the headers, and the length that the packet has from IP on."""
    options = bytes(4 * random.choice((0, 0, 0, 1, 5, 10)))
    options = options and b"\1" * len(options)
    total = 20 + len(options) + len(segment) + packet.length
    told = total if total <= _MOST and random.random() < 0.95 else 0
    head = ipv4_header(told, src=packet.src, dst=packet.dst, options=options)
    return head + segment, total


def _extensions(random: Random) -> list[tuple[int, bytes]]:
    """Return extension headers as (their number, all of them but the next header)."""
    made = []
    for kind in random.sample((0, 43, 44, 51, 60), random.choice((0, 0, 0, 1, 2, 4))):
        units = 0 if kind == 44 else random.randrange(3)
        if kind == _AUTHENTICATION:
            # In units of 4 bytes, less 2 (RFC 4302, 2.2); of 8 bytes in all for IPv6.
            units = 2 * units + 2
            body = bytes([units]) + random.randbytes(4 * units + 6)
        elif kind == 44:
            # An atomic fragment (RFC 6946): offset 0, and no more to come.
            body = b"\0" + b"\0\0" + random.randbytes(4)
        else:
            body = bytes([units]) + _padding(8 * units + 6)
        made.append((kind, body))
    return sorted(made, key=lambda one: one[0] != 0)  # hop-by-hop comes first


def _padding(size: int) -> bytes:
    return bytes([1, size - 2]) + bytes(size - 2)


def _ipv6(random: Random, packet: Seen, segment: bytes) -> tuple[bytes, int]:
    chain = _extensions(random)
    size = sum(1 + len(body) for _, body in chain) + len(segment) + packet.length
    told = size
    if size > _MOST or random.random() < 0.1:
        told = 0
        # A jumbo payload option of less is an error (RFC 2675, 3).
        if size > _MOST and random.random() < 0.6:
            chain = [one for one in chain if one[0] != 0]
            size = sum(1 + len(body) for _, body in chain) + len(segment)
            size += packet.length + 8
            chain.insert(0, (0, b"\0\xc2\4" + struct.pack(">I", size)))
    numbers = [kind for kind, _ in chain] + [6]
    head = ipv6_header(told, src=packet.src, dst=packet.dst, next_header=numbers[0])
    for following, (_, body) in zip(numbers[1:], chain, strict=True):
        head += bytes([following]) + body
    return head + segment, 40 + size


# From IP to the link.

Link = Callable[[Random, int], bytes]


def _ethernet(random: Random, version: int) -> bytes:
    tags = random.choice(((), (), (), (0x8100,), (0x88A8, 0x8100), (0x9100, 0x8100)))
    kinds = (*tags, 0x0800 if version == 4 else 0x86DD)
    head = random.randbytes(12) + struct.pack(">H", kinds[0])
    for kind in kinds[1:]:
        head += struct.pack(">HH", random.randrange(1 << 16), kind)
    return head


def _cooked(random: Random, version: int) -> bytes:
    kind = 0x0800 if version == 4 else 0x86DD
    return struct.pack(">HHH8sH", random.randrange(5), 1, 6, random.randbytes(8), kind)


def _cooked_2(random: Random, version: int) -> bytes:
    kind = 0x0800 if version == 4 else 0x86DD
    return struct.pack(
        ">HHIHBB8s", kind, 0, 3, 1, random.randrange(5), 6, random.randbytes(8)
    )


def _null(random: Random, version: int) -> bytes:
    """The address family, in the byte order of the machine that captured."""
    family = 2 if version == 4 else random.choice((10, 24, 28, 30))
    return struct.pack(random.choice("<>") + "I", family)


def _loop(random: Random, version: int) -> bytes:
    return struct.pack(">I", 2 if version == 4 else random.choice((24, 28, 30)))


def _ppp(random: Random, version: int) -> bytes:
    protocol = struct.pack(">H", 0x0021 if version == 4 else 0x0057)
    return random.choice((b"", b"\xff\x03")) + protocol


def _raw(_random: Random, _version: int) -> bytes:
    return b""


#: LINKTYPE_ numbers (https://www.tcpdump.org/linktypes.html).
LINKS: dict[int, Link] = {
    0: _null,
    1: _ethernet,
    9: _ppp,
    101: _raw,
    108: _loop,
    113: _cooked,
    276: _cooked_2,
}
ETHERNET = 1


def framed(random: Random, link: int, packet: Seen) -> Frame:
    version = ip_address(packet.src).version
    segment = _segment(random, packet)
    head = LINKS[link](random, version)
    layer = _ipv4 if version == 4 else _ipv6
    datagram, size = layer(random, packet, segment)
    tcp_at = len(head) + len(datagram) - len(segment)
    data, wire = head + datagram, len(head) + size
    told = datagram[2:4] if version == 4 else datagram[4:6]
    if packet.length < 600 and random.random() < 0.5:
        data += random.randbytes(packet.length)
        # Padding to Ethernet's shortest frame, or its checksum, belongs to no packet.
        if link == ETHERNET and told != b"\0\0":
            padding = max(0, 60 - wire) + random.choice((0, 0, 4))
            data, wire = data + random.randbytes(padding), wire + padding
    return Frame(data=data, wire=wire, seen=packet, tcp_at=tcp_at)


def noise(random: Random, link: int) -> Frame:
    """Return what is no TCP packet, or none that can be read."""
    udp = ipv4_header(28, protocol=17) + bytes(8)
    fragment = ipv4_header(1500, fragment=0x2000 | random.choice((0, 185)))
    short = ipv4_header(30) + bytes(10)
    lost = fragment + tcp_header(seq=random.randrange(1 << 32))
    head = LINKS[link](random, 4)
    data = head + random.choice((udp, lost, short))
    if link == ETHERNET and random.random() < 0.3:
        data = random.randbytes(12) + b"\x08\x06" + bytes(28)
    return Frame(data=data, wire=len(data))
