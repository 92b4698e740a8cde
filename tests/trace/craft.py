"""Hand-made packets and captures, for tests that say which packets there are."""

import io
import struct
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

from testbed.trace.capture import Capture, parse_capture
from testbed.trace.pcapng import PcapngWriter
from testbed.trace.trace import Trace

FIN, SYN, RST, ACK = 1, 2, 4, 16
MS = 1_000_000
TIMESTAMPS = bytes.fromhex("0101080a0000000000000000")
SNAPLEN = 128


def mss_option(mss: int) -> bytes:
    return struct.pack(">BBH", 2, 4, mss)


def tcp_header(
    ports: tuple[int, int] = (40000, 80),
    *,
    seq: int = 0,
    ack: int = 0,
    flags: int = ACK,
    window: int = 500,
    options: bytes = b"",
) -> bytes:
    options += bytes(-len(options) % 4)
    words = 5 + len(options) // 4
    fixed = struct.pack(">HHIIBBHHH", *ports, seq, ack, words << 4, flags, window, 0, 0)
    return fixed + options


def ipv4_header(
    length: int,
    *,
    src: str = "10.0.0.1",
    dst: str = "10.0.0.2",
    options: bytes = b"",
    fragment: int = 0,
    protocol: int = 6,
) -> bytes:
    """Return a header; length is what the total length field says."""
    first = 0x45 + len(options) // 4
    fixed = struct.pack(">BBHHHBBH", first, 0, length, 0, fragment, 64, protocol, 0)
    return fixed + ip_address(src).packed + ip_address(dst).packed + options


def ipv6_header(
    length: int, *, src: str = "fc00::1", dst: str = "fc00::2", next_header: int = 6
) -> bytes:
    """Return a header; length is what the payload length field says."""
    fixed = struct.pack(">IHBB", 6 << 28, length, next_header, 64)
    return fixed + ip_address(src).packed + ip_address(dst).packed


def ethernet(ether_type: int, *, tags: bytes = b"") -> bytes:
    return bytes(12) + tags + struct.pack(">H", ether_type)


@dataclass(frozen=True)
class Side:
    address: str
    port: int
    isn: int


@dataclass(frozen=True)
class Said:
    """What a packet says; it has the ACK flag when ack is given."""

    length: int = 0
    seq: int = 0
    ack: int | None = None
    flags: int = 0
    options: bytes = b""
    window: int = 500


@dataclass
class Talk:
    """A conversation; sequence numbers are relative, 0 is the first payload byte.

    Each packet is a millisecond after the one before it, the first at 0.
    """

    client_isn: int = 999
    server_isn: int = 4_999
    client_port: int = 40_000
    packets: list[tuple[int, bytes, int]] = field(default_factory=list)

    def client(self, **said: Any) -> "Talk":
        """Let the client send a packet; see Said."""
        return self._say(self._sides(), Said(**said))

    def server(self, **said: Any) -> "Talk":
        """Let the server send a packet; see Said."""
        client, server = self._sides()
        return self._say((server, client), Said(**said))

    def _sides(self) -> tuple[Side, Side]:
        return (
            Side("10.0.0.1", self.client_port, self.client_isn),
            Side("10.0.0.2", 80, self.server_isn),
        )

    def handshake(self, client: bytes = b"", server: bytes = b"") -> "Talk":
        """Say SYN, SYN-ACK and ACK, with an MSS of 1000 unless other options."""
        self.client(flags=SYN, seq=-1, options=client or mss_option(1000))
        self.server(flags=SYN, seq=-1, ack=0, options=server or mss_option(1000))
        return self.client(ack=0)

    def with_isns(self, client: int, server: int) -> "Talk":
        """Continue with other initial sequence numbers."""
        return replace(self, client_isn=client, server_isn=server)

    def capture(self) -> Capture:
        return parse_capture(self.written(), "talk.pcapng")

    def traces(self) -> tuple[Trace, ...]:
        return self.capture().traces

    def trace(self) -> Trace:
        (trace,) = self.traces()
        return trace

    def written(self) -> bytes:
        stream = io.BytesIO()
        writer = PcapngWriter(
            stream, interface="eth0", comment="sender", snaplen=SNAPLEN
        )
        for time_ns, data, wire in self.packets:
            writer.packet(time_ns, data, wire, None)
        return stream.getvalue()

    def _say(self, sides: tuple[Side, Side], said: "Said") -> "Talk":
        own, peer = sides
        acked = None if said.ack is None else (peer.isn + 1 + said.ack) % 2**32
        header = tcp_header(
            (own.port, peer.port),
            seq=(own.isn + 1 + said.seq) % 2**32,
            ack=acked or 0,
            flags=said.flags | (0 if acked is None else ACK),
            window=said.window,
            options=said.options,
        )
        total = 20 + len(header) + said.length
        head = ipv4_header(total, src=own.address, dst=peer.address)
        frame = ethernet(0x0800) + head + header
        self.packets.append((len(self.packets) * MS, frame, 14 + total))
        return self


def frames_written(*frames: bytes, wire: int = 0) -> bytes:
    """Return a pcapng of frames; wire is what each had, unless it had more bytes."""
    talk = Talk()
    talk.packets += [(0, frame[:SNAPLEN], max(wire, len(frame))) for frame in frames]
    return talk.written()
