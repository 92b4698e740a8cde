"""A child process inside a host's network namespace, and the pipe to talk to it.

fork() and setns(): the child has everything imported already, so it costs nothing to
start, and what it does is charged to itself and not to the lab.
"""

import contextlib
import ctypes
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from testbed.errors import InfrastructureError, TestbedError
from testbed.lab.net import Host

_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Child:
    """The lab's end of the pipe to a child. Messages are any picklable values."""

    def __init__(self, name: str, pipe: Connection) -> None:
        self.name = name
        self._pipe = pipe

    def tell(self, message: object) -> None:
        """Send the child a message."""
        self._pipe.send(message)

    def hear(self, timeout_s: float | None = None) -> Any:
        """Return the child's next message.

        Raises InfrastructureError when it fails, ends, or is silent for timeout_s.
        """
        if not self._pipe.poll(timeout_s):
            raise InfrastructureError(f"{self.name} said nothing for {timeout_s:g} s")
        try:
            message = self._pipe.recv()
        except EOFError as error:
            raise InfrastructureError(f"{self.name} ended unexpectedly") from error
        if isinstance(message, _Failure):
            raise InfrastructureError(f"{self.name} failed: {message.text}")
        return message


class _Failure:
    def __init__(self, text: str) -> None:
        self.text = text


@contextlib.contextmanager
def child_on(
    host: Host,
    name: str,
    work: Callable[[Connection], None],
    processor: int | None = None,
) -> Iterator[Child]:
    """Run work(pipe) in a child in host's network namespace; end it with the block.

    processor: the only one it may use, and what it starts.
    """
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_work_inside,
        args=(host.pid, partial(_keep_to, processor, work), theirs, os.getpid()),
        name=name,
    )
    process.start()
    theirs.close()
    try:
        yield Child(name, ours)
    finally:
        ours.close()
        process.kill()
        process.join()


def _work_inside(
    pid: int, work: Callable[[Connection], None], pipe: Connection, parent: int
) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        return
    try:
        enter_network(pid)
        work(pipe)
    except (TestbedError, OSError) as error:
        pipe.send(_Failure(str(error)))
    except Exception:  # noqa: BLE001  # handed on whole, whatever it is
        pipe.send(_Failure(traceback.format_exc()))


def _keep_to(
    processor: int | None, work: Callable[[Connection], None], pipe: Connection
) -> None:
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    work(pipe)


def enter_network(pid: int) -> None:
    """Move this process into the network namespace that pid is in."""
    with Path(f"/proc/{pid}/ns/net").open() as namespace:
        if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
            code = ctypes.get_errno()
            raise OSError(code, f"setns: {os.strerror(code)}")
