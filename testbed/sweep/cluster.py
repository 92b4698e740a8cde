"""Points on a dask.distributed cluster, given the address of its scheduler.

The scheduler decides who runs what, and gives the points of a worker that is lost to
others. Workers have this testbed installed; kernels they get from here. Start with
record_on.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.errors import InfrastructureError, TestbedError, Unavailable
from testbed.files import sha256
from testbed.spec.kernel import BuiltKernel
from testbed.sweep.here import Outcome
from testbed.sweep.remote import (
    Answer,
    Broke,
    Lacks,
    Order,
    carry_out,
    distributed,
    keep_kernel,
    lacks,
    unpack,
)
from testbed.sweep.task import Points, Task, code_hash, kernels_of

_CONNECT_S = 10


def record_on(
    address: str, points: Points, tasks: Sequence[Task]
) -> Generator[tuple[Task, Outcome], None, None]:
    """Run points on a cluster; yield each when its runs have come back.

    Like record_here(): what breaks does not stop the rest, closing the iterator does.
    Raises Unavailable where no scheduler answers or it has no worker.
    """
    if not tasks:
        return
    with _client(address) as client:
        images = _Images(client, kernels_of(tasks))
        images.send_to_all()
        code = code_hash()
        waiting = {_submit(client, _order(each, images, code)): each for each in tasks}
        yield from _answers(client, images, waiting, points)


def _answers(
    client: Any,
    images: "_Images",
    waiting: dict[Any, Task],
    points: Points,
) -> Generator[tuple[Task, Outcome], None, None]:
    ended = distributed().as_completed(list(waiting), raise_errors=False)
    code = code_hash()
    for future in ended:
        task = waiting.pop(future)
        answer = _answer(future)
        future.release()  # or the workers would keep every archive
        if isinstance(answer, Lacks):
            images.send(answer.worker, answer.images)
            again = _submit(client, _order(task, images, code))
            waiting[again] = task
            ended.add(again)
        elif isinstance(answer, Broke):
            yield task, InfrastructureError(answer.why)
        else:
            folder = points.home / answer.run_id
            try:
                unpack(answer.archive, folder)
            except TestbedError as error:
                yield task, error
            else:
                yield task, folder


def _answer(future: Any) -> Answer:
    if future.status == "finished":
        found: Answer = future.result()
        return found
    # Such as KilledWorker: several workers died of it.
    return Broke(why=f"on the cluster: {future.exception()}")


def _order(task: Task, images: "_Images", code: str) -> Order:
    return Order(
        point=task.point,
        plan=task.plan,
        kernels={
            name: (images.hash_of(kernel), kernel.identity)
            for name, kernel in task.kernels.items()
        },
        code=code,
    )


def _submit(client: Any, order: Order) -> Any:
    # Two sweeps may want the same: each gets its own.
    return client.submit(carry_out, order, pure=False)


class _Images:
    """The images of kernels by their hashes, and who was sent which."""

    def __init__(self, client: Any, kernels: Iterable[BuiltKernel]) -> None:
        self._client = client
        self._paths: dict[str, Path] = {}
        self._hashes: dict[Path, str] = {}
        for each in kernels:
            found = sha256(each.image.read_bytes())
            self._paths[found] = each.image
            self._hashes[each.image] = found

    def hash_of(self, kernel: BuiltKernel) -> str:
        return self._hashes[kernel.image]

    def send_to_all(self) -> None:
        """Send every worker there is what it lacks; later ones say so themselves."""
        lacking: Mapping[str, tuple[str, ...]] = self._client.run(
            lacks, tuple(self._paths), on_error="ignore"
        )
        for worker, images in lacking.items():
            self.send(worker, images)

    def send(self, worker: str, images: Sequence[str]) -> None:
        """Send images to a worker; if it is lost meanwhile, its points go elsewhere."""
        for each in images:
            data = self._paths[each].read_bytes()
            self._client.run(
                keep_kernel, each, data, workers=[worker], on_error="ignore"
            )


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        client = distributed().Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"no dask scheduler answers at {address}: {error}",
            remedy=f"dask scheduler, and on each machine: dask worker {address}",
        ) from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise Unavailable(
                f"the dask scheduler at {address} has no worker",
                remedy=f"on each machine that is to help: dask worker {address}",
            )
        yield client
