"""What goes to a worker and comes back."""

import io
import zipfile
from pathlib import Path

import pytest

from testbed.errors import StoreError
from testbed.files import sha256
from testbed.sweep.remote import keep_kernel, lacks, packed, unpack


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_folder_comes_back_whole(tmp_path) -> None:
    (tmp_path / "a" / "before" / "1").mkdir(parents=True)
    (tmp_path / "a" / "before" / "1" / "x.pcapng").write_bytes(b"\0\1" * 5000)

    archive = packed(tmp_path / "a")
    unpack(archive, tmp_path / "b" / "run")

    assert len(archive) < 5000
    back = tmp_path / "b" / "run" / "before" / "1" / "x.pcapng"
    assert back.read_bytes() == b"\0\1" * 5000
    assert [each.name for each in (tmp_path / "b").iterdir()] == ["run"]


def test_an_archive_cannot_write_outside_its_folder(tmp_path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("../../outside", "x")

    unpack(stream.getvalue(), tmp_path / "deep" / "run")

    assert not list(tmp_path.glob("outside"))
    assert (tmp_path / "deep" / "run" / "outside").exists()


def test_a_worker_lacks_a_kernel_until_it_is_sent(cache) -> None:
    image = sha256(b"a kernel")
    assert lacks([image, image]) == (image,)

    keep_kernel(image, b"a kernel")

    assert lacks([image]) == ()


def test_a_kernel_that_was_damaged_on_its_way_is_not_kept(cache) -> None:
    image = sha256(b"a kernel")

    with pytest.raises(StoreError, match="did not arrive whole"):
        keep_kernel(image, b"another kernel")

    assert lacks([image]) == (image,)
