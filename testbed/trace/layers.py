"""The layers below TCP: link, IP, and tunnels that carry IP. Kernels.

Each function takes a place in the buffer and says where the next header stands, or why
the packet cannot be read, as a number of _REASONS below. What a packet claims about
lengths is checked before it is used. How long it is comes from the IP header, or from
the record's wire length where the header holds none (BIG TCP), never from the bytes
captured.
"""

from testbed.trace.jit import Bytes, Table, kernel
from testbed.trace.loads import be16, be32, be64, le32, u8

#: The columns of a header; see testbed/trace/decode.py. By lines of the cache: what
#: every packet needs, what few do, and what its connection is found by.
H_TIME, SEQ, ACK, FLAGS, WINDOW, LENGTH, OPTIONS, SACKS = range(8)
SACK, MSS, WSCALE, TTL, H_DIRECTION = 8, 12, 13, 14, 15
SRC_HIGH, SRC, DST_HIGH, DST, FAMILY, SPORT, DPORT = range(16, 23)
HEADER_COLUMNS = 24
#: SACK blocks, each in a column from SACK on: its left edge above its right one.
MOST_SACKS = 4

#: Why a packet is no TCP header. The texts are the words of reports.
REASONS = (
    "link type",
    "captured too short",
    "not IP",
    "not TCP",
    "bad IPv4 header",
    "bad IPv6 header",
    "bad TCP header",
    "IPv4 fragment",
    "IPv6 fragment",
    "tunnels too deep",
)
(
    LINK_UNKNOWN,
    TOO_SHORT,
    NOT_IP,
    NOT_TCP,
    BAD_IPV4,
    BAD_IPV6,
    BAD_TCP,
    FRAGMENT_4,
    FRAGMENT_6,
    TOO_DEEP,
) = range(-1, -11, -1)

IPV4, IPV6 = 0x0800, 0x86DD
_8021Q, _8021AD, _QINQ = 0x8100, 0x88A8, 0x9100  # the last before its standard
_PPPOE, _BRIDGED = 0x8864, 0x6558
_MOST_TAGS, _TAG = 4, 4
_ETHERNET, _COOKED_HEADER, _COOKED_2_HEADER = 14, 16, 20
_FAMILY_WORD, _PPPOE_HEADER = 4, 6
#: Link types of Linux cooked captures, and of PPP over Ethernet.
COOKED, COOKED_2, _PPP_ETHERNET = 113, 276, 51
_VERSION_4, _VERSION_6 = 4, 6

_IPV4_HEADER, _IPV6_HEADER, _UDP_HEADER, _VXLAN_HEADER = 20, 40, 8, 8
_MORE_OR_OFFSET_4 = 0x3FFF  # frag_off: part of a fragmented packet (RFC 791)
_MORE_OR_OFFSET_6 = 0xFFF9  # the same in an IPv6 fragment header (RFC 8200, 4.5)
TCP = 6
_HOP_BY_HOP, _IN_IPV4, _UDP, _IN_IPV6, _ROUTING, _FRAGMENT = 0, 4, 17, 41, 43, 44
_GRE, _AUTHENTICATION, _DESTINATION, _MOBILITY = 47, 51, 60, 135
_MOST_EXTENSIONS, _EXTENSION = 8, 8
_JUMBO, _JUMBO_LENGTH = 0xC2, 4
_VXLAN_PORT = 4789
_GRE_CHECKSUM, _GRE_KEY, _GRE_SEQUENCE, _GRE_REFUSED = 0x8000, 0x2000, 0x1000, 0x4C07


@kernel
def link_layer(data: Bytes, at: int, end: int, link: int) -> tuple[int, int]:
    """Return where the network header stands, and its EtherType or why there is none.

    LINKTYPE_ numbers: https://www.tcpdump.org/linktypes.html.
    """
    if link == 1:
        return _ethernet(data, at, end)
    if link == COOKED:
        return _tagged(data, at + _COOKED_HEADER, end, 2)
    if link == COOKED_2:
        return _cooked_2(data, at, end)
    if link in (12, 14, 101, 228, 229):
        return _raw(data, at, end)
    return _seldom(data, at, end, link)


