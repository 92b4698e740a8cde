"""Records of what runs hold: whatever kills a run, they say what may be left of it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import StoreError
from testbed.held import (
    Kind,
    Owner,
    Record,
    Thing,
    append,
    boot_id,
    held_dir,
    mount_points,
    process_start,
    recording,
    replay,
)

OWNER = Owner(run="a-run", pid=1, start=2, boot="b", host="h")
things = st.builds(
    Thing,
    kind=st.sampled_from(Kind),
    at=st.text(min_size=1, max_size=8),
    start=st.integers(0, 9),
)


def line(word: str, thing: Thing) -> str:
    said = {"kind": thing.kind.value, "at": thing.at, "start": thing.start}
    return f"\n{json.dumps({word: said})}\n"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "testbed"


@st.composite
def lives(draw: st.DrawFn) -> tuple[list[str], list[set[Thing]]]:
    """Draw what a run does: lines, and after each the things there may be.

    A thing is made after it is held and removed before it is released, so there may be
    one from the line that holds it to the line that releases it.
    """
    held: set[Thing] = set()
    lines: list[str] = []
    states: list[set[Thing]] = [set()]
    for thing in draw(st.lists(things, max_size=12)):
        word = "release" if thing in held else "hold"
        held = held ^ {thing}
        lines.append(line(word, thing))
        states.append(set(held))
        if held and draw(st.booleans()):
            gone = draw(st.sampled_from(sorted(held, key=str)))
            held = held - {gone}
            lines.append(line("release", gone))
            states.append(set(held))
    return lines, states


@given(life=lives(), data=st.data())
def test_a_record_cut_anywhere_says_all_that_may_be_left(life, data) -> None:
    lines, states = life
    whole = data.draw(st.integers(0, len(lines)))
    rest = lines[whole] if whole < len(lines) else ""
    cut = data.draw(st.integers(0, max(0, len(rest) - 2)))

    said = replay("".join(lines[:whole]) + rest[:cut])

    assert set(said.things) == states[whole]


@given(life=lives(), data=st.data())
def test_what_comes_after_a_cut_line_counts(life, data) -> None:
    lines, states = life
    more = data.draw(things.filter(lambda thing: thing not in states[-1]))
    cut = data.draw(st.integers(0, len(line("hold", more)) - 2))

    text = "".join(lines) + line("hold", more)[:cut] + line("hold", more)

    assert set(replay(text).things) == states[-1] | {more}


@given(text=st.text())
def test_any_text_at_all_is_replayed(text) -> None:
    replay(text)


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param("[1]", id="no-object"),
        pytest.param('{"hold": 3}', id="no-thing"),
        pytest.param('{"hold": {"kind": "moon", "at": "/"}}', id="unknown-kind"),
        pytest.param('{"hold": {"kind": "file"}}', id="no-place"),
        pytest.param('{"owner": {"run": "x"}}', id="no-owner"),
    ],
)
def test_a_line_of_something_else_says_nothing(junk) -> None:
    assert replay(junk).things == ()
    assert replay(junk).owner is None


def test_things_come_in_the_order_they_were_made() -> None:
    first, second = (Thing(kind=Kind.FILE, at=at) for at in "ba")

    text = line("hold", first) + line("hold", second)

    assert replay(text).things == (first, second)


def test_a_run_that_ends_leaves_no_record(cache) -> None:
    with recording("a-run") as held, held.scratch(cache / "scratch") as folder:
        (folder / "file").touch()
        said = replay((held_dir() / "a-run.jsonl").read_text())

    assert said.things == (Thing(kind=Kind.FOLDER, at=str(folder)),)
    assert said.owner is not None
    assert said.owner.is_alive()
    assert not folder.exists()
    assert list(held_dir().iterdir()) == []


def test_what_could_not_be_removed_stays_in_the_record(cache) -> None:
    thing = Thing(kind=Kind.FOLDER, at=str(cache))

    def fail() -> None:
        raise OSError("busy")

    with (
        pytest.raises(OSError, match="busy"),
        recording("a-run") as held,
        held.holding(thing, fail),
    ):
        pass

    assert replay((held_dir() / "a-run.jsonl").read_text()).things == (thing,)


def test_a_line_after_one_that_a_death_cut_is_whole(tmp_path) -> None:
    path = tmp_path / "a-run.jsonl"
    path.write_text('\n{"hold": {"ki')
    thing = Thing(kind=Kind.FILE, at="/a")

    Record("a-run", path).hold(thing)

    assert replay(path.read_text()).things == (thing,)


def test_two_runs_of_one_name_are_refused(cache) -> None:
    with (
        recording("a-run"),
        pytest.raises(StoreError, match="a-run.jsonl: File exists"),
    ):
        recording("a-run").__enter__()


def test_a_record_that_was_taken_away_is_an_error_and_not_begun_anew(cache) -> None:
    with recording("a-run") as held:
        (held_dir() / "a-run.jsonl").unlink()

        with pytest.raises(StoreError, match="a-run.jsonl: No such file"):
            held.hold(Thing(kind=Kind.FILE, at="/a"))


def test_nothing_is_written_down_of_a_machine_tried_by_hand(cache) -> None:
    with Record("by-hand").scratch(cache.parent / "scratch"):
        assert not cache.exists()


def test_an_owner_of_another_boot_is_dead() -> None:
    start = process_start(os.getpid())
    assert start is not None
    me = replace(OWNER, pid=os.getpid(), start=start, boot=boot_id())

    assert me.is_alive()
    assert not replace(me, boot="another").is_alive()
    assert not replace(me, start=start + 1).is_alive()


def test_a_zombie_is_over() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert process_start(process.pid) is None


def test_a_process_with_a_strange_name_has_a_start(tmp_path) -> None:
    odd = tmp_path / ") Z 1 ("
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([odd, "60"]) as process:
        start = process_start(process.pid)
        process.kill()

    assert start is not None
    assert start > 0


def test_a_child_writes_itself_down_before_it_is_the_command(cache) -> None:
    with recording("a-run") as held:
        path = held_dir() / "a-run.jsonl"
        done = subprocess.run(
            ["/bin/cat", path],
            preexec_fn=held.note_process,
            capture_output=True,
            check=True,
        )

    (thing,) = replay(done.stdout.decode()).things
    assert thing.kind is Kind.PROCESS
    assert thing.is_gone()


def test_appends_to_nothing_are_errors(tmp_path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        append(tmp_path / "none.jsonl", {})


def test_mounts_are_found_where_they_are() -> None:
    assert "/proc" in mount_points()
    assert Thing(kind=Kind.MOUNT, at="/no/such/mount").is_gone()
