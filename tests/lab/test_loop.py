"""The loop: who is called, and when."""

import select
import socket
import time
from contextlib import closing

from testbed.lab.loop import Loop

MS = 1_000_000


def test_timers_are_called_in_the_order_of_their_times() -> None:
    called: list[str] = []
    with closing(Loop()) as loop:
        now = time.time_ns()
        loop.at(now + 20 * MS, lambda: called.append("late"))
        loop.at(now + 10 * MS, lambda: called.append("early"))
        loop.run(lambda: len(called) == 2)

    assert called == ["early", "late"]
    assert time.time_ns() >= now + 20 * MS


def test_a_timer_may_set_another() -> None:
    called: list[str] = []
    with closing(Loop()) as loop:
        now = time.time_ns()

        def first() -> None:
            called.append("first")
            loop.at(now + 4 * MS, lambda: called.append("second"))

        loop.at(now + 2 * MS, first)
        loop.run(lambda: len(called) == 2)

    assert called == ["first", "second"]


def test_a_file_is_watched_for_what_it_was_last_asked() -> None:
    seen: list[int] = []
    one, other = socket.socketpair()
    with one, other, closing(Loop()) as loop:
        loop.watch(one, select.EPOLLIN, seen.append)
        loop.change(one, select.EPOLLOUT)
        loop.run(lambda: bool(seen))

    assert seen == [select.EPOLLOUT]


def test_who_was_forgotten_in_the_same_round_is_not_called() -> None:
    called: list[str] = []
    pairs = [socket.socketpair(), socket.socketpair()]
    with closing(Loop()) as loop:

        def call(at: int) -> None:
            called.append(f"{at}")
            loop.forget(pairs[1 - at][0])

        for at, (one, other) in enumerate(pairs):
            loop.watch(one, select.EPOLLIN, lambda _events, at=at: call(at))
            other.send(b"x")
        loop.run(lambda: bool(called))
    for one, other in pairs:
        one.close()
        other.close()

    assert len(called) == 1
