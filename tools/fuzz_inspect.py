"""Throw damaged captures at inspect's engine, a million and more: what does it do?

    python -m tools.fuzz_inspect [--inputs N] [--seed N] [--findings FOLDER]

Inputs are captures of all kinds (reference runs, and conversations at random in every
link type and file format) with bits flipped, lengths falsified, pieces cut out,
doubled, exchanged or put in. No input may make the engine raise anything but
CaptureError, take long, grow, or say what cannot be. An input is known by the seed and
its number, and is made again from them.

Workers are processes, so that one which crashes or hangs is a finding, too; their
kernels check every index, or they would read beyond an array in silence. Exit code: 0
nothing found, 1 something.

Start with attack, which is all of it but processes and files.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from testbed.errors import CaptureError
from testbed.inspected import to_json
from testbed.process import stream
from testbed.trace.inspection import inspect
from tools.damage import corpus, mutated

_MOST_CPU_S = 2.0
_MOST_HANG_S = 120
_MOST_GROWTH = 256 << 20
_SETTLED = 1000  # inputs, after which every buffer was made
_A_WORKER = 25_000  # inputs
_WORKER_S = 6 * 3600.0
_REARMED = 100  # inputs
_TOLD = 2000  # characters of what a worker said last
_SUMMARIES = ("tso_size", "tso_segs", "ack_stretch", "send_gap", "rtt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the engine did wrong, and with which input."""

    number: int
    what: str


def judged(path: Path) -> str:
    """Inspect a file; return what is wrong with it, nothing if all is well."""
    begin = time.process_time()
    try:
        answer = to_json([inspect(path)])
        json.dumps(answer, allow_nan=False)
        wrong = insane(answer)
    except CaptureError:
        wrong = ""
    except Exception as error:  # noqa: BLE001  # it is what is looked for
        wrong = f"raised {error!r}"
    took = time.process_time() - begin
    return wrong or (f"took {took:.1f} s of CPU" if took > _MOST_CPU_S else "")


def insane(answer: Mapping[str, Any]) -> str:
    """Return what in an answer cannot be; nothing if all of it can."""
    counted = sum(answer["skipped"].values())
    if min(answer["packets"], *answer["skipped"].values(), 0) < 0:
        return "a negative count"
    carried = sum(flow["packets"] for flow in answer["flows"])
    if carried + counted > answer["packets"]:
        return f"{carried} data packets, {counted} skipped, of {answer['packets']}"
    for flow in answer["flows"]:
        for wrong in _insane_flow(flow):
            return wrong
    return ""


def _insane_flow(flow: Mapping[str, Any]) -> Iterator[str]:
    packets = flow["packets"]
    if flow["mss"] < 1 or not 0 <= flow["retransmits"] <= max(0, packets - 1):
        yield f"mss {flow['mss']}, {flow['retransmits']} retransmits of {packets}"
    counts = {name: flow[name]["n"] for name in _SUMMARIES}
    sized = counts["tso_size"] == counts["tso_segs"] == packets
    if not sized or counts["send_gap"] != max(0, packets - 1):
        yield f"{packets} packets, {counts}"
    if counts["rtt"] > packets:
        yield f"{packets} packets, {counts}"
    if packets and round(flow["tso_size"]["mean"] * packets) != flow["bytes"]:
        yield f"{flow['bytes']} bytes, mean {flow['tso_size']['mean']} of {packets}"
    yield from (f"{name} is {flow[name]}" for name in _SUMMARIES if _odd(flow[name]))


def _odd(its: Mapping[str, Any]) -> bool:
    """Say whether a summary cannot be one."""
    values = [its[key] for key in ("p50", "p90", "p99", "max")]
    if not its["n"]:
        return any(value is not None for value in (*values, its["mean"]))
    beyond = its["mean"] - its["max"] > abs(its["max"]) * 1e-9
    return values != sorted(values) or bool(beyond)


def attack(
    seeds: Sequence[bytes],
    seed: int,
    numbers: range,
    about: Callable[[int], None] = lambda _number: None,
) -> Iterator[Finding]:
    """Judge the engine's answer to each input, in this process; yield the findings.

    about: told the number of each input before the engine sees it.
    """
    settled = 0
    with _memory_file() as (descriptor, path):
        for count, number in enumerate(numbers):
            data = mutated(seeds, seed, number)
            about(number)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, data, 0)
            wrong = judged(path)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
            if count < _SETTLED:
                settled = peak
            elif peak > settled + _MOST_GROWTH:
                wrong, settled = wrong or f"grew to {peak >> 20} MB", peak
            if wrong:
                yield Finding(number=number, what=wrong)