@kernel
def _seldom(data: Bytes, at: int, end: int, link: int) -> tuple[int, int]:
    if link in (0, 108):
        return _loopback(data, at, end)
    if link in (9, 50):
        return _ppp(data, at, end)
    if link == _PPP_ETHERNET:
        return _ppp(data, at + _PPPOE_HEADER, end)
    return at, LINK_UNKNOWN


@kernel
def _ethernet(data: Bytes, at: int, end: int) -> tuple[int, int]:
    return _tagged(data, at + _ETHERNET, end, 2)


@kernel
def _tagged(data: Bytes, at: int, end: int, back: int) -> tuple[int, int]:
    """Step over VLAN tags. at: behind the EtherType, which stands so far back."""
    if at > end:
        return at, TOO_SHORT
    kind = be16(data, at - back)
    for _ in range(_MOST_TAGS):
        if kind not in (_8021Q, _8021AD, _QINQ):
            break
        at += _TAG
        if at > end:
            return at, TOO_SHORT
        kind = be16(data, at - 2)
    if kind == _PPPOE:
        return _ppp(data, at + _PPPOE_HEADER, end)
    return (at, kind) if kind in (IPV4, IPV6) else (at, NOT_IP)


@kernel
def _raw(data: Bytes, at: int, end: int) -> tuple[int, int]:
    if at >= end:
        return at, TOO_SHORT
    version = u8(data, at) >> 4
    if version == _VERSION_4:
        return at, IPV4
    return at, IPV6 if version == _VERSION_6 else NOT_IP


@kernel
def _cooked_2(data: Bytes, at: int, end: int) -> tuple[int, int]:
    if at + _COOKED_2_HEADER > end:
        return at, TOO_SHORT
    return _tagged(data, at + _COOKED_2_HEADER, end, _COOKED_2_HEADER)


