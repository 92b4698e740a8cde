"""What a worker of a cluster does with an order; runs there, imported by dask.

A kernel is known by the hash of its image. A worker that lacks one says so, and is sent
it: Lacks, keep_kernel. The runs go back whole, as an archive of their folder. Start
with carry_out.
"""

import importlib
import io
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.errors import StoreError, TestbedError, Unavailable
from testbed.files import sha256, write_whole
from testbed.pipeline import Plan
from testbed.process import Stop
from testbed.spec.grid import Point
from testbed.spec.kernel import BuiltKernel, KernelIdentity
from testbed.store import explained
from testbed.sweep.here import record_task
from testbed.sweep.task import Task, code_hash
from testbed.user import cache_dir


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A point to run somewhere else. code: what code_hash() has to say there.

    kernels: by the names the variants use, the hash of the image and what it is.
    """

    point: Point
    plan: Plan
    kernels: Mapping[str, tuple[str, KernelIdentity]]
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A point that was run. archive: the folder of its runs, as a zip file."""

    run_id: str
    archive: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacks:
    """Images that a worker does not have. worker: its address."""

    worker: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """A point that could not be run, and why."""

    why: str


Answer = Whole | Lacks | Broke


def carry_out(order: Order) -> Answer:
    """Run a point on this worker."""
    here = _address()
    if code_hash() != order.code:
        return Broke(why=f"the worker {here} has another testbed installed")
    lacking = lacks(tuple(image for image, _identity in order.kernels.values()))
    if lacking:
        return Lacks(worker=here, images=lacking)
    with tempfile.TemporaryDirectory(prefix="testbed-point-") as folder:
        task = Task(
            number=0,
            point=order.point,
            kernels={
                name: BuiltKernel(image=_place(image), identity=identity)
                for name, (image, identity) in order.kernels.items()
            },
            plan=replace(order.plan, out=Path(folder)),
        )
        outcome = record_task(task, Stop())
        if isinstance(outcome, TestbedError):
            return Broke(why=f"on the worker {here}: {outcome}")
        return Whole(run_id=outcome.name, archive=packed(outcome))


def lacks(images: Sequence[str]) -> tuple[str, ...]:
    """Return those images that are not in this worker's cache."""
    return tuple(dict.fromkeys(each for each in images if not _is_there(each)))


def keep_kernel(image: str, data: bytes) -> None:
    """Put an image into this worker's cache, under the hash of what it holds."""
    if sha256(data) != image:
        raise StoreError(f"the image {image} did not arrive whole")
    with explained(_place(image)):
        write_whole(_place(image), data, mode=0o755)


def packed(folder: Path) -> bytes:
    """Return a folder as an archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                archive.write(path, path.relative_to(folder))
    return stream.getvalue()


def unpack(data: bytes, folder: Path) -> None:
    """Make a folder of an archive; nothing of it gets out of the folder."""
    part = folder.with_name(f".{folder.name}.part")
    with explained(folder):
        part.mkdir(parents=True)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(part)  # zipfile keeps names inside
        part.rename(folder)


def _is_there(image: str) -> bool:
    # Its name is the hash of its content, and it appeared whole.
    return os.access(_place(image), os.X_OK)


def _place(image: str) -> Path:
    return cache_dir() / "images" / image


def distributed() -> Any:  # it is only half typed
    """Return the package dask.distributed, which is optional."""
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise Unavailable(
            "--dask needs dask.distributed, which is not installed",
            remedy="pip install 'testbed[dask]'",
        ) from error


def _address() -> str:
    return str(distributed().get_worker().address)
