"""Capture on one interface, with scapy's packet socket, into pcapng.

Header bytes only, but true wire lengths, also of packets beyond 64 KB: the socket's
filter cuts what is copied, and the ring says how long the packet was.
"""

import ctypes
import select
import socket
import struct
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path

from scapy.arch.linux import L2ListenSocket
from scapy.error import log_runtime

from testbed.errors import CaptureLoss
from testbed.lab.files import written_through
from testbed.lab.ring import Ring, Seen, ring_of
from testbed.trace.pcapng import PcapngWriter

#: Ethernet 14, VLAN 4, IPv6 40, hop-by-hop 8, TCP 60: 126.
SNAPLEN = 128
_SO_ATTACH_FILTER = 26
_BPF_RETURN = 0x06


def record(device: str, where: str, file: Path) -> Callable[[Connection], None]:
    """Return the work of a capturing child.

    It says "ready", records until it is told anything, says (received, dropped).
    where: the vantage point, kept in the file.
    """

    def work(pipe: Connection) -> None:
        # It warns that no layers are loaded to dissect with; none are wanted.
        log_runtime.setLevel("ERROR")
        listener = L2ListenSocket(iface=device, nofilter=1)
        try:
            _cut(listener.ins)
            with ring_of(listener.ins) as ring, written_through(file) as stream:
                writer = PcapngWriter(
                    stream, interface=device, comment=where, snaplen=SNAPLEN
                )
                pipe.send("ready")
                _copy_until_told(listener.ins, ring, pipe, writer)
                received, dropped = ring.statistics()
                writer.close(time.time_ns(), received, dropped)
            pipe.send((received, dropped))
        finally:
            listener.close()

    return work


def check_drops(where: str, received: int, dropped: int) -> None:
    """Raise CaptureLoss if a capture lost a packet."""
    if dropped:
        raise CaptureLoss(f"the capture at the {where} lost {dropped} of {received}")


def _cut(sock: socket.socket) -> None:
    # One instruction: return SNAPLEN, which cuts the copy, not the length told.
    code = ctypes.create_string_buffer(struct.pack("=HBBI", _BPF_RETURN, 0, 0, SNAPLEN))
    program = struct.pack("@HP", 1, ctypes.addressof(code))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def _copy_until_told(
    sock: socket.socket, ring: Ring, pipe: Connection, writer: PcapngWriter
) -> None:
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN)  # a block is full
    poller.register(pipe, select.EPOLLIN)
    while all(fd != pipe.fileno() for fd, _events in poller.poll()):
        _copy(ring.take_full(), writer)
    _copy(ring.take_rest(), writer)


def _copy(packets: Iterable[Seen], writer: PcapngWriter) -> None:
    for each in packets:
        writer.packet(each.time_ns, each.data, each.wire_length, each.outgoing)
