"""Other processes' sockets: asked of this kernel, and answers made by hand."""

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import InfrastructureError
from testbed.lab.sock_diag import (
    CONNECTED,
    ESTABLISHED,
    LISTEN,
    DiagSocket,
    parse_datagram,
    read_sockets,
    request,
)
from testbed.lab.tcp_info import parse_tcp_info

DONE = struct.pack("=IHHII", 20, 3, 2, 1, 0) + bytes(4)


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(*attributes: bytes, state: int = ESTABLISHED) -> bytes:
    body = struct.pack("=BB2x", 2, state) + struct.pack("!HH", 5001, 80) + bytes(64)
    body += b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


WHOLE = message(
    attribute(4, b"cubic\0"),
    attribute(7, struct.pack("=9I", 0, 131_072, 0, 87_040, 0, 0, 0, 0, 0)),
    attribute(2, bytes(range(8))),
)


def own(sockets: list[DiagSocket], port: int) -> list[DiagSocket]:
    return [each for each in sockets if each.sport == port]


def test_a_connection_of_this_machine_is_found_with_its_settings() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 50_000)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
            client.setsockopt(socket.SOL_SOCKET, 47, (9000).to_bytes(8, "little"))
            (seen,) = own(read_sockets(4, CONNECTED), client.getsockname()[1])
            (listening,) = own(read_sockets(4, (LISTEN,)), listener.getsockname()[1])

    assert (seen.state, seen.dport) == (ESTABLISHED, listening.sport)
    assert (seen.congestion, seen.sndbuf) == ("reno", 100_000)
    assert int.from_bytes(seen.tcp_info[112:120], "little") == 9000
    assert parse_tcp_info(seen.tcp_info)["snd_cwnd"] >= 1
    assert listening.state == LISTEN


def test_an_ipv4_listener_is_none_of_ipv6() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        assert own(read_sockets(6, (LISTEN,)), listener.getsockname()[1]) == []


def test_the_request_names_family_protocol_and_states() -> None:
    asked = request(6, (ESTABLISHED, LISTEN))

    assert len(asked) == struct.unpack_from("=I", asked)[0] == 72
    assert struct.unpack_from("=BBBxI", asked, 16) == (10, 6, 0x4A, 1 << 1 | 1 << 10)


def test_an_answer_is_taken_apart() -> None:
    (seen,), done = parse_datagram(WHOLE)

    assert not done
    assert (seen.sport, seen.dport, seen.congestion) == (5001, 80, "cubic")
    assert (seen.rcvbuf, seen.sndbuf) == (131_072, 87_040)
    assert seen.tcp_info == bytes(range(8))
    assert parse_datagram(WHOLE + DONE)[1]


def test_what_the_kernel_leaves_out_is_empty() -> None:
    ((seen,), _done) = parse_datagram(message(state=LISTEN))

    assert (seen.congestion, seen.sndbuf, seen.tcp_info) == ("", 0, b"")


def test_an_error_of_the_kernels_is_told() -> None:
    refused = struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -1)

    with pytest.raises(InfrastructureError, match="Operation not permitted"):
        parse_datagram(refused)


@given(st.integers(1, len(WHOLE) - 1))
def test_an_answer_that_is_cut_off_is_an_error(length: int) -> None:
    with pytest.raises(InfrastructureError, match="not the kernel's"):
        parse_datagram(WHOLE[:length])


@given(st.binary(max_size=200))
def test_any_bytes_are_an_error_or_an_answer(data: bytes) -> None:
    try:
        sockets, _done = parse_datagram(data)
    except InfrastructureError:
        return
    assert len(sockets) * 72 <= len(data)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))))
def test_a_damaged_answer_is_an_error_or_an_answer(changes) -> None:
    damaged = bytearray(WHOLE + DONE)
    for at, value in changes:
        damaged[at] = value
    try:
        sockets, _done = parse_datagram(bytes(damaged))
    except InfrastructureError:
        return
    assert len(sockets) <= 1
