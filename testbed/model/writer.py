"""The sending process: send() until all is written, then shutdown. See run.

Source: net/ipv4/tcp.c, tcp_sendmsg_locked(), and net/core/stream.c, Linux 6.12.
"""

from testbed.model import sizing
from testbed.model.cpu import Cpu
from testbed.model.features import Features, Sizing
from testbed.model.output import Output
from testbed.model.packet import Skb
from testbed.model.rules import Nagle
from testbed.model.settings import Tuning
from testbed.model.sock import TcpSock
from testbed.spec.workload import Workload

#: New skbs between two looks at the backlog: process_backlog in tcp_sendmsg_locked().
_FLUSH_EVERY = 16


class Writer:
    """Writes a workload into a socket; sleeps while the send buffer is full."""

    __slots__ = (
        "_begin_ns",
        "_cpu",
        "_features",
        "_is_new",
        "_left",
        "_output",
        "_sock",
        "_tuning",
        "_unflushed",
        "_workload",
        "done",
    )

    def __init__(
        self,
        sock: TcpSock,
        *,
        workload: Workload,
        cpu: Cpu,
        output: Output,
        tuning: Tuning,
        features: Features,
    ) -> None:
        self._sock = sock
        self._workload = workload
        self._cpu = cpu
        self._output = output
        self._tuning = tuning
        self._features = features
        self._begin_ns = 0
        self._left = 0  # bytes of this send() not yet in the socket
        self._is_new = False  # none of it is there
        self._unflushed = 0  # skbs since
        self.done = False

    def begin(self) -> None:
        """Write as much as there is room for."""
        self._begin_ns = self._cpu.clock
        self._next_message()
        self.resume()

    def resume(self) -> None:
        """Go on writing after a wait for room."""
        lock = self._sock.sk_lock
        while not self.done:
            lock.own()
            whole = self._send()
            if whole:
                self._push(self._goal(), Nagle.ON)
            lock.release()
            if not whole:
                return
            self._next_message()
            if not self._left:
                self._shut_down()

    def _next_message(self) -> None:
        work, written = self._workload, self._sock.write_seq
        self._is_new = True
        now = self._cpu.paid_clock()
        if work.bytes is not None:
            self._left = min(work.send_size, work.bytes - written)
        elif work.duration is not None:
            more = now - self._begin_ns < work.duration
            self._left = work.send_size if more else 0

    def _send(self) -> bool:
        """Copy one message into skbs; False if there is no room for all of it."""
        sock, began = self._sock, self._left
        self._unflushed = 0
        goal = self._size_goal()
        while self._left:
            room = goal - sock.write_queue[-1].length if sock.write_queue else 0
            if room <= 0:
                if not sock.memory_free():
                    self._wait(goal, copied=self._left < began)
                    return False
                if self._flush():
                    goal = self._size_goal()
                    continue
                overhead = self._features.skb_overhead
                sock.write_queue.append(Skb(sock.write_seq, 0, overhead))
                sock.sk_wmem_queued += overhead
                self._unflushed += 1
                room = goal
            self._copy(min(room, self._left))
            if self._left and sock.write_queue[-1].length >= goal:
                self._push_full()
        return True

    def _flush(self) -> bool:
        """Look at what waits for the socket once in a while."""
        if self._unflushed < _FLUSH_EVERY:
            return False
        self._unflushed = 0
        return self._sock.sk_lock.flush()

    def _copy(self, size: int) -> None:
        sock = self._sock
        tail = sock.write_queue[-1]
        if self._is_new:
            self._is_new = tail.psh = False
        tail.length += size
        sock.write_seq += size
        sock.sk_wmem_queued += size
        self._left -= size

    def _size_goal(self) -> int:
        # As tcp_xmit_size_goal() does.
        sock, tuning = self._sock, self._tuning
        goal = tuning.gso_max_size
        if self._features.sizing is Sizing.SENDMSG:
            goal = sizing.sendmsg_goal(sock.sk_pacing_rate, tuning)
        goal = sizing.bound_to_half_window(goal, sock.max_window)
        sock.gso_segs = sizing.goal_segs(goal, sock.gso_segs, tuning)
        return self._goal()

    def _push_full(self) -> None:
        sock = self._sock
        if sock.write_seq > sock.pushed_seq + (sock.max_window >> 1):
            self._mark_push()
            self._output.write_xmit(Nagle.OFF)
        elif len(sock.write_queue) == 1:
            self._output.push_one()

    def _wait(self, goal: int, *, copied: bool) -> None:
        sock = self._sock
        sock.nospace = True
        if copied:
            self._push(goal, Nagle.OFF)

    def _goal(self) -> int:
        return max(self._sock.gso_segs * self._tuning.mss, self._tuning.mss)

    def _push(self, goal: int, nagle: Nagle) -> None:
        # As tcp_push() does.
        sock = self._sock
        if not sock.write_queue:
            return
        self._mark_push()
        tail = sock.write_queue[-1]
        if (
            tail.length < goal
            and self._tuning.autocorking
            and sock.rtx_queue
            and sock.sk_wmem_alloc > tail.truesize
        ):
            sock.tsq_throttled = True
            return
        self._output.write_xmit(nagle)

    def _mark_push(self) -> None:
        sock = self._sock
        sock.pushed_seq = sock.write_seq
        sock.write_queue[-1].psh = True

    def _shut_down(self) -> None:
        # tcp_send_fin(): on the last skb if that is not yet sent.
        self.done = True
        sock = self._sock
        sock.sk_lock.own()
        if not sock.write_queue:
            overhead = self._features.skb_overhead
            sock.write_queue.append(Skb(sock.write_seq, 0, overhead))
            sock.sk_wmem_queued += overhead
        sock.write_queue[-1].fin = True
        sock.write_seq += 1
        self._output.write_xmit(Nagle.OFF)
        sock.sk_lock.release()
