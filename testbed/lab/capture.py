"""Capture on one interface, with scapy's packet socket, into pcapng.

Header bytes only, but true wire lengths, also of packets beyond 64 KB: the socket's
filter cuts what is copied, and tpacket_auxdata says how long the packet was.
"""

import ctypes
import select
import socket
import struct
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from scapy.arch.linux import L2ListenSocket
from scapy.error import log_runtime

from testbed.errors import CaptureLoss
from testbed.lab.files import written_through
from testbed.trace.pcapng import PcapngWriter

#: Ethernet 14, VLAN 4, IPv6 40, hop-by-hop 8, TCP 60: 126.
SNAPLEN = 128
_BUFFER = 64 << 20
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_PACKET_AUXDATA = 8
_SO_ATTACH_FILTER = 26
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_BPF_RETURN = 0x06
_AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata, linux/if_packet.h
_TIMESPEC = struct.Struct("=qq")
_CONTROL = socket.CMSG_SPACE(_AUXDATA.size) + socket.CMSG_SPACE(_TIMESPEC.size)


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
            _tune(listener.ins)
            with written_through(file) as stream:
                writer = PcapngWriter(
                    stream, interface=device, comment=where, snaplen=SNAPLEN
                )
                pipe.send("ready")
                _copy_until_told(listener.ins, pipe, writer)
                received, dropped = _statistics(listener.ins)
                writer.close(time.time_ns(), received, dropped)
            pipe.send((received, dropped))
        finally:
            listener.close()

    return work


def check_drops(where: str, received: int, dropped: int) -> None:
    """Raise CaptureLoss if a capture lost a packet."""
    if dropped:
        raise CaptureLoss(f"the capture at the {where} lost {dropped} of {received}")


def _tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
    # One instruction: return SNAPLEN, which cuts the copy, not the length told.
    code = ctypes.create_string_buffer(struct.pack("=HBBI", _BPF_RETURN, 0, 0, SNAPLEN))
    program = struct.pack("@HP", 1, ctypes.addressof(code))
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


def _copy_until_told(
    sock: socket.socket, pipe: Connection, writer: PcapngWriter
) -> None:
    poller = select.epoll()
    poller.register(sock, select.EPOLLIN)
    poller.register(pipe, select.EPOLLIN)
    told = False
    while not told:
        told = any(fd == pipe.fileno() for fd, _events in poller.poll())
        while _copy_one(sock, writer):
            pass


def _copy_one(sock: socket.socket, writer: PcapngWriter) -> bool:
    try:
        data, control, _flags, address = sock.recvmsg(
            SNAPLEN, _CONTROL, socket.MSG_DONTWAIT
        )
    except BlockingIOError:
        return False
    time_ns, length = _read_control(control)
    writer.packet(time_ns, data, length, address[2] == socket.PACKET_OUTGOING)
    return True


def _read_control(control: list[Any]) -> tuple[int, int]:
    time_ns = length = 0
    for level, kind, data in control:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            length = _AUXDATA.unpack(data[: _AUXDATA.size])[1]
        elif (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, ns = _TIMESPEC.unpack(data)
            time_ns = seconds * 1_000_000_000 + ns
    return time_ns, length


def _statistics(sock: socket.socket) -> tuple[int, int]:
    packed = sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
    received, dropped = struct.unpack("=II", packed)
    return received, dropped