@kernel
def _loopback(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Read the address family, in the byte order of whichever host captured it."""
    at += _FAMILY_WORD
    if at > end:
        return at, TOO_SHORT
    family = min(be32(data, at - _FAMILY_WORD), le32(data, at - _FAMILY_WORD))
    if family == 2:  # noqa: PLR2004  # AF_INET, everywhere
        return at, IPV4
    # AF_INET6 of Linux, of NetBSD, of FreeBSD and of Darwin.
    return at, IPV6 if family in (10, 24, 28, 30) else NOT_IP


@kernel
def _ppp(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Step over PPP, in HDLC framing or not, its protocol compressed or not."""
    if at + 4 > end:
        return at, TOO_SHORT
    if be16(data, at) in (0xFF03, 0x0F00):
        at += 2
    kind, size = be16(data, at), 2
    if kind >> 8 & 1:
        kind, size = kind >> 8, 1
    if kind in (0x21, IPV4):  # the second as Cisco's HDLC has it
        return at + size, IPV4
    return at + size, IPV6 if kind in (0x57, IPV6) else NOT_IP


@kernel
def ip_layer(
    data: Bytes, at: int, end: int, stop: int, kind: int, header: Table
) -> tuple[int, int, int]:
    """Return where the next header stands, where the packet ends, and its protocol.

    The protocol is a reason, and negative, if the packet cannot be read.
    """
    if kind == IPV4:
        return _ipv4(data, at, end, stop, header)
    return _ipv6(data, at, end, stop, header)


@kernel
def _ipv4(
    data: Bytes, at: int, end: int, stop: int, header: Table
) -> tuple[int, int, int]:
    if at + _IPV4_HEADER > end:
        return at, stop, TOO_SHORT
    first, total = u8(data, at), be16(data, at + 2)
    size = (first & 0xF) * 4
    # BIG TCP: a length that does not fit the field is written as 0
    # (Linux commit b1a78b9b9886, "net: add support for ipv4 big tcp", v6.3).
    if total:
        stop = at + total
    if first >> 4 != _VERSION_4 or size < _IPV4_HEADER or at + size > stop:
        return at, stop, BAD_IPV4
    if be16(data, at + 6) & _MORE_OR_OFFSET_4:
        return at, stop, FRAGMENT_4
    header[FAMILY] = IPV4
    header[TTL] = u8(data, at + 8)
    header[SRC_HIGH] = 0
    header[SRC] = be32(data, at + 12)
    header[DST_HIGH] = 0
    header[DST] = be32(data, at + 16)
    return at + size, stop, u8(data, at + 9)


@kernel
def _ipv6(
    data: Bytes, at: int, end: int, stop: int, header: Table
) -> tuple[int, int, int]:
    if at + _IPV6_HEADER > end:
        return at, stop, TOO_SHORT
    if u8(data, at) >> 4 != _VERSION_6:
        return at, stop, BAD_IPV6
    header[FAMILY] = IPV6
    header[TTL] = u8(data, at + 7)
    header[SRC_HIGH] = be64(data, at + 8)
    header[SRC] = be64(data, at + 16)
    header[DST_HIGH] = be64(data, at + 24)
    header[DST] = be64(data, at + 32)
    length, protocol = be16(data, at + 4), u8(data, at + 6)
    at += _IPV6_HEADER
    if length:
        stop = at + length
    if protocol == TCP:
        return at, stop, protocol
    return _extensions(data, at, end, stop, (protocol, length))


@kernel
def _extensions(
    data: Bytes, at: int, end: int, stop: int, said: tuple[int, int]
) -> tuple[int, int, int]:
    """Step over extension headers (RFC 8200, 4)."""
    protocol, length = said
    if not length:
        stop = _jumbo_stop(data, at, end, stop, protocol)
    for _ in range(_MOST_EXTENSIONS):
        if not _extends(protocol):
            break
        if at + _EXTENSION > end:
            return at, stop, TOO_SHORT
        units = u8(data, at + 1)
        size = 8 * units + 8
        if protocol == _AUTHENTICATION:
            size = 4 * units + 8
        elif protocol == _FRAGMENT:
            if be16(data, at + 2) & _MORE_OR_OFFSET_6:
                return at, stop, FRAGMENT_6
            size = _EXTENSION
        protocol = u8(data, at)
        at += size
    return at, stop, NOT_TCP if _extends(protocol) else protocol


@kernel
def _jumbo_stop(data: Bytes, at: int, end: int, stop: int, protocol: int) -> int:
    """Return where a packet ends whose length field is 0.

    A jumbo payload option (RFC 2675) tells, which is read where it comes first in a
    hop-by-hop header, as Linux writes it (BIG TCP, commit 81fbc812132c, "ipv6/gro:
    insert temporary HBH/jumbo header", v5.19); wherever else it stands, the wire length
    says the same.
    """
    if protocol != _HOP_BY_HOP or at + _EXTENSION > end:
        return stop
    if be16(data, at + 2) != _JUMBO << 8 | _JUMBO_LENGTH:
        return stop
    return at + be32(data, at + 4)


@kernel
def _extends(protocol: int) -> bool:
    return protocol in (
        *(_HOP_BY_HOP, _ROUTING, _FRAGMENT),
        *(_AUTHENTICATION, _DESTINATION, _MOBILITY),
    )


@kernel
def tunnel(data: Bytes, at: int, end: int, protocol: int) -> tuple[int, int]:
    """Return where a tunnelled network header stands, and its EtherType or reason."""
    if protocol == _IN_IPV4:
        return at, IPV4
    if protocol == _IN_IPV6:
        return at, IPV6
    if protocol == _GRE:
        return _gre(data, at, end)
    if protocol == _UDP:
        if at + _UDP_HEADER > end:
            return at, NOT_TCP
        if be16(data, at + 2) == _VXLAN_PORT:  # RFC 7348
            return _ethernet(data, at + _UDP_HEADER + _VXLAN_HEADER, end)
    return at, NOT_TCP


@kernel
def _gre(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Step over a GRE header (RFC 2784, RFC 2890), if it is of version 0."""
    if at + 4 > end:
        return at, TOO_SHORT
    flags, kind = be16(data, at), be16(data, at + 2)
    if flags & _GRE_REFUSED:
        return at, NOT_TCP
    at += 4
    for option in (_GRE_CHECKSUM, _GRE_KEY, _GRE_SEQUENCE):
        if flags & option:
            at += 4
    if kind == _BRIDGED:
        return _ethernet(data, at, end)
    return (at, kind) if kind in (IPV4, IPV6) else (at, NOT_TCP)
