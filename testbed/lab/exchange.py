"""Exchange: one end of a connection whose ends take turns, each with so many bytes."""

import select
import socket
from collections.abc import Callable

from testbed.errors import InfrastructureError
from testbed.lab.loop import Loop

#: Bytes that one recv() takes at most. With MSG_TRUNC TCP throws them away uncopied.
READ_SIZE = 256 * 1024


class Exchange:
    """One end of a connection on which two take turns, with messages of fixed sizes."""

    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        buffer: bytearray,
        *,
        says: int,
        hears: int,
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._buffer = buffer
        self._message = memoryview(bytes(says))
        self._hears = hears
        self._unsaid = 0
        self._unheard = hears

    def listen(
        self, heard: Callable[[], None], closed: Callable[[socket.socket], None]
    ) -> None:
        """Begin: call heard() after each message, closed() when the peer has closed."""
        self._heard = heard
        self._closed = closed
        self._loop.watch(self._sock, select.EPOLLIN, self._ready)

    def say(self) -> None:
        """Send a message; the peer's answer is what is heard next."""
        self._unsaid = len(self._message)
        self._write()
        if self._unsaid:
            self._loop.change(self._sock, select.EPOLLOUT)

    def _ready(self, _events: int) -> None:
        if self._unsaid:
            self._write()
            if not self._unsaid:
                self._loop.change(self._sock, select.EPOLLIN)
        else:
            self._read()

    def _write(self) -> None:
        # There is room: the message before was acknowledged, or epoll says so.
        self._unsaid -= self._sock.send(self._message[-self._unsaid :])

    def _read(self) -> None:
        wanted = min(self._unheard, READ_SIZE)
        size = self._sock.recv_into(self._buffer, wanted, socket.MSG_TRUNC)
        if not size:
            if self._unheard != self._hears:
                raise InfrastructureError("the peer closed within a message")
            self._closed(self._sock)
            return
        self._unheard -= size
        if not self._unheard:
            self._unheard = self._hears
            self._heard()
