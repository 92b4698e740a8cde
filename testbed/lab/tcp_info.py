"""TCP_INFO as a time series: the sender's own view, sampled while it sends."""

import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

from testbed.lab.clock import sleep_until
from testbed.lab.sofar import Teller

#: struct tcp_info, include/uapi/linux/tcp.h: append-only, so offsets never change.
#: Ours: name, offset, format. Times in us, rates in bytes/s, as the kernel gives them.
FIELDS: tuple[tuple[str, int, str], ...] = (
    ("ca_state", 1, "B"),
    ("rto", 8, "I"),
    ("snd_mss", 16, "I"),
    ("unacked", 24, "I"),
    ("lost", 32, "I"),
    ("retrans", 36, "I"),
    ("rtt", 68, "I"),
    ("rttvar", 72, "I"),
    ("snd_ssthresh", 76, "I"),
    ("snd_cwnd", 80, "I"),
    ("total_retrans", 100, "I"),
    ("pacing_rate", 104, "Q"),
    ("bytes_acked", 120, "Q"),
    ("segs_out", 136, "I"),
    ("notsent_bytes", 144, "I"),
    ("min_rtt", 148, "I"),
    ("delivery_rate", 160, "Q"),
    ("busy_time", 168, "Q"),
    ("rwnd_limited", 176, "Q"),
    ("sndbuf_limited", 184, "Q"),
    ("delivered", 192, "I"),
    ("delivered_ce", 196, "I"),
)
_SIZE = 256
_UNCONNECTED = (2, 7)  # TCP_SYN_SENT and TCP_CLOSE, include/net/tcp_states.h
#: snd_ssthresh before the first loss (TCP_INFINITE_SSTHRESH), and what is unlimited.
NO_SSTHRESH = 0x7FFFFFFF


#: Flows that are sampled of many: enough to see whether they are alike.
_SAMPLED = 8
#: Reads TCP_INFO of some flows: each flow's number, and its FIELDS.
Read = Callable[[], Iterable[tuple[int, dict[str, int]]]]


def parse_tcp_info(packed: bytes) -> dict[str, int]:
    """Return the FIELDS of a struct tcp_info, those that its kernel knows."""
    return {
        name: struct.unpack_from(f"={kind}", packed, at)[0]
        for name, at, kind in FIELDS
        if at + struct.calcsize(kind) <= len(packed)
    }


def reading(socks: Mapping[int, socket.socket]) -> Read:
    """Return what reads this process's sockets, by their flows' numbers.

    One that is not connected yet is left out: most of it has no value then.
    """

    def read() -> Iterator[tuple[int, dict[str, int]]]:
        for flow, sock in socks.items():
            packed = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
            if packed[0] not in _UNCONNECTED:
                yield flow, parse_tcp_info(packed)

    return read


def some_of(flows: int) -> range:
    """Return the numbers of the flows to sample, the first among them."""
    return range(0, flows, -(-flows // _SAMPLED))


@contextmanager
def sampling(read: Read, every_ns: int) -> Iterator[Callable[[], list[dict[str, int]]]]:
    """Sample flows in a process of its own, so that the sender may block.

    Yields a function that stops the sampling and returns the samples, each with its
    CLOCK_REALTIME in "time_ns" and its number in "flow".
    """
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_sample, args=(read, every_ns, theirs))
    process.start()

    def collect() -> list[dict[str, int]]:
        ours.send("stop")
        samples: list[dict[str, int]] = ours.recv()
        return samples

    try:
        yield collect
    finally:
        process.kill()
        process.join()


def _sample(read: Read, every_ns: int, pipe: Connection) -> None:
    samples = []
    due = time.monotonic_ns()
    teller: Teller | None = None
    while True:
        now = time.time_ns()
        teller = teller or Teller(now)
        samples += [{"time_ns": now, "flow": flow, **info} for flow, info in read()]
        teller.sampled(now)
        due += every_ns
        sleep_until(time.CLOCK_MONOTONIC, due)
        if pipe.poll():
            pipe.send(samples)
            return
