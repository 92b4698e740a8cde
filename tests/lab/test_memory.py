"""TCP's memory: widened for a while, and put back."""

from pathlib import Path

from testbed.lab.memory import room_for_flows


def test_tcp_has_half_of_the_memory_and_then_what_it_had(tmp_path: Path) -> None:
    file = tmp_path / "tcp_mem"
    file.write_text("24000 32000 48000\n")

    with room_for_flows(file):
        inside = file.read_text().split()

    assert len(set(inside)) == 1
    assert int(inside[0]) > 48_000
    assert file.read_text() == "24000 32000 48000\n"
