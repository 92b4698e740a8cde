"""The socket's one timer of the sender: RTO, loss probe or RACK's wait.

Source: include/net/inet_connection_sock.h, inet_csk_reset_xmit_timer(), and the timer
wheel it is kept in: kernel/time/timer.c, calc_index(), Linux 6.12.
"""

import enum
from collections.abc import Callable

from testbed.model.cpu import NS_PER_MS, Cpu, Timer

_LEVELS = 9  # LVL_DEPTH for HZ above 100
_LEVEL_0 = 63  # jiffies that level 0 reaches: LVL_START(1)
_LEVEL_BITS = 3  # LVL_CLK_SHIFT


class Pending(enum.Enum):
    """What the timer is set for: icsk_pending."""

    RETRANS = "retransmission timeout"
    LOSS_PROBE = "tail loss probe"
    REO_TIMEOUT = "RACK's reordering window"


def wheel_expiry(expires: int, now: int) -> int:
    """Return the jiffy in which a timer set for another runs: never early."""
    shift = 0
    reach = _LEVEL_0
    while expires - now >= reach and shift < _LEVEL_BITS * (_LEVELS - 1):
        shift += _LEVEL_BITS
        reach <<= _LEVEL_BITS
    return ((expires >> shift) + 1) << shift


class XmitTimer:
    """Calls whoever wants to be told when its time has come. Times in jiffies."""

    __slots__ = ("_cpu", "_expired", "_timer", "pending")

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu
        self._expired: Callable[[Pending], None] = _ignore
        self._timer = Timer(self._run)
        self.pending: Pending | None = None

    def tell(self, expired: Callable[[Pending], None]) -> None:
        """Have this called with what the timer was set for."""
        self._expired = expired

    def reset(self, pending: Pending, after: int) -> None:
        """Set the timer, whatever it was set for."""
        now = self._cpu.clock // NS_PER_MS
        self.pending = pending
        due = wheel_expiry(now + after, now)
        self._cpu.postpone(self._timer, due * NS_PER_MS)

    def due(self) -> Pending | None:
        """Return what its time has come for, unless it was set again since."""
        return None if self._timer.serial else self.pending

    def clear(self) -> None:
        """Have nothing happen."""
        self.pending = None

    def _run(self) -> None:
        self._cpu.transmit_later(self._expire)

    def _expire(self) -> None:
        if self.pending is not None:
            self._expired(self.pending)


def _ignore(pending: Pending) -> None:
    """Be told, and do nothing."""
