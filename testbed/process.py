"""The only place that starts processes: argv tuples, a deadline each, never a shell.

A process started here dies with this one (PR_SET_PDEATHSIG) and is ended, group and
all, when its deadline passes or the caller leaves early. So are the Python processes of
Workers, which have no deadline.
"""

import contextlib
import ctypes
import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from testbed.errors import CommandError, InfrastructureError, Unavailable

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a process ended. status: exit status, negative for a signal. output: both."""

    argv: tuple[str, ...]
    status: int
    output: str
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a process took. seconds: by the wall clock; cpu_seconds: user and system.

    peak_rss: bytes; never below what this program had when it started the process.
    """

    seconds: float
    cpu_seconds: float
    peak_rss: int


class Stop:
    """A way to end what other threads have running: set() kills it, and all to come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[Callable[[], None]] = []
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Tell whether set() was called."""
        return self._is_set

    def set(self) -> None:
        """End every process that was given this, now and from now on."""
        with self._lock:
            self._is_set = True
            for kill in self._kills:
                kill()

    @contextlib.contextmanager
    def watching(self, kill: Callable[[], None]) -> Iterator[None]:
        """Have kill called if set() comes within the block."""
        with self._lock:
            self._kills.append(kill)
            if self._is_set:
                kill()
        try:
            yield
        finally:
            with self._lock:
                self._kills.remove(kill)


def missing_programs(
    packages: Mapping[str, str], path: str | None = None
) -> dict[str, str]:
    """Return those of the programs (name to apt package) that are not on this host.

    path: where to look instead of $PATH, in its syntax.
    """
    return {
        name: package
        for name, package in packages.items()
        if shutil.which(name, path=path) is None
    }


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a command that has to succeed, and return what it printed.

    Raises CommandError when it exits non-zero or outlives timeout_s, and Unavailable
    when there is no such program.
    """
    done = stream(argv, lambda _line: None, timeout_s=timeout_s, cwd=cwd, env=env)
    if done.timed_out:
        raise CommandError(argv, done.status, f"no end after {timeout_s:g} s")
    if done.status != 0:
        raise CommandError(argv, done.status, done.output)
    return done.output


def cost(
    argv: Sequence[str],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    output: Path | None = None,
) -> Cost:
    """Run a command that has to succeed, and return what it took.

    output: the file that its standard output goes to; it is thrown away without. Nobody
    reads it meanwhile: a reader would take its share of the CPU.  Raises like run().
    """
    with (
        Path(os.devnull if output is None else output).open("wb") as out,
        tempfile.TemporaryFile() as errors,
    ):
        begin = time.monotonic()
        begin_child = partial(_begin, os.getpid(), signal.SIGKILL, None)
        streams = (out.fileno(), errors.fileno())
        with _started(argv, cwd, env, begin_child, streams) as process:
            with _deadline(process, timeout_s) as expired:
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                seconds = time.monotonic() - begin
            _kill_group(process)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        told = f"no end after {timeout_s:g} s"
        if not expired.is_set():
            errors.seek(0)
            told = errors.read().decode(errors="replace")
        if expired.is_set() or process.returncode:
            raise CommandError(argv, process.returncode, told)
    return Cost(
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_rss=usage.ru_maxrss << 10,
    )


def stream(  # noqa: PLR0913  # by keyword, what Popen needs and we add
    argv: Sequence[str],
    on_line: Callable[[str], None],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
    stop: Stop | None = None,
    on_start: Callable[[], None] | None = None,
) -> Finished:
    """Run a command, handing each line it prints to on_line as it comes.

    The process is ended at timeout_s whatever it is doing, if on_line or Ctrl-C raises,
    and by stop from another thread. death_signal is what it gets when this program is
    killed, or the thread that started it ends: call it from one that outlives it.
    on_start is called in it, before it becomes the command.
    """
    begin = partial(_begin, os.getpid(), death_signal, on_start)
    lines: list[str] = []

    def take(line: str) -> None:
        lines.append(line)
        on_line(line.rstrip("\r\n"))

    with (
        _started(argv, cwd, env, begin) as process,
        _deadline(process, timeout_s) as expired,
        (stop or Stop()).watching(partial(_kill_group, process)),
    ):
        _follow(process, take)
    return Finished(
        argv=tuple(argv),
        status=process.returncode,
        output="".join(lines),
        timed_out=expired.is_set(),
    )


@contextlib.contextmanager
def _deadline(
    process: subprocess.Popen[str], timeout_s: float
) -> Iterator[threading.Event]:
    """Kill the process if the block lasts longer than timeout_s; tell if it did."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        _kill_group(process)

    timer = threading.Timer(timeout_s, expire)
    timer.daemon = True
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()
        timer.join()


