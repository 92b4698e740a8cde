"""Sockets set up as a workload asks, each option read back."""

import socket
from collections.abc import Callable

from testbed.errors import NotApplied
from testbed.spec.workload import FlowGroup, Workload

FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
_SO_SNDBUFFORCE = 32  # not capped by net.core.wmem_max, which is not under test
_SO_RCVBUFFORCE = 33
_SO_MAX_PACING_RATE = 47


def set_up_sender(sock: socket.socket, workload: Workload, group: FlowGroup) -> None:
    """Set what a sending socket needs before it connects."""
    _set_up(sock, group.congestion, _SO_SNDBUFFORCE, workload.sndbuf)
    if group.pacing_rate is not None:
        _set_pacing(sock, group.pacing_rate)


def set_up_listener(sock: socket.socket, workload: Workload, group: FlowGroup) -> None:
    """Set what a listening socket needs; what it accepts inherits it."""
    _set_up(sock, group.congestion, _SO_RCVBUFFORCE, workload.rcvbuf)


def _set_up(
    sock: socket.socket, congestion: str, option: int, size: int | None
) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    wanted = congestion.encode()
    _check("congestion control", congestion, lambda: _choose(sock, wanted))
    if size is not None:
        sock.setsockopt(socket.SOL_SOCKET, option, size)
        name = {_SO_SNDBUFFORCE: socket.SO_SNDBUF, _SO_RCVBUFFORCE: socket.SO_RCVBUF}
        # The kernel doubles it, for its own overhead: socket(7).
        _check(
            "socket buffer",
            2 * size,
            lambda: sock.getsockopt(socket.SOL_SOCKET, name[option]),
        )


def _choose(sock: socket.socket, congestion: bytes) -> str:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
    got = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return got.rstrip(b"\0").decode()


def _set_pacing(sock: socket.socket, bits: int) -> None:
    wanted = bits // 8
    sock.setsockopt(
        socket.SOL_SOCKET, _SO_MAX_PACING_RATE, wanted.to_bytes(8, "little")
    )
    _check(
        "SO_MAX_PACING_RATE",
        wanted,
        lambda: int.from_bytes(
            sock.getsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, 8), "little"
        ),
    )


def _check(what: str, wanted: object, get: Callable[[], object]) -> None:
    try:
        got = get()
    except OSError as error:
        raise NotApplied(what, wanted=wanted, got=error.strerror) from error
    if got != wanted:
        raise NotApplied(what, wanted=wanted, got=got)
