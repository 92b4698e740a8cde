"""No file makes the reader raise anything but CaptureError, or hang."""

import contextlib
import struct
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.errors import CaptureError
from testbed.trace.capture import parse_capture
from testbed.trace.metrics import METRICS, measure
from tests.trace.craft import FIN, TIMESTAMPS, Talk, ethernet, ipv6_header, tcp_header

TALK = Talk(client_isn=2**32 - 1000).handshake()
TALK.client(length=3000, ack=0, options=TIMESTAMPS).server(ack=3000)
TALK.client(seq=2999, length=1, ack=0).server(length=70, ack=3000, flags=FIN)
TALK.packets.append(
    (9, ethernet(0x86DD) + ipv6_header(0, next_header=0) + bytes(8) + tcp_header(), 900)
)
PCAPNG = TALK.written()
PCAP = struct.pack(">IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1) + b"".join(
    struct.pack(">IIII", 1, time_ns, len(frame), wire) + frame
    for time_ns, frame, wire in TALK.packets
)

#: A deadline, since no input may make the reader hang; a wide one, for busy machines.
thorough = settings(
    max_examples=80,
    deadline=timedelta(seconds=10),
    suppress_health_check=[HealthCheck.too_slow],
)
FILES = pytest.mark.parametrize(
    "file", [pytest.param(PCAPNG, id="pcapng"), pytest.param(PCAP, id="pcap")]
)


def read_and_measured(data: bytes) -> None:
    with contextlib.suppress(CaptureError):
        measure(METRICS, parse_capture(data, "x").traces)


@FILES
@thorough
@given(data=st.data())
def test_mutated_files_are_read_or_refused(file: bytes, data: st.DataObject) -> None:
    places = st.integers(0, len(file) - 1)
    mutated = bytearray(file)
    changes = data.draw(st.dictionaries(places, st.integers(0, 255), max_size=8))
    list(map(mutated.__setitem__, changes.keys(), changes.values()))

    read_and_measured(bytes(mutated))


@FILES
@thorough
@given(data=st.data())
def test_cut_and_doubled_files_are_read_or_refused(
    file: bytes, data: st.DataObject
) -> None:
    start, end, again = data.draw(st.tuples(*[st.integers(0, len(file))] * 3))

    read_and_measured(file[:end] + file[start:again])


@pytest.mark.parametrize("cut", range(0, len(PCAPNG), 29))
def test_a_file_cut_anywhere_is_read_or_refused(cut: int) -> None:
    read_and_measured(PCAPNG[:cut])


@thorough
@given(st.binary(max_size=300))
def test_junk_behind_a_good_start_is_read_or_refused(junk: bytes) -> None:
    read_and_measured(PCAPNG[:100] + junk)


@thorough
@given(st.lists(st.binary(max_size=90), max_size=5))
def test_frames_of_junk_are_counted(frames: list[bytes]) -> None:
    talk = Talk(packets=[(0, frame, len(frame)) for frame in frames])

    capture = talk.capture()

    assert capture.packets == len(frames)
    assert capture.warnings == ()
