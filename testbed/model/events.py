"""An event queue: a heap of (time_ns, serial, event). Equal times keep their order."""

import heapq
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class EventQueue(Generic[T]):
    """What is to happen, by time and, at one time, in the order it was asked for.

    heap: for reading; heap[0] is what pop would return.
    """

    __slots__ = ("_serial", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, T]] = []
        self._serial = 0

    def push(self, time_ns: int, event: T) -> int:
        """Add an event; return its serial number, which is above 0."""
        self._serial += 1
        heapq.heappush(self.heap, (time_ns, self._serial, event))
        return self._serial

    def keep(self, wanted: Callable[[int, T], bool]) -> None:
        """Forget what wanted says no to, asked with each event's serial number."""
        self.heap[:] = [each for each in self.heap if wanted(each[1], each[2])]
        heapq.heapify(self.heap)

    def pop(self) -> tuple[int, int, T]:
        """Remove and return the earliest (time_ns, serial, event)."""
        return heapq.heappop(self.heap)
