"""lock_sock(): while a process owns a socket, what interrupts bring has to wait.

Source: net/core/sock.c, __release_sock(), and net/ipv4/tcp_output.c, tcp_release_cb().
"""

from collections import deque
from collections.abc import Callable

Work = Callable[[], None]


class SocketLock:
    """Who owns one socket, and what waits for it."""

    __slots__ = ("_backlog", "_put_off", "owned")

    def __init__(self) -> None:
        self.owned = False
        self._backlog: deque[Work] = deque()
        self._put_off: dict[Work, None] = {}

    def own(self) -> None:
        """Have the socket owned by a process."""
        self.owned = True

    def bring(self, work: Work) -> None:
        """Do what a packet asks for, now or when the owner is ready for it."""
        if self.owned:
            self._backlog.append(work)
        else:
            work()

    def put_off(self, work: Work) -> None:
        """Do this before the socket is given back, however often it was asked for."""
        self._put_off[work] = None

    def flush(self) -> bool:
        """Do what waits, as the owner; tell whether there was any: sk_flush_backlog."""
        waited = bool(self._backlog)
        while self._backlog:
            self._backlog.popleft()()
        return waited

    def release(self) -> None:
        """Do all that waits, and give the socket back: release_sock()."""
        while self.flush() or self._put_off:
            put_off, self._put_off = self._put_off, {}
            for work in put_off:
                work()
        self.owned = False
