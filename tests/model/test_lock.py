from testbed.model.lock import SocketLock


def test_what_a_packet_brings_to_a_free_socket_is_done_at_once() -> None:
    lock, notes = SocketLock(), list[str]()
    lock.bring(lambda: notes.append("ack"))

    assert notes == ["ack"]


def test_what_a_packet_brings_to_an_owned_socket_waits() -> None:
    lock, notes = SocketLock(), list[str]()
    lock.own()
    lock.bring(lambda: notes.append("ack"))
    before = list(notes)
    lock.release()

    assert (before, notes) == ([], ["ack"])


def test_packets_come_before_what_was_put_off() -> None:
    lock, notes = SocketLock(), list[str]()
    lock.own()

    def small_queues() -> None:
        notes.append("small queues")

    lock.put_off(small_queues)
    lock.put_off(small_queues)
    lock.bring(lambda: notes.append("ack"))
    lock.release()

    assert notes == ["ack", "small queues"]


def test_an_owner_may_look_at_what_waits() -> None:
    lock, notes = SocketLock(), list[str]()
    lock.own()
    lock.bring(lambda: notes.append("ack"))

    assert (lock.flush(), lock.flush(), notes) == (True, False, ["ack"])


def test_what_is_put_off_may_bring_more() -> None:
    lock, notes = SocketLock(), list[str]()
    lock.own()
    lock.put_off(lambda: lock.bring(lambda: notes.append("ack")))
    lock.release()

    assert (notes, lock.owned) == (["ack"], False)


def test_what_is_put_off_is_done_as_the_owner() -> None:
    lock, notes = SocketLock(), list[bool]()
    lock.own()
    lock.put_off(lambda: notes.append(lock.owned))
    lock.release()

    assert notes == [True]


def test_what_was_put_off_once_is_done_once() -> None:
    lock, notes = SocketLock(), list[str]()
    lock.own()
    lock.put_off(lambda: notes.append("write timer"))
    lock.release()
    lock.own()
    lock.release()

    assert notes == ["write timer"]
