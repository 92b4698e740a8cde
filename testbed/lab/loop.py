"""Loop: an epoll and its timers, for a process that serves many sockets."""

import heapq
import itertools
import select
import time
from collections.abc import Callable
from typing import Protocol

from testbed.lab.clock import Alarm


class File(Protocol):
    """Whatever has a descriptor."""

    def fileno(self) -> int:
        """Return the descriptor."""


class Loop:
    """Calls whoever asked for it, when a descriptor is ready or a time has come.

    It reads the clock only when a timer is due: a read costs virtual time.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callers: dict[int, Callable[[int], None]] = {}
        self._changed: set[int] = set()
        self._alarm = Alarm()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._turn = itertools.count()
        self.watch(self._alarm, select.EPOLLIN, self._ring)

    def watch(self, file: File, events: int, call: Callable[[int], None]) -> None:
        """Call back with EPOLL* bits whenever some of these events are there."""
        self._callers[file.fileno()] = call
        self._changed.add(file.fileno())
        self._epoll.register(file.fileno(), events)

    def change(self, file: File, events: int) -> None:
        """Watch a file for other events from now on."""
        self._changed.add(file.fileno())
        self._epoll.modify(file.fileno(), events)

    def forget(self, file: File) -> None:
        """Watch a file no longer."""
        self._epoll.unregister(file.fileno())
        self._changed.add(file.fileno())
        del self._callers[file.fileno()]

    def at(self, time_ns: int, call: Callable[[], None]) -> None:
        """Call back when CLOCK_REALTIME reads time_ns."""
        heapq.heappush(self._timers, (time_ns, next(self._turn), call))
        if self._timers[0][0] == time_ns:
            self._alarm.set(time_ns)

    def run(self, done: Callable[[], bool]) -> None:
        """Serve until done() says so; it is asked after each round of events."""
        while not done():
            self._changed.clear()
            for fd, events in self._epoll.poll():
                # If one before it in the round changed what is watched, these events
                # are of the past. epoll tells again what still holds: epoll(7).
                if fd not in self._changed:
                    self._callers[fd](events)

    def close(self) -> None:
        """Give the descriptors back."""
        self._epoll.close()
        self._alarm.close()

    def _ring(self, _events: int) -> None:
        self._alarm.clear()
        now = time.time_ns()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        if self._timers:
            self._alarm.set(self._timers[0][0])
