"""TCP's memory: widened for a while, and put back."""

from pathlib import Path

from testbed.lab.memory import room_for_buffers, room_for_flows


def test_tcp_has_half_of_the_memory_and_then_what_it_had(tmp_path: Path) -> None:
    file = tmp_path / "tcp_mem"
    file.write_text("24000 32000 48000\n")

    with room_for_flows(file):
        inside = file.read_text().split()

    assert len(set(inside)) == 1
    assert int(inside[0]) > 48_000
    assert file.read_text() == "24000 32000 48000\n"


def test_buffers_may_be_as_large_as_asked_for_a_while(tmp_path: Path) -> None:
    for name in ("wmem_max", "rmem_max"):
        (tmp_path / name).write_text("212992\n")

    with room_for_buffers(1_000_000, 4096, tmp_path):
        inside = [(tmp_path / name).read_text() for name in ("wmem_max", "rmem_max")]

    assert inside == ["1000000", "212992\n"]
    assert (tmp_path / "wmem_max").read_text() == "212992\n"
