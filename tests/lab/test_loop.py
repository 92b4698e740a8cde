"""The loop: who is called, and when."""

import select
import socket
import time
from contextlib import ExitStack, closing
from functools import partial

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


def test_what_came_before_a_change_in_the_same_round_is_not_told() -> None:
    told: list[tuple[int, int]] = []
    pairs = [socket.socketpair(), socket.socketpair()]
    with closing(Loop()) as loop:

        def call(at: int, events: int) -> None:
            told.append((at, events))
            loop.change(pairs[1 - at][0], select.EPOLLIN)  # which is not there

        for at, (one, _other) in enumerate(pairs):
            loop.watch(one, select.EPOLLOUT, partial(call, at))
        loop.at(time.time_ns() + 20 * MS, lambda: told.append((-1, 0)))
        loop.run(lambda: (-1, 0) in told)
    for one, other in pairs:
        one.close()
        other.close()

    changer = told[0][0]
    assert set(told) == {(changer, select.EPOLLOUT), (-1, 0)}


def test_what_came_before_a_timer_in_the_same_round_is_not_told() -> None:
    told: list[int] = []
    one, other = socket.socketpair()
    with one, other, closing(Loop()) as loop:
        now = time.time_ns()
        # The alarm rings first and the socket is ready by then: one round has both.
        loop.at(now + MS, lambda: loop.change(one, select.EPOLLIN))
        time.sleep(0.01)
        loop.watch(one, select.EPOLLOUT, told.append)
        loop.at(now + 20 * MS, lambda: told.append(-1))
        loop.run(lambda: -1 in told)

    assert told == [-1]


def test_a_file_of_the_same_number_is_not_told_of_the_one_before() -> None:
    told: list[str] = []
    pairs = [socket.socketpair(), socket.socketpair()]
    with closing(Loop()) as loop, ExitStack() as stack:

        def call(at: int, _events: int) -> None:
            told.append("ready")
            old = pairs[1 - at][0]
            number = old.fileno()
            loop.forget(old)
            old.close()
            new, far = socket.socketpair()
            stack.enter_context(new)
            stack.enter_context(far)
            assert number in (new.fileno(), far.fileno())
            again = new if new.fileno() == number else far
            loop.watch(again, select.EPOLLIN, lambda _events: told.append("stale"))
            loop.forget(pairs[at][0])

        for at, (one, other) in enumerate(pairs):
            loop.watch(one, select.EPOLLIN, partial(call, at))
            other.send(b"x")
        loop.at(time.time_ns() + 20 * MS, lambda: told.append("later"))
        loop.run(lambda: "later" in told)
    for one, other in pairs:
        one.close()
        other.close()

    assert told == ["ready", "later"]
