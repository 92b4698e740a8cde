"""How a TCP header is found in a frame, and how long its payload is."""

import struct

import pytest

from testbed.trace.decode import ABSENT
from tests.trace.craft import (
    SYN,
    TIMESTAMPS,
    ethernet,
    frames_written,
    ipv4_header,
    ipv6_header,
    mss_option,
    tcp_header,
)
from tests.trace.reads import headers as read

TCP = tcp_header()
IPV4 = ethernet(0x0800)
IPV6 = ethernet(0x86DD)
TAG = bytes.fromhex("81000007")
OUTER_TAG = bytes.fromhex("88a80007")
PAD4 = bytes.fromhex("010400000000")


def extension(following: int, size: int = 8) -> bytes:
    return bytes([following, size // 8 - 1]) + PAD4.ljust(size - 2, b"\0")


def jumbo(length: int) -> bytes:
    return struct.pack(">BBBBI", 6, 0, 0xC2, 4, length)


def fragment(offset_and_more: int) -> bytes:
    return struct.pack(">BBHI", 6, 0, offset_and_more, 1)


def decoded(*frames: bytes, wire: int = 0):
    return read(frames_written(*frames, wire=wire))


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(IPV4 + ipv4_header(20 + 20 + 700) + TCP, id="ipv4"),
        pytest.param(
            IPV4 + ipv4_header(24 + 20 + 700, options=b"\1\1\1\0") + TCP,
            id="ipv4-options",
        ),
        pytest.param(
            IPV4 + ipv4_header(20 + 20 + 700) + TCP + b"some payload", id="with-payload"
        ),
        pytest.param(
            IPV4 + ipv4_header(20 + 32 + 700) + tcp_header(options=TIMESTAMPS),
            id="tcp-options",
        ),
        pytest.param(
            IPV4 + ipv4_header(20 + 32 + 700) + tcp_header(options=TIMESTAMPS)[:20],
            id="tcp-options-cut",
        ),
        pytest.param(
            IPV4 + ipv4_header(740, fragment=0x4000) + TCP, id="ipv4-dont-fragment"
        ),
        pytest.param(ethernet(0x0800, tags=TAG) + ipv4_header(740) + TCP, id="vlan"),
        pytest.param(
            ethernet(0x0800, tags=OUTER_TAG + TAG) + ipv4_header(740) + TCP, id="qinq"
        ),
        pytest.param(IPV6 + ipv6_header(720) + TCP, id="ipv6"),
        pytest.param(
            IPV6 + ipv6_header(8 + 720, next_header=0) + extension(6) + TCP,
            id="ipv6-hop-by-hop",
        ),
        pytest.param(
            IPV6
            + ipv6_header(8 + 16 + 720, next_header=43)
            + extension(60)
            + extension(6, size=16)
            + TCP,
            id="ipv6-routing-and-destination",
        ),
        pytest.param(
            IPV6 + ipv6_header(12 + 720, next_header=51) + b"\6\1" + bytes(10) + TCP,
            id="ipv6-authentication",
        ),
        pytest.param(
            IPV6 + ipv6_header(8 + 720, next_header=44) + fragment(0) + TCP,
            id="ipv6-atomic-fragment",
        ),
    ],
)
def test_the_payload_length_comes_from_the_ip_header(frame: bytes) -> None:
    packets = decoded(frame, wire=1_000)

    assert packets.length == [700]
    assert packets.skipped == {}


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(IPV4 + ipv4_header(0) + TCP, id="ipv4"),
        pytest.param(IPV6 + ipv6_header(0) + TCP + bytes(20), id="ipv6"),
    ],
)
def test_a_big_tcp_packet_has_its_length_from_the_wire(frame: bytes) -> None:
    big = decoded(frame, wire=14 + 40 + 20 + 185_000)
    lengths = {b"\x08": 185_020, b"\x86": 185_000}

    assert big.length == [lengths[frame[12:13]]]


def test_a_big_tcp_packet_has_its_length_from_the_jumbo_option() -> None:
    head = IPV6 + ipv6_header(0, next_header=0) + jumbo(8 + 20 + 185_000)

    packets = decoded(head + TCP, wire=300_000)

    assert packets.length == [185_000]


def test_a_jumbo_option_in_a_packet_with_a_length_of_its_own_is_no_length() -> None:
    head = IPV6 + ipv6_header(8 + 20 + 700, next_header=0) + jumbo(185_000)

    assert decoded(head + TCP).length == [700]


def test_padding_of_the_frame_is_no_payload() -> None:
    packets = decoded(IPV4 + ipv4_header(40) + TCP + bytes(6))

    assert packets.length == [0]


def test_ipv4_and_ipv6_keep_the_order_of_the_file() -> None:
    four = IPV4 + ipv4_header(41) + TCP
    six = IPV6 + ipv6_header(22) + TCP

    packets = decoded(four, six, four, six)

    assert packets.src == ["10.0.0.1", "fc00::1", "10.0.0.1", "fc00::1"]
    assert packets.length == [1, 2, 1, 2]


