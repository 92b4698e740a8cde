"""Big captures, made fast: what a bulk sender's sniffer sees, for benchmarks.

    python -m tools.make_captures FILE --packets 3000000 --flows 10000

Every flow has its handshake, then rounds of sixteen packets: GSO super-packets and
packets of one MSS, ACKs with timestamps, one duplicate with a SACK block; in every
eighth round a packet is sent twice. Flows take turns packet by packet. The same
arguments give the same bytes. Start with make_capture.

The packets of a round are always of the same kinds, so a round is one numpy record and
a capture is written column by column: some 50 ns a packet.
"""

import argparse
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

SNAPLEN = 80
MSS: Final = 1448
_SEGMENTS = 32  # in the two super-packets of a round
_ROUNDS_A_LOSS = 8
_HEADERS = 66  # Ethernet, IPv4, TCP with timestamps
_SACK = 12  # one block, and two NOPs before it
_FIRST_S = 1_700_000_000
_US_PER_S = 1_000_000
_CHUNK = 1 << 14  # rounds written together
_MOST_FLOWS = 1 << 22
_CLIENTS, _FIRST_PORT = 0x0A01_0000, 10_000
_SERVER, _SERVER_PORT = 0x0A00_0001, 443
_FLAG_SYN, _FLAG_ACK = 0x02, 0x10

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Slot:
    """A packet of a round: what it carries from where, or what it acknowledges.

    length, at: in MSS, the latter from the round's first byte; -1 stands for a split
    between the two super-packets that differs from round to round. sack: has a SACK
    block. doubled: two MSS in a round with a loss; the next data packet is then a
    retransmission.
    """

    at: int
    length: int = 0
    ack: bool = False
    sack: bool = False
    doubled: bool = False


_END = _SEGMENTS + 8
#: A round, in order. Every ACK comes from the other side.
_ROUND: tuple[_Slot, ...] = (
    _Slot(at=0, length=-1),
    _Slot(at=-1, length=-1),
    _Slot(at=1, ack=True),
    _Slot(at=_SEGMENTS, length=1),
    _Slot(at=_SEGMENTS + 1, length=1),
    _Slot(at=-1, ack=True),
    _Slot(at=_SEGMENTS + 2, length=1),
    _Slot(at=_SEGMENTS + 3, length=1, doubled=True),
    _Slot(at=_SEGMENTS, ack=True),
    _Slot(at=_SEGMENTS, ack=True, sack=True),
    _Slot(at=_SEGMENTS + 4, length=1),
    _Slot(at=_SEGMENTS + 5, length=1),
    _Slot(at=_SEGMENTS + 4, ack=True),
    _Slot(at=_SEGMENTS + 6, length=1),
    _Slot(at=_SEGMENTS + 7, length=1),
    _Slot(at=_END, ack=True),
)

_ETHERNET_IPV4 = [
    ("ethernet", "V12"),
    ("type", ">u2"),
    ("version", "u1"),
    ("tos", "u1"),
    ("total", ">u2"),
    ("id", ">u2"),
    ("fragment", ">u2"),
    ("ttl", "u1"),
    ("protocol", "u1"),
    ("ip_sum", ">u2"),
    ("src", ">u4"),
    ("dst", ">u4"),
]
_TCP = [
    ("sport", ">u2"),
    ("dport", ">u2"),
    ("seq", ">u4"),
    ("ack", ">u4"),
    ("words", "u1"),
    ("flags", "u1"),
    ("window", ">u2"),
    ("tcp_sum", ">u2"),
    ("urgent", ">u2"),
    ("nops", ">u2"),
    ("ts_kind", ">u2"),
    ("tsval", ">u4"),
    ("tsecr", ">u4"),
]
_SACK_OPTION = [
    ("sack_nops", ">u2"),
    ("sack_kind", ">u2"),
    ("left", ">u4"),
    ("right", ">u4"),
]
_PCAP = [("s", "<u4"), ("us", "<u4"), ("captured", "<u4"), ("wire", "<u4")]
_PCAPNG = [
    ("block", "<u4"),
    ("size", "<u4"),
    ("interface", "<u4"),
    ("high", "<u4"),
    ("low", "<u4"),
    ("captured", "<u4"),
    ("wire", "<u4"),
]


