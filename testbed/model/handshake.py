"""The sender's SYN: sent again until it is answered. Start with connect.

Source: net/ipv4/tcp_timer.c, tcp_retransmit_timer(), and tcp_output.c,
tcp_ecn_clear_syn(), Linux 6.12.
"""

from testbed.model.cpu import NS_PER_MS, Cpu, Timer
from testbed.model.output import Output
from testbed.model.xmit_timer import wheel_expiry

_INITIAL_MS = 1000  # TCP_TIMEOUT_INIT
_LINEAR_TIMEOUTS = 4  # tcp_syn_linear_timeouts
_RTO_MAX_MS = 120_000


class Handshake:
    """Sends a SYN. timeouts: how often it was sent again."""

    __slots__ = ("_cpu", "_output", "_timer", "timeouts")

    def __init__(self, cpu: Cpu, output: Output) -> None:
        self._cpu = cpu
        self._output = output
        self._timer = Timer(self._expired)
        self.timeouts = 0

    def connect(self) -> None:
        """Send the SYN."""
        self._output.send_syn(again=False)
        self._wait()

    def answered(self) -> None:
        """Send it no more."""
        self._cpu.cancel(self._timer)

    def _wait(self) -> None:
        rto = _INITIAL_MS << max(0, self.timeouts - _LINEAR_TIMEOUTS)
        now = self._cpu.clock // NS_PER_MS
        due = wheel_expiry(now + min(rto, _RTO_MAX_MS), now)
        self._cpu.start(self._timer, due * NS_PER_MS)

    def _expired(self) -> None:
        self._cpu.transmit_later(self._again)

    def _again(self) -> None:
        self.timeouts += 1
        self._output.send_syn(again=True)
        self._wait()