@contextlib.contextmanager
def _memory_file() -> Iterator[tuple[int, Path]]:
    descriptor = os.memfd_create("testbed-fuzz")
    try:
        yield descriptor, Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def work(seed: int, numbers: range) -> None:
    """Attack as a worker: say on stdout where it is, and what it found."""
    faulthandler.enable()
    seeds = corpus()
    with _memory_file() as (descriptor, path):  # compiles everything
        for data in seeds:
            os.pwrite(descriptor, data, 0)
            judged(path)
    for finding in attack(seeds, seed, numbers, _say_where):
        _say(json.dumps({"number": finding.number, "what": finding.what}))
    faulthandler.cancel_dump_traceback_later()


def _say_where(number: int) -> None:
    _say(str(number))
    if number % _REARMED == 0:
        faulthandler.dump_traceback_later(_MOST_HANG_S, exit=True)


def _say(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


class Progress:
    """What a worker said: where it is, what it found, and the rest, of its end."""

    def __init__(self, first: int) -> None:
        self.at = first
        self.found: list[Finding] = []
        self.rest = ""

    def take(self, line: str) -> None:
        """Read a line that a worker printed."""
        if line.isdecimal():
            self.at = int(line)
        elif line.startswith("{"):
            self.found.append(Finding(**json.loads(line)))
        else:
            self.rest = f"{self.rest}{line}\n"[-_TOLD:]


def worked(seed: int, numbers: range, env: Mapping[str, str]) -> list[Finding]:
    """Have workers do some inputs; one that crashes or hangs is followed by another."""
    found: list[Finding] = []
    while numbers:
        progress = Progress(numbers.start)
        words: tuple[str, ...] = ("--seed", str(seed), "--worker", str(numbers.start))
        words += ("--inputs", str(len(numbers)))
        argv = (sys.executable, "-m", "tools.fuzz_inspect", *words)
        done = stream(argv, progress.take, timeout_s=_WORKER_S, env=env)
        found += progress.found
        if done.status == 0:
            break
        told = f"the worker ended with {done.status}: {progress.rest.strip()}"
        found.append(Finding(number=progress.at, what=told))
        numbers = range(progress.at + 1, numbers.stop)
    return found


def campaign(seed: int, inputs: int, jobs: int) -> list[Finding]:
    """Attack with all workers at once; return the findings."""
    parts = [
        range(start, min(start + _A_WORKER, inputs))
        for start in range(0, inputs, _A_WORKER)
    ]
    with tempfile.TemporaryDirectory(prefix="testbed-fuzz-") as cache:
        env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        found = worked(seed, range(1), env)  # compiles, for all others
        begin = time.monotonic()
        with ThreadPoolExecutor(jobs) as threads:
            parts_found = threads.map(partial(worked, seed, env=env), parts)
            for count, part in enumerate(parts_found, start=1):
                found += part
                _report(min(count * _A_WORKER, inputs), inputs, found, begin)
    return found


def _report(done: int, inputs: int, found: Sequence[Finding], begin: float) -> None:
    took = time.monotonic() - begin
    line = f"{done} of {inputs} inputs, {len(found)} findings, {took:.0f} s"
    sys.stderr.write(f"{line}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign, or a worker of it; return the exit code."""
    parser = argparse.ArgumentParser(prog="fuzz_inspect", description="Fuzz inspect.")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--findings", type=Path, help="where such inputs are written")
    parser.add_argument("--worker", type=int, metavar="FIRST", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.worker is not None:
        work(given.seed, range(given.worker, given.worker + given.inputs))
        return 0
    found = campaign(given.seed, given.inputs, given.jobs)
    seeds = corpus()
    for finding in found:
        sys.stdout.write(f"seed {given.seed}, input {finding.number}: {finding.what}\n")
        if given.findings is not None:
            given.findings.mkdir(parents=True, exist_ok=True)
            path = given.findings / f"{given.seed}-{finding.number}"
            path.write_bytes(mutated(seeds, given.seed, finding.number))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