def _follow(process: subprocess.Popen[str], take: Callable[[str], None]) -> None:
    assert process.stdout is not None  # noqa: S101  # PIPE was asked for
    with process.stdout as output:
        for line in output:
            take(line)
    # Wait without reaping: until the group is killed its id must stay ours.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@contextlib.contextmanager
def _started(
    argv: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    begin: Callable[[], None],
    streams: tuple[int, int] = (subprocess.PIPE, subprocess.STDOUT),
) -> Iterator[subprocess.Popen[str]]:
    """Start a process that is over, with its group, after the block."""
    with contextlib.ExitStack() as stack:
        with _held_back():
            process = _start(argv, cwd, env, begin, streams)
            stack.callback(_end, process)
        yield process


def _start(
    argv: Sequence[str],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    begin: Callable[[], None],
    streams: tuple[int, int],
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            cwd=cwd,
            env=None if env is None else dict(env),
            text=True,
            errors="replace",
            start_new_session=True,
            # No lock is taken in it.
            preexec_fn=begin,  # noqa: PLW1509
        )
    except (FileNotFoundError, PermissionError) as error:
        raise Unavailable(
            f"cannot start `{argv[0]}`: {error.strerror}",
            remedy="`make setup` installs every tool this project needs",
        ) from error
    except subprocess.SubprocessError as error:  # begin() failed
        raise InfrastructureError(f"cannot note down `{argv[0]}`: {error}") from error


def _begin(
    parent: int, death_signal: signal.Signals, on_start: Callable[[], None] | None
) -> None:
    _die_with(parent, death_signal)
    if on_start is not None:
        on_start()


class Workers(ProcessPoolExecutor):
    """Python processes that compute side by side, and end when the block does.

    They begin afresh (spawn): a fork would copy the locks that other threads hold.
    Submit from the main thread, which outlives them.
    """

    def __init__(self) -> None:
        super().__init__(
            max_workers=len(os.sched_getaffinity(0)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_die_with,
            initargs=(os.getpid(),),
        )

    def submit(
        self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Future[_T]:
        """Have a function called; a process that this starts is deaf to Ctrl-C."""
        # A signal mask is inherited: a handler would be set too late for an interrupt
        # that comes while the process begins.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with _held_back():
                return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __exit__(self, *raised: object) -> None:
        if raised[0] is not None:  # what is being computed is wanted no more
            for process in multiprocessing.active_children():
                process.kill()
        self.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Have what would interrupt the block, which starts a process, come after it.

    A process half started reads the end of its orders, and says so with a traceback.
    And what Python itself calls at a fork ignores exceptions: an interrupt would be
    lost there, with the lock that it was to give back. A mask does not help: another
    thread may take the signal, and Python still runs the handler in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler runs here
        return
    held: list[int] = []
    handlers = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if callable(handler):  # what is ignored has to stay so in the child
            handlers[number] = handler
            signal.signal(number, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in held:
            signal.raise_signal(each)


def _die_with(parent: int, death_signal: signal.Signals = signal.SIGKILL) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal))
    if os.getppid() != parent:  # it died before the line above
        os._exit(127)


def _end(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        process.stdout.close()
    if process.returncode is None:
        _kill_group(process)
        process.wait()


def _kill_group(process: subprocess.Popen[str]) -> None:
    """End the process and its children: start_new_session made them a group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
