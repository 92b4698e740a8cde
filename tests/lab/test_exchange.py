"""Two ends that take turns, over a pair of sockets that no network knows."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from testbed.errors import InfrastructureError
from testbed.lab.exchange import READ_SIZE, Exchange
from testbed.lab.loop import Loop


@contextmanager
def ends(request: int, response: int) -> Iterator[tuple[Loop, Exchange, Exchange]]:
    """Yield a loop, the end that asks, and the end that answers."""
    one, other = socket.socketpair()
    buffer = bytearray(READ_SIZE)
    with one, other, closing(Loop()) as loop:
        for sock in (one, other):
            sock.settimeout(0)
        yield (
            loop,
            Exchange(loop, one, buffer, says=request, hears=response),
            Exchange(loop, other, buffer, says=response, hears=request),
        )


@pytest.mark.parametrize(
    ("request_size", "response_size"),
    [
        pytest.param(1, 1, id="a-byte-each"),
        pytest.param(80_000, 80_000, id="as-in-the-mail"),
        pytest.param(1_500_000, 3, id="more-than-a-buffer-holds"),
        pytest.param(3, 1_500_000, id="a-large-answer"),
    ],
)
def test_the_ends_take_turns(request_size: int, response_size: int) -> None:
    said: list[str] = []
    with ends(request_size, response_size) as (loop, asking, answering):

        def heard() -> None:
            said.append("answer")
            if len(said) < 6:
                asking.say()

        def asked() -> None:
            said.append("request")
            answering.say()

        asking.listen(heard=heard, closed=lambda _sock: None)
        answering.listen(heard=asked, closed=lambda _sock: None)
        asking.say()
        loop.run(lambda: len(said) == 6)

    assert said == ["request", "answer"] * 3


def test_a_close_between_messages_is_told() -> None:
    closed: list[socket.socket] = []
    one, other = socket.socketpair()
    with other, closing(Loop()) as loop:
        end = Exchange(loop, other, bytearray(READ_SIZE), says=1, hears=9)
        end.listen(heard=lambda: None, closed=closed.append)
        one.close()
        loop.run(lambda: bool(closed))

    assert closed == [other]


def test_a_close_within_a_message_is_an_error() -> None:
    one, other = socket.socketpair()
    with other, closing(Loop()) as loop:
        end = Exchange(loop, other, bytearray(READ_SIZE), says=1, hears=9)
        end.listen(heard=lambda: None, closed=lambda _sock: None)
        one.send(b"abc")
        one.close()

        with pytest.raises(InfrastructureError, match="closed within a message"):
            loop.run(lambda: False)
