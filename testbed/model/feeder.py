"""A sending process that has data when a trace shows that it had. Start with Feeder."""

from collections.abc import Sequence

from testbed.model.cpu import Cpu, Timer
from testbed.model.output import Output
from testbed.model.sender import Setup
from testbed.model.sock import TcpSock
from testbed.model.writer import Writer


class Message:
    """Bytes that a process writes when it has them: up to end, from time_ns on."""

    __slots__ = ("end", "time_ns")

    def __init__(self, time_ns: int, end: int) -> None:
        self.time_ns = time_ns
        self.end = end


class Feeder(Writer):
    """Writes messages, each when its time has come. closes: whether it shuts down."""

    __slots__ = ("_closes", "_messages", "_place", "_send_size", "_timer")

    def __init__(
        self,
        sock: TcpSock,
        setup: Setup,
        messages: Sequence[Message],
        *,
        cpu: Cpu,
        output: Output,
        closes: bool,
    ) -> None:
        super().__init__(
            sock,
            workload=setup.workload,
            cpu=cpu,
            output=output,
            tuning=setup.tuning,
            features=setup.features,
        )
        self._messages = messages
        self._closes = closes
        self._place = 0
        self._send_size = setup.workload.send_size
        self._timer = Timer(self._come)

    def take_back(self, size: int) -> None:
        """Have less to write: so much of it has been sent already."""
        self._left = max(self._left - size, 0)

    def _come(self) -> None:
        self._cpu.wake(self._go_on)

    def _go_on(self) -> None:
        self.done = False
        self.begin()

    def _next_message(self) -> None:
        messages, written = self._messages, self._sock.write_seq
        while self._place < len(messages) and messages[self._place].end <= written:
            self._place += 1
        self._left = 0
        if self._place == len(messages):
            return
        message = messages[self._place]
        if message.time_ns <= self._cpu.clock:
            self._left = min(self._send_size, message.end - written)
        else:
            self._cpu.start(self._timer, message.time_ns)

    def _shut_down(self) -> None:
        """Wait for the next message, or shut down after the last."""
        if self._closes and self._place == len(self._messages):
            super()._shut_down()
        self.done = True
