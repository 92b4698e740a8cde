"""Every link layer, and every tunnel, leads to the same TCP header."""

import struct

import pytest

from tests.trace.craft import (
    ethernet,
    frames_written,
    ipv4_header,
    ipv6_header,
    tcp_header,
)
from tests.trace.reads import headers

TCP = tcp_header()
IPV4 = ipv4_header(20 + 20 + 700) + TCP
IPV6 = ipv6_header(20 + 700) + TCP
INNER = ethernet(0x0800) + IPV4


def captured(frame: bytes, link: int) -> bytes:
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    return head + struct.pack("<IIII", 3, 5, len(frame), len(frame) + 700) + frame


@pytest.mark.parametrize(
    ("link", "frame"),
    [
        pytest.param(1, ethernet(0x0800) + IPV4, id="ethernet"),
        pytest.param(1, ethernet(0x8864) + bytes(6) + b"\0\x21" + IPV4, id="pppoe"),
        pytest.param(101, IPV4, id="raw-ipv4"),
        pytest.param(101, IPV6, id="raw-ipv6"),
        pytest.param(12, IPV4, id="raw-as-bsd-has-it"),
        pytest.param(14, IPV6, id="raw-as-openbsd-has-it"),
        pytest.param(228, IPV4, id="ipv4-alone"),
        pytest.param(229, IPV6, id="ipv6-alone"),
        pytest.param(113, bytes(14) + b"\x08\x00" + IPV4, id="cooked"),
        pytest.param(113, bytes(14) + b"\x81\0\0\7\x86\xdd" + IPV6, id="cooked-vlan"),
        pytest.param(276, b"\x08\x00" + bytes(18) + IPV4, id="cooked-2"),
        pytest.param(0, b"\2\0\0\0" + IPV4, id="null-little"),
        pytest.param(0, b"\0\0\0\2" + IPV4, id="null-big"),
        pytest.param(0, b"\x1e\0\0\0" + IPV6, id="null-ipv6-of-darwin"),
        pytest.param(108, b"\0\0\0\x18" + IPV6, id="loop-ipv6-of-openbsd"),
        pytest.param(9, b"\xff\3\0\x21" + IPV4, id="ppp"),
        pytest.param(9, b"\x21" + IPV4, id="ppp-compressed"),
        pytest.param(50, b"\xff\3\0\x57" + IPV6, id="ppp-hdlc"),
        pytest.param(51, bytes(6) + b"\0\x21" + IPV4, id="pppoe-alone"),
    ],
)
def test_each_link_type_is_read(link: int, frame: bytes) -> None:
    found = headers(captured(frame, link))

    assert found.skipped == {}
    assert found.length == [700]


@pytest.mark.parametrize(
    ("protocol", "between"),
    [
        pytest.param(4, IPV4, id="ipip"),
        pytest.param(41, IPV6, id="6in4"),
        pytest.param(47, b"\0\0\x08\x00" + IPV4, id="gre"),
        pytest.param(47, b"\xb0\0\x86\xdd" + bytes(12) + IPV6, id="gre-with-options"),
        pytest.param(47, b"\0\0\x65\x58" + INNER, id="gre-of-ethernet"),
        pytest.param(
            17, struct.pack(">HHHH", 9, 4789, 0, 0) + bytes(8) + INNER, id="vxlan"
        ),
        pytest.param(4, ipv4_header(60 + 720, protocol=4) + IPV4, id="twice"),
    ],
)
def test_tunnels_are_looked_into(protocol: int, between: bytes) -> None:
    outer = ipv4_header(20 + len(between) + 700, src="1.1.1.1", protocol=protocol)

    found = headers(frames_written(ethernet(0x0800) + outer + between, wire=900))

    assert found.skipped == {}
    assert found.length == [700]
    assert found.src[0] in ("10.0.0.1", "fc00::1")


@pytest.mark.parametrize(
    ("protocol", "between", "reason"),
    [
        pytest.param(17, bytes(8) + IPV4, "not TCP", id="other-udp"),
        pytest.param(17, bytes(3), "not TCP", id="cut-udp"),
        pytest.param(47, b"\0\1\x08\x00" + IPV4, "not TCP", id="gre-of-version-1"),
        pytest.param(47, b"\0", "captured too short", id="cut-gre"),
        pytest.param(
            17,
            struct.pack(">HHHH", 9, 4789, 0, 0) + bytes(8),
            "captured too short",
            id="cut-vxlan",
        ),
        pytest.param(
            4,
            ipv4_header(120, protocol=4) * 3 + IPV4,
            "tunnels too deep",
            id="too-deep",
        ),
    ],
)
def test_tunnels_that_cannot_be_read_are_counted(protocol, between, reason) -> None:
    outer = ipv4_header(20 + len(between) + 700, protocol=protocol)

    found = headers(frames_written(ethernet(0x0800) + outer + between, wire=900))

    assert found.skipped == {reason: 1}


def test_a_cooked_capture_tells_the_direction() -> None:
    out, to_us = b"\0\4" + bytes(12), b"\0\0" + bytes(12)

    assert headers(captured(out + b"\x08\x00" + IPV4, 113)).direction == [2]
    assert headers(captured(to_us + b"\x08\x00" + IPV4, 113)).direction == [1]
