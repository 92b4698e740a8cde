"""How far the traffic is, in a line of the console now and then.

It is said by who wakes up anyway, to sample TCP_INFO, and takes no reading of the clock
of its own: nobody else is woken for it, and in virtual time it costs none. What reads
the lines on the host is sofar().
"""

import os
from dataclasses import dataclass
from pathlib import Path

_DEVICES = Path("/proc/self/net/dev")
#: Columns of /proc/net/dev, after the name: what was transmitted.
_BYTES, _PACKETS = 8, 9
#: Samples from one line to the next: 0.1 s of virtual time, where most sample each ms.
EVERY = 100
_WORD = "sofar"
_MOST = 1 << 16  # bytes: more devices than a host of ours has


@dataclass(frozen=True, slots=True, kw_only=True)
class SoFar:
    """What a host has sent since its traffic began.

    since: ns.  bytes: headers included, once a GSO packet.  packets: as handed to the
    device.
    """

    since: int
    bytes: int
    packets: int

    def line(self) -> str:
        """Return it as the console has it."""
        return f"lab: {_WORD} {self.since} {self.bytes} {self.packets}"


def sofar(phase: str) -> SoFar | None:
    """Return what a line of the lab's says of the traffic; None if it is another."""
    word, *numbers = phase.split()
    if word != _WORD:
        return None
    since, sent, packets = map(int, numbers)
    return SoFar(since=since, bytes=sent, packets=packets)


def parse_sent(text: str) -> tuple[int, int]:
    """Return bytes and packets that /proc/net/dev says were sent, but for lo's."""
    rows = (line.partition(":") for line in text.splitlines() if ":" in line)
    sent = [each.split() for name, _, each in rows if name.strip() != "lo"]
    return (
        sum(int(each[_BYTES]) for each in sent),
        sum(int(each[_PACKETS]) for each in sent),
    )


class Teller:
    """Counts samples, and says how far the traffic is at every hundredth."""

    def __init__(self, now: int) -> None:
        self._began = now
        self._before = _sent()
        self._samples = 0

    def sampled(self, now: int) -> None:
        """Be told of a sample. now: when it was taken, ns."""
        self._samples += 1
        if self._samples % EVERY:
            return
        sent, packets = _sent()
        told = SoFar(
            since=now - self._began,
            bytes=sent - self._before[0],
            packets=packets - self._before[1],
        )
        print(told.line(), flush=True)  # noqa: T201  # the console is how it is told


def _sent() -> tuple[int, int]:
    # Not Path.read_text(): open() asks whether the file is a terminal, which fails, and
    # a failed system call costs a microsecond of virtual time. Packets would move.
    descriptor = os.open(_DEVICES, os.O_RDONLY)
    try:
        return parse_sent(os.read(descriptor, _MOST).decode())
    finally:
        os.close(descriptor)
