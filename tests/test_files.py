import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from testbed.files import locked, read_json, scratch, write_whole


def test_a_file_is_written_whole_with_its_mode(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b", b"x", mode=0o755)

    assert (tmp_path / "a" / "b").read_bytes() == b"x"
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_damaged_note_reads_as_empty(text: str, tmp_path: Path) -> None:
    (tmp_path / "note").write_text(text, encoding="latin-1")

    assert read_json(tmp_path / "note") == {}


def test_a_scratch_folder_starts_empty_and_goes(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "left-behind").touch()

    with scratch(tmp_path / "work") as work:
        assert list(work.iterdir()) == []
        (work / "new").touch()

    assert not work.exists()


def test_a_free_lock_is_taken_without_a_word(tmp_path: Path) -> None:
    told: list[str] = []

    with locked(tmp_path / "lock", told.append):
        pass
    with locked(tmp_path / "lock", told.append):
        pass

    assert told == []


def test_a_second_holder_says_whom_it_waits_for(tmp_path: Path) -> None:
    told: list[str] = []
    waiting = threading.Event()
    inside = threading.Event()

    def wait() -> None:
        with locked(tmp_path / "lock", lambda who: (told.append(who), waiting.set())):  # type: ignore[func-returns-value]
            inside.set()

    with locked(tmp_path / "lock", told.append):
        second = threading.Thread(target=wait)
        second.start()
        assert waiting.wait(10)
        assert not inside.is_set()
    second.join(10)

    assert inside.is_set()
    assert told == [f"another testbed, process {os.getpid()}"]


HOLD_FOR_EVER = """
import sys, threading
from pathlib import Path
from testbed.files import locked
with locked(Path(sys.argv[1]), lambda _who: None):
    print("held", flush=True)
    threading.Event().wait()
"""


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", HOLD_FOR_EVER, str(tmp_path / "lock"))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    told: list[str] = []

    with locked(tmp_path / "lock", told.append):
        pass

    assert told == []
