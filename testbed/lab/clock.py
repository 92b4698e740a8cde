"""Waking up when due, so that nothing depends on what else was due.

A sleeping process has 50 us of timer slack, within which the kernel wakes it together
with whatever else is due then, and that follows the machine's whole history.
"""

import ctypes
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
