"""Waking up when due, so that nothing depends on what else was due.

A sleeping process has 50 us of timer slack, within which the kernel wakes it together
with whatever else is due then, and that follows the machine's whole history.
"""

import ctypes
import os
import time

_PR_SET_TIMERSLACK = 29
_TIMER_ABSTIME = 1
_NS = 1_000_000_000
_HALF_TICK_NS = 500_000  # at HZ=1000
_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


def be_punctual() -> None:
    """Have this process, and those it starts, woken when due and not 50 us later."""
    _libc.prctl(_PR_SET_TIMERSLACK, 1)


def sleep_until(clock: int, time_ns: int) -> None:
    """Return when a clock (time.CLOCK_REALTIME, ...) reads time_ns, not before."""
    due = _Timespec(*divmod(time_ns, _NS))
    # It returns an error number, EINTR when a signal came first.
    while _libc.clock_nanosleep(clock, _TIMER_ABSTIME, ctypes.byref(due), None):
        if time.clock_gettime_ns(clock) >= time_ns:
            return


def sleep_to_grid(grid_ns: int) -> None:
    """Return when CLOCK_REALTIME next reads a multiple of grid_ns, and half a tick.

    On the tick itself the order of its work and ours would depend on the history.
    """
    now = time.time_ns()
    sleep_until(time.CLOCK_REALTIME, now + (_HALF_TICK_NS - now) % grid_ns)


class Alarm:
    """A descriptor that an epoll finds readable from a time on: a timerfd.

    epoll's own timeout is in milliseconds, counted from a clock that has to be read.
    """

    def __init__(self) -> None:
        self._fd: int = _libc.timerfd_create(time.CLOCK_REALTIME, 0)
        if self._fd < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"timerfd_create: {os.strerror(code)}")

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._fd

    def set(self, time_ns: int) -> None:
        """Become readable when CLOCK_REALTIME reads time_ns, and not before."""
        due = (_Timespec * 2)(_Timespec(), _Timespec(*divmod(time_ns, _NS)))
        if _libc.timerfd_settime(self._fd, _TIMER_ABSTIME, ctypes.byref(due), None):
            code = ctypes.get_errno()
            raise OSError(code, f"timerfd_settime: {os.strerror(code)}")

    def clear(self) -> None:
        """Read it, so that it is no longer readable."""
        os.read(self._fd, 8)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)
