"""The receiving process: reads all there is, again and again, until the end.

Source: net/ipv4/tcp.c (tcp_recvmsg_locked, __tcp_cleanup_rbuf) and tcp_input.c
(tcp_rcv_space_adjust), Linux 6.12. Start with Reader.wake.
"""

from testbed.model.acks import Acks
from testbed.model.cpu import NS_PER_US, Cpu
from testbed.model.rcv_sock import RcvSock

#: Bytes that testbed.lab.traffic takes in one recv().
_READ_SIZE = 256 * 1024


class Reader:
    """Reads from one socket; after the FIN it closes."""

    __slots__ = ("_acks", "_awake", "_closed", "_cpu", "_sock")

    def __init__(self, sock: RcvSock, *, cpu: Cpu, acks: Acks) -> None:
        self._sock = sock
        self._cpu = cpu
        self._acks = acks
        self._awake = self._closed = False

    def wake(self) -> None:
        """Have the process look, as something has come."""
        if not self._awake and not self._closed:
            self._awake = True
            self._cpu.wake(self._read)

    def _read(self) -> None:
        self._awake = False
        sock = self._sock
        while sock.queue and sock.copied_seq < sock.rcv_nxt - sock.fin:
            sock.sk_lock.own()
            self._recvmsg()
            sock.sk_lock.release()
        if sock.fin:
            self._closed = True
            self._cpu.paid_clock()
            self._acks.send(fin=True)

    def _recvmsg(self) -> None:
        sock = self._sock
        left = _READ_SIZE
        while left:
            if sock.copied_seq < sock.rcv_nxt - sock.fin:
                used = sock.queue.read(sock.copied_seq, left)
                sock.copied_seq += used
                left -= used
                self._space_adjust()
                sock.queue.drop_read(sock.copied_seq)
            elif sock.fin or not sock.sk_lock.flush():
                break
        self._cleanup_rbuf()

    def _space_adjust(self) -> None:
        """Give a receiver that reads fast more memory: tcp_rcv_space_adjust()."""
        sock = self._sock
        now_us = self._cpu.paid_clock() // NS_PER_US
        elapsed = now_us - sock.rcvq_time
        if not sock.rtt_us or elapsed < sock.rtt_us >> 3:
            return
        unread = sock.rcv_nxt - sock.copied_seq
        copied = sock.copied_seq - sock.rcvq_seq - unread
        if copied > sock.rcvq_space:
            if not sock.locked:
                self._expand_rcvbuf(copied)
            sock.rcvq_space = copied
        sock.rcvq_seq = sock.copied_seq
        sock.rcvq_time = now_us

    def _expand_rcvbuf(self, copied: int) -> None:
        sock = self._sock
        window = (copied << 1) + 16 * sock.advmss
        window += (window * (copied - sock.rcvq_space) // sock.rcvq_space) << 1
        rcvbuf = min(sock.space_of(window), sock.rcvbuf_max)
        if rcvbuf > sock.rcvbuf:
            sock.rcvbuf = rcvbuf
            sock.window_clamp = sock.window_of(rcvbuf)

    def _cleanup_rbuf(self) -> None:
        """Acknowledge what softirqs did not."""
        sock = self._sock
        pushed = sock.pushed and not (sock.fin or sock.queue or sock.ofo)
        if sock.scheduled and (sock.rcv_nxt - sock.rcv_wup > sock.rcv_mss or pushed):
            self._acks.send()
            return
        current = sock.receive_window()
        if not sock.fin and 2 * current <= sock.window_clamp:
            window = sock.select_window()
            if window and window >= 2 * current:
                self._acks.send()
