"""TCP sockets of other processes, as `ss` sees them: NETLINK_SOCK_DIAG.

The layouts are of include/uapi/linux/{netlink,inet_diag,sock_diag}.h. Start with
read_sockets, which asks about the network namespace that this process is in.
"""

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from testbed.errors import InfrastructureError

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_ERROR, _DONE = 2, 3  # NLMSG_ERROR, NLMSG_DONE
_INFO, _CONG, _SKMEMINFO = 2, 4, 7  # INET_DIAG_*
_RCVBUF, _SNDBUF = 1, 3  # SK_MEMINFO_*
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_ASK = struct.Struct("=BBBxI48x")  # struct inet_diag_req_v2, of any socket
_SOCKET = struct.Struct("=BB2x")  # struct inet_diag_msg: family, state; its ports:
_PORTS = struct.Struct("!HH")
_SOCKET_SIZE = 72
_ATTRIBUTE = struct.Struct("=HH")  # struct rtattr
_ROOM = 1 << 20
#: States, include/net/tcp_states.h.
ESTABLISHED, LISTEN = 1, 10
#: All in which a connection is, or was and still sends.
CONNECTED = (ESTABLISHED, 4, 5, 8, 9, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagSocket:
    """A TCP socket. sndbuf, rcvbuf: as the kernel has them: bytes, doubled.

    tcp_info: struct tcp_info as it is, empty of a listener.
    """

    state: int
    sport: int
    dport: int
    congestion: str
    sndbuf: int
    rcvbuf: int
    tcp_info: bytes


def read_sockets(family: int, states: tuple[int, ...]) -> list[DiagSocket]:
    """Return the TCP sockets of an IP version (4 or 6) in some states.

    Raises InfrastructureError if the kernel does not answer.
    """
    found: list[DiagSocket] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as sock:
        sock.send(request(family, states))
        while True:
            sockets, done = parse_datagram(sock.recv(_ROOM))
            found += sockets
            if done:
                return found


def request(family: int, states: tuple[int, ...]) -> bytes:
    """Return the datagram that asks for the TCP sockets in some states."""
    version = {4: socket.AF_INET, 6: socket.AF_INET6}[family]
    wanted = sum(1 << (kind - 1) for kind in (_INFO, _CONG, _SKMEMINFO))
    mask = sum(1 << state for state in states)
    asked = _ASK.pack(version, socket.IPPROTO_TCP, wanted, mask)
    size = _HEADER.size + len(asked)
    return _HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + asked


def parse_datagram(data: bytes) -> tuple[list[DiagSocket], bool]:
    """Return the sockets that a datagram tells of, and whether it is the last.

    Raises InfrastructureError for what is no answer of the kernel's.
    """
    found: list[DiagSocket] = []
    try:
        for kind, body in _messages(data):
            if kind == _ERROR:
                code = -struct.unpack_from("=i", body)[0]
                raise InfrastructureError(f"sock_diag: {os.strerror(code)}")
            if kind == _DONE:
                return found, True
            found.append(_parse_socket(body))
    except (struct.error, IndexError, OverflowError) as error:
        raise InfrastructureError(f"sock_diag: not the kernel's: {error}") from error
    return found, False


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        size, kind, _flags, _turn, _pid = _HEADER.unpack_from(data, at)
        if not _HEADER.size <= size <= len(data) - at:
            raise struct.error(f"a message of {size} bytes in {len(data) - at}")
        yield kind, data[at + _HEADER.size : at + size]
        at += _aligned(size)


def _parse_socket(body: bytes) -> DiagSocket:
    _family, state = _SOCKET.unpack_from(body)
    sport, dport = _PORTS.unpack_from(body, _SOCKET.size)
    own = dict(_attributes(body[_SOCKET_SIZE:]))
    memory = own.get(_SKMEMINFO, bytes(4 * (_SNDBUF + 1)))
    return DiagSocket(
        state=state,
        sport=sport,
        dport=dport,
        congestion=own.get(_CONG, b"").rstrip(b"\0").decode("ascii", "replace"),
        sndbuf=struct.unpack_from("=I", memory, 4 * _SNDBUF)[0],
        rcvbuf=struct.unpack_from("=I", memory, 4 * _RCVBUF)[0],
        tcp_info=own.get(_INFO, b""),
    )


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= size <= len(data) - at:
            raise struct.error(f"an attribute of {size} bytes in {len(data) - at}")
        yield kind, data[at + _ATTRIBUTE.size : at + size]
        at += _aligned(size)


def _aligned(size: int) -> int:
    return (size + 3) & ~3