def test_the_fields_of_the_header_are_read() -> None:
    header = tcp_header((1, 65535), seq=2**32 - 1, ack=2**31, flags=0x1B, window=65535)

    headers = decoded(IPV4 + ipv4_header(40) + header)

    assert headers.sport == [1]
    assert headers.dport == [65535]
    assert headers.seq == [2**32 - 1]
    assert headers.ack == [2**31]
    assert headers.flags == [0x1B]
    assert headers.window == [65535]
    assert headers.option_bytes == [0]


@pytest.mark.parametrize(
    ("options", "mss", "wscale"),
    [
        pytest.param(b"", ABSENT, ABSENT, id="none"),
        pytest.param(mss_option(1460), 1460, ABSENT, id="mss"),
        pytest.param(b"\1\3\3\7" + mss_option(1460), 1460, 7, id="wscale-first"),
        pytest.param(b"\3\3\x20\0", ABSENT, 14, id="wscale-limited"),
        pytest.param(b"\0\0\0\0" + mss_option(1460), ABSENT, ABSENT, id="after-end"),
        pytest.param(b"\x08\0\0\0" + mss_option(1460), ABSENT, ABSENT, id="length-0"),
        pytest.param(b"\1\1\1\2", ABSENT, ABSENT, id="no-length"),
        pytest.param(b"\1\1\2\4", ABSENT, ABSENT, id="no-value"),
        pytest.param(mss_option(0), ABSENT, ABSENT, id="mss-0"),
        pytest.param(b"\2\3\5\0", ABSENT, ABSENT, id="mss-of-wrong-length"),
    ],
)
def test_the_options_of_a_syn_are_read(options: bytes, mss: int, wscale: int) -> None:
    header = tcp_header(flags=SYN, options=options)

    headers = decoded(IPV4 + ipv4_header(20 + len(header)) + header)

    assert headers.mss == [mss]
    assert headers.wscale == [wscale]


def test_the_options_of_other_packets_are_not_read() -> None:
    header = tcp_header(options=mss_option(1460))

    headers = decoded(IPV4 + ipv4_header(20 + len(header)) + header)

    assert headers.mss == [ABSENT]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        pytest.param(b"", "captured too short", id="nothing"),
        pytest.param(IPV4[:13], "captured too short", id="cut-ethernet"),
        pytest.param(ethernet(0x8100), "captured too short", id="cut-tag"),
        pytest.param(IPV4 + ipv4_header(40)[:19], "captured too short", id="cut-ipv4"),
        pytest.param(IPV6 + ipv6_header(20)[:39], "captured too short", id="cut-ipv6"),
        pytest.param(
            IPV6 + ipv6_header(28, next_header=0) + b"\6\0",
            "captured too short",
            id="cut-extension",
        ),
        pytest.param(
            IPV4 + ipv4_header(40) + TCP[:19], "captured too short", id="cut-tcp"
        ),
        pytest.param(ethernet(0x0806) + bytes(28), "not IP", id="arp"),
        pytest.param(
            ethernet(0x8100, tags=TAG * 4) + bytes(60), "not IP", id="too-many-tags"
        ),
        pytest.param(IPV4 + ipv4_header(40, protocol=17) + TCP, "not TCP", id="udp"),
        pytest.param(
            IPV6 + ipv6_header(20, next_header=17) + TCP, "not TCP", id="udp-ipv6"
        ),
        pytest.param(
            IPV6 + ipv6_header(20, next_header=0) + extension(0) * 10,
            "not TCP",
            id="too-many-extensions",
        ),
        pytest.param(
            IPV4 + ipv4_header(1500, fragment=0x2000) + TCP,
            "IPv4 fragment",
            id="first-fragment",
        ),
        pytest.param(
            IPV4 + ipv4_header(40, fragment=1) + TCP,
            "IPv4 fragment",
            id="last-fragment",
        ),
        pytest.param(
            IPV6 + ipv6_header(28, next_header=44) + fragment(1) + TCP,
            "IPv6 fragment",
            id="ipv6-fragment",
        ),
        pytest.param(IPV4 + bytes(40), "bad IPv4 header", id="ipv4-version"),
        pytest.param(IPV4 + b"\x44" + bytes(40), "bad IPv4 header", id="ipv4-size"),
        pytest.param(
            IPV4 + ipv4_header(19) + TCP, "bad IPv4 header", id="ipv4-total-length"
        ),
        pytest.param(IPV6 + bytes(60), "bad IPv6 header", id="ipv6-version"),
        pytest.param(
            IPV4 + ipv4_header(39) + TCP, "bad TCP header", id="shorter-than-a-header"
        ),
        pytest.param(
            IPV4 + ipv4_header(40) + TCP[:12] + b"\x40" + TCP[13:],
            "bad TCP header",
            id="data-offset-too-small",
        ),
        pytest.param(
            IPV4 + ipv4_header(40) + TCP[:12] + b"\xf0" + TCP[13:],
            "bad TCP header",
            id="data-offset-too-large",
        ),
    ],
)
def test_what_cannot_be_read_is_counted_by_reason(frame: bytes, reason: str) -> None:
    good = IPV4 + ipv4_header(41) + TCP

    packets = decoded(good, frame, good)

    assert packets.length == [1, 1]
    assert packets.skipped == {reason: 1}
