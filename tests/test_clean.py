"""Cleaning: what a dead run's record names goes, all else stays."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from builders import a_run

from testbed.clean import clean
from testbed.errors import SpecError
from testbed.held import (
    Kind,
    Owner,
    Record,
    Thing,
    append,
    boot_id,
    held_dir,
    process_start,
)
from testbed.store import begin, finish

HOST = os.uname().nodename
DEAD = Owner(run="dead", pid=1, start=0, boot=boot_id(), host=HOST)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def a_record(owner: Owner | None = DEAD, name: str = "dead") -> Record:
    path = held_dir() / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    if owner is not None:
        append(path, {"owner": asdict(owner)})
    return Record(name, path)


def records() -> list[str]:
    return sorted(each.name for each in held_dir().glob("*.jsonl"))


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        yield process
        process.kill()


def a_process(process: subprocess.Popen[bytes], off_by: int = 0) -> Thing:
    start = process_start(process.pid)
    assert start is not None
    return Thing(kind=Kind.PROCESS, at=str(process.pid), start=start + off_by)


def test_with_nothing_held_nothing_is_done() -> None:
    assert list(clean()) == ["nothing is held"]
    assert list(clean("a-run")) == ["nothing is held by a-run"]


def test_files_and_folders_of_a_dead_run_go_and_its_record_too(tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").touch()
    (tmp_path / "file").touch()
    (tmp_path / "bystander").touch()
    held = a_record()
    for kind in (Kind.FOLDER, Kind.FILE):
        held.hold(Thing(kind=kind, at=str(tmp_path / kind.value)))

    told = list(clean())

    assert told == [
        f"dead: removed file {tmp_path}/file",
        f"dead: removed folder {tmp_path}/folder",
    ]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bystander", "cache"]
    assert list(clean()) == ["nothing is held"]


def test_a_place_that_others_use_stays(tmp_path) -> None:
    for name in ("used", "empty"):
        (tmp_path / name).mkdir()
        a_record(name=name).hold(Thing(kind=Kind.PLACE, at=str(tmp_path / name)))
    (tmp_path / "used" / "other").touch()

    list(clean())

    assert (tmp_path / "used" / "other").exists()
    assert not (tmp_path / "empty").exists()
    assert records() == []


def test_a_process_that_is_left_is_ended(sleeper) -> None:
    a_record().hold(a_process(sleeper))

    told = list(clean())

    assert told == [f"dead: removed process {sleeper.pid}"]
    assert sleeper.wait() == -9


def test_another_process_with_the_same_id_is_left_alone(sleeper) -> None:
    a_record().hold(a_process(sleeper, off_by=-1))

    assert list(clean()) == []
    assert sleeper.poll() is None
    assert records() == []


def test_processes_of_another_boot_are_left_alone(sleeper) -> None:
    a_record(replace(DEAD, boot="another")).hold(a_process(sleeper))

    assert list(clean()) == []
    assert sleeper.poll() is None


def test_what_a_live_run_holds_is_left_alone(tmp_path) -> None:
    (tmp_path / "file").touch()
    pid = os.getpid()
    live = replace(DEAD, run="live", pid=pid, start=process_start(pid) or 0)
    held = a_record(live, "live")
    held.hold(Thing(kind=Kind.FILE, at=str(tmp_path / "file")))

    assert list(clean()) == [f"live is still going, as process {pid}: left alone"]
    with pytest.raises(SpecError, match="live is still going"):
        list(clean("live"))
    assert (tmp_path / "file").exists()


def test_what_ran_on_another_host_is_left_alone(tmp_path) -> None:
    (tmp_path / "file").touch()
    held = a_record(replace(DEAD, host="elsewhere"))
    held.hold(Thing(kind=Kind.FILE, at=str(tmp_path / "file")))

    assert list(clean()) == ["dead ran on another host, elsewhere: left alone"]
    assert (tmp_path / "file").exists()


def test_one_run_alone_can_be_cleaned() -> None:
    a_record(name="one")
    a_record(name="other")

    list(clean("one"))

    assert records() == ["other.jsonl"]


def test_a_record_that_does_not_say_whose_it_is_removes_nothing(tmp_path) -> None:
    (tmp_path / "file").touch()
    a_record(owner=None).hold(Thing(kind=Kind.FILE, at=str(tmp_path / "file")))

    (told,) = clean()

    assert "does not say whose it is" in told
    assert (tmp_path / "file").exists()


def test_a_record_cut_before_its_first_line_was_whole_goes() -> None:
    held_dir().mkdir(parents=True)
    (held_dir() / "cut.jsonl").write_text('\n{"owner": {"ru')

    assert list(clean()) == []
    assert records() == []


def held_run(folder: Path) -> Path:
    a_record().hold(Thing(kind=Kind.RUN, at=str(folder)))
    return folder


def test_a_whole_run_is_never_removed(tmp_path) -> None:
    folder = held_run(tmp_path / "whole")
    run = begin(a_run(folder))
    finish(run, wall_seconds=1, virtual_seconds=1)

    (told,) = clean(void=True)

    assert told == f"dead: {folder} is whole, and stays"
    assert (folder / "run.json").exists()
    assert records() == []


def test_a_void_run_is_named_and_removed_only_when_asked(tmp_path) -> None:
    folder = held_run(tmp_path / "out" / "experiment" / "dead" / "before" / "1")
    begin(a_run(folder))
    (tmp_path / "out" / "bystander").touch()
    named = [f"dead: {folder} is void; `clean --void` removes it"]

    assert list(clean()) == named
    assert list(clean()) == named
    assert list(clean(void=True)) == [f"dead: removed run {folder}"]
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["bystander"]
    assert list(clean(void=True)) == ["nothing is held"]


def test_a_run_killed_before_its_record_was_written_is_void_too(tmp_path) -> None:
    folder = held_run(tmp_path / "half")
    folder.mkdir()
    (folder / ".run.json.part").write_text('{"for')

    (told,) = clean(void=True)

    assert told == f"dead: removed run {folder}"
    assert not folder.exists()
