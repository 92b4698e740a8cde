"""Processes: what they print, how they end, and that none outlives its deadline."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from testbed.errors import CommandError, Unavailable
from testbed.process import Stop, Workers, cost, run, stream

FOREVER = "import time; print('up', flush=True); time.sleep(600)"
#: A parent that starts a child in its own group, tells the child's pid, and waits.
FAMILY = (
    "import subprocess, sys; child = subprocess.Popen(['sleep', '600']); "
    "print(child.pid, flush=True); child.wait()"
)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_dead(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_what_a_command_printed_is_returned() -> None:
    assert run(("echo", "hello"), timeout_s=10) == "hello\n"


def test_lines_arrive_without_their_ends_in_order() -> None:
    lines: list[str] = []

    done = stream(("printf", "a\\nb\\r\\nc"), lines.append, timeout_s=10)

    assert lines == ["a", "b", "c"]
    assert done.status == 0


def test_a_failing_command_tells_its_status_and_output() -> None:
    with pytest.raises(CommandError, match="exited with 3: told you"):
        run(("sh", "-c", "echo told you; exit 3"), timeout_s=10)


def test_a_missing_program_is_unavailable_with_a_remedy() -> None:
    with pytest.raises(Unavailable, match="cannot start `no-such-program`"):
        run(("no-such-program",), timeout_s=10)


def test_a_command_past_its_deadline_is_killed() -> None:
    done = stream((sys.executable, "-c", FOREVER), lambda _line: None, timeout_s=0.5)

    assert done.timed_out
    assert done.status == -signal.SIGKILL


def test_run_calls_a_passed_deadline_a_failure() -> None:
    with pytest.raises(CommandError, match="no end after 0.2 s"):
        run(("sleep", "600"), timeout_s=0.2)


def test_children_go_with_their_parent_at_the_deadline() -> None:
    lines: list[str] = []

    stream((sys.executable, "-c", FAMILY), lines.append, timeout_s=1.5)

    assert wait_until_dead(int(lines[0]))


def test_an_exception_in_the_listener_ends_the_process() -> None:
    seen: list[int] = []

    def refuse(line: str) -> None:
        seen.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream((sys.executable, "-c", FAMILY), refuse, timeout_s=60)

    assert wait_until_dead(seen[0])


def test_stop_ends_it_from_another_thread() -> None:
    stop = Stop()
    ended = []
    up = threading.Event()

    def work() -> None:
        argv = (sys.executable, "-c", FOREVER)
        ended.append(stream(argv, lambda _line: up.set(), timeout_s=60, stop=stop))

    thread = threading.Thread(target=work)
    thread.start()
    up.wait(10)
    stop.set()
    thread.join(10)

    assert ended[0].status == -signal.SIGKILL
    assert not ended[0].timed_out


def test_after_stop_nothing_more_runs() -> None:
    stop = Stop()
    stop.set()

    done = stream(("sleep", "600"), lambda _line: None, timeout_s=60, stop=stop)

    assert done.status == -signal.SIGKILL


def test_a_process_dies_when_the_program_is_killed() -> None:
    program = (
        "from testbed.process import stream\n"
        f"stream(({sys.executable!r}, '-c', {FAMILY!r}), "
        "lambda line: print(line, flush=True), timeout_s=600)\n"
    )
    reader, writer = os.pipe()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", program],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)],
    )
    os.close(writer)
    with os.fdopen(reader) as told:
        child_of_child = int(told.readline())
        middle = int(Path(f"/proc/{child_of_child}/stat").read_text().split()[3])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    assert wait_until_dead(middle)
    os.kill(child_of_child, signal.SIGKILL)


#: A parent that has workers tell their pids, and then sleep; and waits for them.
MASTER = """
import os, time
from testbed.process import Workers
if __name__ == "__main__":
    with Workers() as workers:
        print(workers.submit(os.getpid).result(), flush=True)
        workers.submit(time.sleep, 600).result()
"""


def test_workers_compute_in_processes_of_their_own() -> None:
    with Workers() as workers:
        found = [workers.submit(os.getpid).result() for _ in range(2)]
        children = {child.pid for child in multiprocessing.active_children()}

    assert os.getpid() not in found
    assert set(found) <= children


def test_an_error_of_a_worker_is_raised_where_its_result_is_asked_for() -> None:
    with Workers() as workers, pytest.raises(ValueError, match="invalid literal"):
        workers.submit(int, "x").result()


def test_leaving_by_an_error_ends_what_is_being_computed() -> None:
    begun = time.monotonic()

    with suppress(KeyboardInterrupt), Workers() as workers:
        worker = workers.submit(os.getpid).result()
        workers.submit(time.sleep, 600)
        raise KeyboardInterrupt

    assert time.monotonic() - begun < 30
    assert wait_until_dead(worker)


def test_a_worker_is_deaf_to_an_interrupt() -> None:
    with Workers() as workers:
        blocked = workers.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()

    assert signal.SIGINT in blocked


def test_an_interrupt_at_a_fork_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    # What Python calls after a fork ignores exceptions; one raised there would be lost.
    begin, started = subprocess.Popen, []

    def popen(*arguments: object, **options: object) -> object:
        started.append(begin(*arguments, **options))
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", popen)

    with pytest.raises(KeyboardInterrupt):
        run(("sleep", "600"), timeout_s=900)

    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_an_interrupt_waits_until_a_worker_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = []

    def submit(*_arguments: object) -> Future[int]:
        # As one of another thread would, which masks nothing.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.raise_signal(signal.SIGINT)
        begun.append(True)
        return Future()

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)

    with pytest.raises(KeyboardInterrupt), Workers() as workers:
        workers.submit(abs, -1)

    assert begun == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_the_mask_of_the_caller_is_left_as_it_was() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    with Workers() as workers:
        workers.submit(abs, -1).result()

        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_no_worker_outlives_this_program(tmp_path: Path) -> None:
    (tmp_path / "master.py").write_text(MASTER)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "master.py")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stdout=subprocess.PIPE,
        text=True,
    ) as master:
        assert master.stdout is not None
        worker = int(master.stdout.readline())
        master.kill()

    assert wait_until_dead(worker)


WORK = "import time\nx = bytearray({size})\nwhile time.process_time() < {cpu}: pass"


def test_a_cost_is_the_cpu_time_and_the_memory_of_the_process() -> None:
    small = cost((sys.executable, "-c", WORK.format(size=1, cpu=0.3)), timeout_s=60)
    large = cost((sys.executable, "-c", WORK.format(size=1 << 29, cpu=0)), timeout_s=60)

    assert 0.3 <= small.cpu_seconds < 1
    assert small.seconds >= 0.3
    assert large.peak_rss > 1 << 29 > small.peak_rss


def test_what_a_costed_command_prints_goes_to_the_file(tmp_path) -> None:
    cost(("echo", "hello"), timeout_s=10, output=tmp_path / "said")

    assert (tmp_path / "said").read_text() == "hello\n"


def test_a_costed_command_that_fails_says_why() -> None:
    with pytest.raises(CommandError, match="exited with 3: told you"):
        cost(("sh", "-c", "echo told you >&2; exit 3"), timeout_s=10)


def test_a_costed_command_past_its_deadline_goes_with_its_children(tmp_path) -> None:
    said = tmp_path / "said"

    with pytest.raises(CommandError, match="no end after 1.5 s"):
        cost((sys.executable, "-c", FAMILY), timeout_s=1.5, output=said)

    assert wait_until_dead(int(said.read_text()))
