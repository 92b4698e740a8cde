from testbed.model.settings import MAX_TCP_HEADER
from testbed.model.sock import sndbuf_wanted


def test_the_send_buffer_has_room_for_two_windows() -> None:
    # tcp_sndbuf_expand(): 1460 + 192 + 320 bytes make a head of 2048, and 256 more.
    assert sndbuf_wanted(10, 1460, MAX_TCP_HEADER) == 2 * 10 * 2304
    assert sndbuf_wanted(40, 1460, MAX_TCP_HEADER) == 2 * 40 * 2304
