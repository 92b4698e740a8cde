"""A flow among many measures as it does alone, in whichever order it is followed."""

import struct
from collections import defaultdict
from dataclasses import astuple
from pathlib import Path

import numpy as np

from testbed.trace.inspection import inspect, inspect_bytes
from testbed.trace.turns import BUCKETS, FOUND, ROW, TURN_COLUMNS, arrange
from tests.trace.craft import Talk
from tools.make_captures import make_capture

FILE_HEADER, RECORD_HEADER = 24, 16
_PORTS_OF_A_FRAME = slice(34, 38)
_ADDRESSES_OF_A_FRAME = slice(26, 34)


def by_connection(data: bytes) -> dict[bytes, bytes]:
    """Return a capture of each connection of one; by its endpoints, in any order."""
    alone: defaultdict[bytes, bytes] = defaultdict(lambda: data[:FILE_HEADER])
    at = FILE_HEADER
    while at < len(data):
        (captured,) = struct.unpack_from("<8xI", data, at)
        record = data[at : at + RECORD_HEADER + captured]
        frame = record[RECORD_HEADER:]
        ports, hosts = frame[_PORTS_OF_A_FRAME], frame[_ADDRESSES_OF_A_FRAME]
        ends = sorted((hosts[:4] + ports[:2], hosts[4:] + ports[2:]))
        alone[b"".join(ends)] += record
        at += len(record)
    return alone


def test_a_flow_among_many_measures_as_it_does_alone(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    make_capture(path, packets=45_000, flows=300)

    together = {astuple(each.flow): each for each in inspect(path).flows}

    alone = [
        report
        for one in by_connection(path.read_bytes()).values()
        for report in inspect_bytes(one, "one").flows
    ]
    assert len(alone) == len(together) == 300
    assert [together[astuple(each.flow)] for each in alone] == alone


def test_flows_are_listed_in_the_order_of_their_first_packets(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    make_capture(path, packets=9_000, flows=300)

    ports = [report.flow.sport for report in inspect(path).flows]

    assert ports == list(range(ports[0], ports[0] + 300))  # as their SYNs passed


def test_turns_go_connection_by_connection_each_in_its_order() -> None:
    found = np.array([7, 2, 6, 3, 7, 0, 2], np.int64)
    turns = np.zeros((len(found), TURN_COLUMNS), np.int64)

    arrange(found, 4, turns, np.zeros(BUCKETS + 1, np.int64))

    assert turns[:, FOUND].tolist() == [0, 2, 3, 2, 7, 6, 7]
    assert turns[:, ROW].tolist() == [5, 1, 3, 6, 0, 2, 4]


def test_turns_of_more_connections_than_buckets_are_each_given_once() -> None:
    found = np.random.default_rng(1).integers(0, 40_000, 5_000)
    turns = np.zeros((len(found), TURN_COLUMNS), np.int64)

    arrange(found, 20_000, turns, np.zeros(BUCKETS + 1, np.int64))

    rows = turns[:, ROW]
    assert sorted(rows.tolist()) == list(range(len(found)))
    assert turns[:, FOUND].tolist() == found[rows].tolist()
    for connection in set((found >> 1).tolist()):
        of_it = rows[found[rows] >> 1 == connection]
        assert of_it.tolist() == sorted(of_it.tolist())


def test_gaps_of_a_century_are_counted_to_the_nanosecond() -> None:
    talk = Talk()
    talk.handshake()
    century = (1 << 61) + 7
    times = (0, century, century + 3, 5)
    for number in range(len(times)):
        talk.client(seq=100 * number, length=100)
    frames = talk.packets[-len(times) :]
    talk.packets[-len(times) :] = [
        (time_ns, *frame[1:]) for time_ns, frame in zip(times, frames, strict=True)
    ]

    (report,) = inspect_bytes(talk.written(), "x").flows

    assert report.send_gap.n == 3
    assert report.send_gap.max == float(century)
    assert report.send_gap.p50 == 3.0


def test_the_mean_of_times_whose_sum_fits_no_word_is_right() -> None:
    talk = Talk()
    far = 1 << 62
    for number in range(6):
        talk.client(seq=100 * number, length=100, ack=0)
    for number in range(6):
        talk.server(ack=100 * (number + 1))
    talk.packets = [
        (far * (number >= 6), *frame[1:]) for number, frame in enumerate(talk.packets)
    ]

    (report,) = inspect_bytes(talk.written(), "x").flows

    assert (report.rtt.n, report.rtt.mean, report.rtt.max) == (6, far, far)
