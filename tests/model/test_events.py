from testbed.model.events import EventQueue


def test_events_come_in_the_order_of_their_times() -> None:
    queue = EventQueue[str]()
    queue.push(20, "later")
    queue.push(10, "sooner")

    assert [queue.pop()[2], queue.pop()[2]] == ["sooner", "later"]


def test_events_of_one_time_come_in_the_order_they_were_asked_for() -> None:
    queue = EventQueue[str]()
    queue.push(10, "b")
    queue.push(10, "a")

    assert [queue.pop()[2], queue.pop()[2]] == ["b", "a"]


def test_a_serial_number_is_never_zero() -> None:
    assert EventQueue[str]().push(0, "first") > 0


def test_what_is_not_wanted_is_forgotten() -> None:
    queue = EventQueue[str]()
    serials = {
        name: queue.push(time, name) for time, name in ((3, "c"), (1, "a"), (2, "b"))
    }
    queue.keep(lambda serial, _event: serial != serials["a"])

    assert [queue.pop()[2] for _ in range(2)] == ["b", "c"]
    assert not queue.heap