def make_capture(
    path: Path, *, packets: int, flows: int, pcapng: bool = False, seed: int = 1
) -> None:
    """Write a capture of so many packets, three a flow for its handshake.

    Ethernet, IPv4, microseconds, cut at SNAPLEN.  Raises ValueError when there are too
    few packets for the flows, or too many flows.
    """
    if not 1 <= flows <= min(packets // 3, _MOST_FLOWS):
        raise ValueError(f"{packets} packets cannot be of {flows} flows")
    with path.open("wb") as file:
        file.write(_file_header(pcapng=pcapng))
        writer = _Writer(file, flows, pcapng=pcapng, seed=seed)
        writer.handshakes()
        writer.rounds(packets - 3 * flows)


def _file_header(*, pcapng: bool) -> bytes:
    if not pcapng:
        return struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAPLEN, 1)
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    return section + struct.pack("<IIHHII", 1, 20, 1, 0, SNAPLEN, 20)


class _Writer:
    """Writes packets, each a microsecond or so after the one before it."""

    def __init__(self, file: BinaryIO, flows: int, *, pcapng: bool, seed: int) -> None:
        self._file = file
        self._flows = flows
        self._pcapng = pcapng
        # Two packets of a flow are so many rounds of the capture apart.
        self._apart = flows // len(_ROUND)
        random = np.random.default_rng(seed)
        self._isn = random.integers(0, 1 << 32, (2, flows), np.int64)
        self._turn = random.permutation(flows)
        self._written = 0

    def handshakes(self) -> None:
        """Write every flow's SYN, SYN-ACK and ACK."""
        flow = np.arange(self._flows)
        rows = _blank([66] * 3, len(flow), pcapng=self._pcapng)
        for which, (client, flags) in enumerate(
            ((True, _FLAG_SYN), (False, _FLAG_SYN | _FLAG_ACK), (True, _FLAG_ACK))
        ):
            row = rows[f"{which}"]
            acks = 1 if flags & _FLAG_ACK else 0
            own, peer = self._isn if client else self._isn[::-1]
            _between(row, flow, client=client)
            row["seq"] = (own + (which == 2)) & 0xFFFF_FFFF  # noqa: PLR2004
            row["ack"] = ((peer + 1) & 0xFFFF_FFFF) * acks
            row["flags"] = flags
            if flags & _FLAG_SYN:
                # An MSS option in place of the NOPs; the timestamps fill up as NOPs.
                row["nops"], row["ts_kind"] = 0x0204, MSS + 12
                row["tsval"] = row["tsecr"] = 0x0101_0101
            _lengths(row, np.zeros(len(flow), np.int64))
            self._stamp(row, np.arange(len(flow)) * 3 + which)
        self._write(rows, self._first)

    def rounds(self, packets: int) -> None:
        """Write so many packets of all flows in turn."""
        size = len(_ROUND)
        kept = [_HEADERS + _SACK if s.sack else _HEADERS if s.ack else SNAPLEN
                for s in _ROUND]  # fmt: skip
        rows = _blank(kept, _CHUNK, pcapng=self._pcapng)
        for start in range(0, -(-packets // size), _CHUNK):
            turn = np.arange(start, start + _CHUNK)
            for which, slot in enumerate(_ROUND):
                row = rows[f"{which}"]
                self._fill(row, slot, turn - which * self._apart)
                self._stamp(row, self._first + turn * size + which)
            self._write(rows, min(packets - start * size, _CHUNK * size))

    @property
    def _first(self) -> int:
        return 3 * self._flows

    def _fill(self, row: NDArray[np.void], slot: _Slot, turn: Column) -> None:
        flow, number = self._turn[turn % self._flows], turn // self._flows
        split = 1 + (number * 7 + flow) % (_SEGMENTS - 1)
        at: Column = np.where(slot.at < 0, split, slot.at)
        since = number + 1 if self._apart else number
        base = self._isn[0][flow] + 1 + since * (_END * MSS)
        _between(row, flow, client=not slot.ack)
        row["tsval"] = row["tsecr"] = turn & 0xFFFF_FFFF
        if slot.ack:
            row["seq"] = (self._isn[1][flow] + 1) & 0xFFFF_FFFF
            row["ack"] = (base + at * MSS) & 0xFFFF_FFFF
            _lengths(row, np.zeros(len(turn), np.int64), _SACK * slot.sack)
        else:
            first = split if slot.at == 0 else _SEGMENTS - split
            length = first * MSS if slot.length < 0 else np.full(len(turn), MSS)
            if slot.doubled:
                length = length + MSS * (number % _ROUNDS_A_LOSS == 0)
            row["seq"] = (base + at * MSS) & 0xFFFF_FFFF
            row["ack"] = (self._isn[1][flow] + 1) & 0xFFFF_FFFF
            _lengths(row, length)
        if slot.sack:
            row["left"] = (base + (at + 1) * MSS) & 0xFFFF_FFFF
            row["right"] = (base + (at + 2) * MSS) & 0xFFFF_FFFF

    def _stamp(self, row: NDArray[np.void], number: Column) -> None:
        """Give packets their times. number: of each packet in the capture."""
        us = _FIRST_S * _US_PER_S + number * 2 + (number * 2_654_435_761 >> 7 & 1)
        if self._pcapng:
            row["high"], row["low"] = us >> 32, us & 0xFFFF_FFFF
        else:
            row["s"], row["us"] = us // _US_PER_S, us % _US_PER_S

    def _write(self, rows: NDArray[np.void], packets: int) -> None:
        """Write the first so many packets of the rows."""
        slots = [rows.dtype[name].itemsize for name in rows.dtype.names or ()]
        whole, rest = divmod(packets, len(slots))
        size = whole * rows.dtype.itemsize + sum(slots[:rest])
        self._file.write(memoryview(rows.view(np.uint8).data)[:size])


def _blank(kept: Sequence[int], count: int, *, pcapng: bool) -> NDArray[np.void]:
    """Return rows of packets, with what they have in common. kept: bytes of each."""
    slots = [(f"{which}", _layout(size, pcapng)) for which, size in enumerate(kept)]
    rows: NDArray[np.void] = np.zeros(count, np.dtype(slots))
    for (name, layout), size in zip(slots, kept, strict=True):
        row = rows[name]
        row["type"], row["version"], row["ttl"], row["protocol"] = 0x0800, 0x45, 64, 6
        row["window"], row["flags"] = 512, _FLAG_ACK
        row["nops"], row["ts_kind"], row["words"] = 0x0101, 0x080A, 0x80
        row["captured"] = size
        if "sack_nops" in (layout.names or ()):
            row["sack_nops"], row["sack_kind"], row["words"] = 0x0101, 0x050A, 0xB0
        if pcapng:
            row["block"], row["size"], row["size_again"] = 6, *[layout.itemsize] * 2
    return rows


def _layout(size: int, pcapng: bool) -> "np.dtype[np.void]":  # noqa: FBT001
    fields = [*(_PCAPNG if pcapng else _PCAP), *_ETHERNET_IPV4, *_TCP]
    if size == _HEADERS + _SACK:
        fields += _SACK_OPTION
    elif size > _HEADERS:
        fields += [("payload", f"V{size - _HEADERS}")]
    if pcapng:
        fields += [("padding", f"V{-size % 4}")] if size % 4 else []
        fields += [("size_again", "<u4")]
    return np.dtype(fields)


def _between(row: NDArray[np.void], flow: Column, *, client: bool) -> None:
    """Set addresses and ports: a flow is a client's port, some at each address."""
    own, peer = (("src", "sport"), ("dst", "dport"))[:: 1 if client else -1]
    row[own[0]], row[own[1]] = _CLIENTS + (flow >> 6), _FIRST_PORT + flow % (1 << 15)
    row[peer[0]], row[peer[1]] = _SERVER, _SERVER_PORT


def _lengths(row: NDArray[np.void], payload: Column, options: int = 0) -> None:
    row["total"] = _HEADERS - 14 + options + payload
    row["wire"] = _HEADERS + options + payload


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Write a big capture, always the same."
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--packets", type=int, default=3_000_000)
    parser.add_argument("--flows", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pcapng", action="store_true")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the capture that the command line asks for."""
    given = _arguments(argv)
    make_capture(
        given.file,
        packets=given.packets,
        flows=given.flows,
        pcapng=given.pcapng,
        seed=given.seed,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
