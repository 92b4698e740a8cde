"""The cache's limit: what goes, in which order, and what stays."""

import os
from pathlib import Path

import pytest
from keeping import put

from testbed.errors import SpecError, Unavailable
from testbed.files import locked
from testbed.kernels.cache import using
from testbed.kernels.limit import (
    DEFAULT_BYTES,
    Item,
    items,
    limit_bytes,
    make_room,
    remove_named,
)

pytestmark = pytest.mark.usefixtures("cache_home")
ALL = 1 << 40


def age(path: Path, minutes: int) -> None:
    os.utime(path, (1_000_000_000 - minutes * 60,) * 2)


@pytest.fixture
def full(tmp_path: Path, cache_home: Path) -> Path:
    """Return a cache of two kernels and two build folders, each older than the next."""
    age(put("1", tmp_path, "oldest").image.parent / "used", 40)
    for name, minutes in (("older", 30), ("newer", 20)):
        tree = cache_home / "build" / name / "tree"
        tree.mkdir(parents=True)
        (tree / "file").write_bytes(bytes(100_000))
        (cache_home / "build" / name / "used").touch()
        age(cache_home / "build" / name / "used", minutes)
        (cache_home / "build" / name / "lock").touch()
    age(put("2", tmp_path, "newest").image.parent / "used", 10)
    return cache_home


def names() -> list[str]:
    return [item.name for item in items()]


@pytest.mark.usefixtures("full")
def test_what_was_used_least_recently_comes_first() -> None:
    assert names() == ["oldest", "older", "newer", "newest"]


@pytest.mark.usefixtures("full")
def test_what_was_used_least_recently_goes_until_the_rest_fits() -> None:
    gone: list[Item] = []
    total = sum(item.size for item in items())

    left = make_room(total - 100_000, (), gone.append)

    assert [item.name for item in gone] == ["oldest", "older"]
    assert names() == ["newer", "newest"]
    assert left == sum(item.size for item in items()) <= total - 100_000


@pytest.mark.usefixtures("full")
def test_a_cache_below_its_limit_is_left_alone() -> None:
    make_room(ALL, (), pytest.fail)

    assert len(names()) == 4


def test_what_is_to_be_kept_or_in_use_stays_and_the_rest_is_told(
    full: Path, tmp_path: Path
) -> None:
    kept = full / "kernels" / "1"
    running = put("3", tmp_path, "running")

    with using([running]), locked(full / "build" / "older" / "lock", pytest.fail):
        left = make_room(0, (kept,), lambda _item: None)

        assert sorted(names()) == ["older", "oldest", "running"]
        assert left == sum(item.size for item in items()) > 0


def test_a_build_folder_that_went_leaves_its_lock(full: Path) -> None:
    remove_named("older")

    assert [path.name for path in (full / "build" / "older").iterdir()] == ["lock"]
    assert "older" not in names()


@pytest.mark.usefixtures("full")
def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(SpecError, match="there is: oldest, older, newer, newest"):
        remove_named("nonesuch")


@pytest.mark.usefixtures("full")
def test_removing_what_is_in_use_is_refused(tmp_path: Path) -> None:
    running = put("3", tmp_path, "running")

    with using([running]), pytest.raises(Unavailable, match="running is in use"):
        remove_named("running")


def test_the_limit_is_given_or_in_the_environment_or_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert limit_bytes() == DEFAULT_BYTES

    monkeypatch.setenv("TESTBED_CACHE_LIMIT", "3GB")
    assert limit_bytes() == 3 << 30
    assert limit_bytes("5MB") == 5 << 20

    monkeypatch.setenv("TESTBED_CACHE_LIMIT", "much")
    with pytest.raises(SpecError, match="TESTBED_CACHE_LIMIT: 'much' is not a size"):
        limit_bytes()
