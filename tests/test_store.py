"""Run directories: void until proven whole, and readable for ever."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_run

from testbed.errors import SpecError, StoreError
from testbed.store import (
    begin,
    finish,
    load_run,
    load_runs,
    new_run_id,
    void,
    write_text,
)


def test_a_run_that_has_begun_is_void(tmp_path: Path) -> None:
    begin(a_run(tmp_path / "before" / "1"))

    stored = load_run(tmp_path / "before" / "1")
    assert not stored.whole
    assert "never finished" in stored.why


def test_a_finished_run_is_whole_and_reads_back_the_same(tmp_path: Path) -> None:
    run = begin(a_run(tmp_path / "before" / "1"))

    whole = finish(run, wall_seconds=2.5, virtual_seconds=10.0)

    assert load_run(run.folder) == whole
    assert whole.whole


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    run = begin(a_run(tmp_path / "before" / "1"))

    void(run, "the guest panicked")

    assert load_run(run.folder).why == "the guest panicked"


def test_a_run_may_be_moved(tmp_path: Path) -> None:
    run = begin(a_run(tmp_path / "here"))
    run.folder.rename(tmp_path / "there")

    assert load_run(tmp_path / "there").folder == tmp_path / "there"


def test_nothing_is_written_over_a_run_that_is_there(tmp_path: Path) -> None:
    begin(a_run(tmp_path / "1"))

    with pytest.raises(StoreError, match="File exists"):
        begin(a_run(tmp_path / "1"))


def test_runs_come_in_the_order_of_the_experiment(tmp_path: Path) -> None:
    begin(a_run(tmp_path / "after" / "1", "after"))
    begin(a_run(tmp_path / "after" / "2", "after", 2))
    begin(a_run(tmp_path / "before" / "2", "before", 2))
    begin(a_run(tmp_path / "before" / "1", "before", 1))

    found = [(run.variant, run.repeat) for run in load_runs(tmp_path)]
    assert found == [("before", 1), ("before", 2), ("after", 1), ("after", 2)]


def test_a_folder_without_runs_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no runs here"):
        load_runs(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("{", "not JSON", id="cut"),
        pytest.param("[]", "format None; this version reads 1", id="no-object"),
        pytest.param('{"format": 99}', "format 99", id="newer"),
        pytest.param('{"format": 1}', "this is no Run", id="empty"),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, text, complaint) -> None:
    (tmp_path / "run.json").write_text(text)

    with pytest.raises(StoreError, match=complaint):
        load_run(tmp_path)


def test_a_record_with_more_keys_than_today_still_reads(tmp_path: Path) -> None:
    run = begin(a_run(tmp_path / "1"))
    record = run.folder / "run.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "later": 1}))

    assert load_run(run.folder) == replace(run, why=load_run(run.folder).why)


def test_no_two_sets_of_runs_have_the_same_name() -> None:
    assert len({new_run_id() for _ in range(50)}) > 1


@pytest.mark.parametrize("place", ["/", ".", "a-folder"])
def test_a_folder_where_a_file_is_to_be_is_told(tmp_path, monkeypatch, place) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-folder").mkdir()

    with pytest.raises(StoreError, match="Is a directory"):
        write_text(Path(place), "text")
