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
