"""Run directories: facts only, void until proven whole.

    <out>/<experiment>/<run-id>/report.html
    <out>/<experiment>/<run-id>/<variant>/<repeat>/run.json, sender.pcapng, ...

run.json is written before anything starts, and says "void". Only when every other file
is in place is it replaced, in one rename, by one that says "whole". So a run that was
killed at any moment is void, without anybody having to clean up after it.
"""

import errno
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.errors import SpecError, StoreError
from testbed.spec.codec import decode, encode
from testbed.spec.experiment import Experiment, Variant
from testbed.spec.kernel import KernelIdentity

FORMAT = 1
RECORD = "run.json"
_NEVER_FINISHED = "it never finished: the program or the machine was stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One variant, run once: what was asked for, on what, and where its files are.

    state: "whole" or "void", and why it is void.  command: what reproduces it.
    """

    format: int
    state: str
    why: str
    run_id: str
    experiment: Experiment
    variant: str
    repeat: int
    seed: int
    machine: str
    clock: str
    kernel: KernelIdentity
    command: str
    version: str
    wall_seconds: float
    virtual_seconds: float
    folder: Path

    @property
    def whole(self) -> bool:
        """Tell whether the run may be measured."""
        return self.state == "whole"

    def spec(self) -> Variant:
        """Return the variant as it was run, every setting resolved."""
        found = (each for each in self.experiment.variants if each.name == self.variant)
        return next(found)

    def capture(self, where: str) -> Path:
        """Return the capture taken at the "sender" or the "receiver", if any was."""
        return self.folder / f"{where}.pcapng"

    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """Return nstat's deltas: "sender" and "receiver" to counter to value."""
        return dict(self._read("counters.json"))

    def tcp_info(self) -> list[dict[str, int]]:
        """Return the sender's TCP_INFO samples, in the order they were taken."""
        return list(self._read("tcp_info.json"))

    def workload(self) -> Mapping[str, Any]:
        """Return the sender's own account: bytes, begin_ns, end_ns, elapsed_ns.

        Of many flows, or transactions, also "flows", the same of each.
        """
        return dict(self._read("workload.json"))

    def latency_ns(self) -> list[int]:
        """Return how long each transaction took, as they ended; none of a stream."""
        found = (self.folder / "latency.json").is_file()
        return list(self._read("latency.json")) if found else []

    def environment(self) -> Mapping[str, Any]:
        """Return what the run ran on, as the lab described it."""
        return dict(self._read("environment.json"))

    def decisions(self) -> Path:
        """Return what the kernel said of each packet's size; no file: it did not."""
        return self.folder / "decisions.csv"

    def has_decisions(self) -> bool:
        """Tell whether the run's kernel told of its decisions; either file says so."""
        return self.decisions().exists() or (self.folder / "decisions.json").exists()

    def lost_decisions(self) -> int:
        """Return how many packets' decisions did not fit the kernel's buffer."""
        return int(self._read("decisions.json")["lost"])

    def _read(self, name: str) -> Any:  # JSON
        return _read_json(self.folder / name)


def new_run_id() -> str:
    """Return a name for a set of runs that sorts by time and that nobody else has."""
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{now}-{secrets.token_hex(2)}"


def begin(run: Run) -> Run:
    """Make the run's folder and mark it void; return the run."""
    with explained(run.folder):
        run.folder.mkdir(parents=True)
    void = replace(run, state="void", why=_NEVER_FINISHED)
    _write_record(void)
    return void


def void(run: Run, why: str) -> Run:
    """Say why the run is void; return it."""
    failed = replace(run, state="void", why=why)
    _write_record(failed)
    return failed


def finish(run: Run, *, wall_seconds: float, virtual_seconds: float) -> Run:
    """Mark the run whole, now that every file of it is in place; return it."""
    whole = replace(
        run,
        state="whole",
        why="",
        wall_seconds=wall_seconds,
        virtual_seconds=virtual_seconds,
    )
    _write_record(whole)
    return whole


def load_runs(folder: Path) -> tuple[Run, ...]:
    """Return the runs below a run-id folder, in the experiment's order of variants.

    Of the folder of one variant in it, those of that variant.  Raises SpecError if
    there are none, StoreError if one cannot be read.
    """
    records = sorted(folder.glob(f"*/*/{RECORD}"))
    if not records and (own := sorted(folder.glob(f"*/{RECORD}"))):
        repeats = [load_run(path.parent) for path in own]
        return tuple(sorted(repeats, key=lambda run: run.repeat))
    if not records:
        raise SpecError(f"{folder}: no runs here (no */*/{RECORD})")
    runs = [load_run(path.parent) for path in records]
    order = [each.name for each in runs[0].experiment.variants]
    found = {(run.variant, run.repeat) for run in runs}
    for variant in order:
        for repeat in {run.repeat for run in runs}:
            if (variant, repeat) not in found:
                raise StoreError(f"{folder}: {variant}/{repeat} is missing")
    return tuple(sorted(runs, key=lambda run: (order.index(run.variant), run.repeat)))


def load_run(folder: Path) -> Run:
    """Return the run stored in a folder."""
    stored = _read_json(folder / RECORD)
    found = stored.get("format") if isinstance(stored, dict) else None
    if found != FORMAT:
        raise StoreError(
            f"{folder / RECORD}: format {found!r}; this version reads {FORMAT}"
        )
    try:
        return decode(Run, {**stored, "folder": str(folder.absolute())})
    except SpecError as error:
        raise StoreError(f"{folder / RECORD}: {error}") from error


def is_whole(folder: Path) -> bool:
    """Say whether a folder holds a run that came to its end."""
    try:
        return load_run(folder).whole
    except StoreError:  # killed before it had written that much
        return False


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with explained(path):
        if path.is_dir():  # also one without a name of its own, such as / or .
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part = path.with_name(f".{path.name}.part")
        try:
            with part.open("w") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _write_record(run: Run) -> None:
    facts = encode(run)
    del facts["folder"]  # where it is, is where it was found
    write_text(run.folder / RECORD, json.dumps(facts, indent=1) + "\n")


def _read_json(path: Path) -> Any:
    with explained(path):
        text = path.read_text()
    try:
        return json.loads(text)
    except ValueError as error:
        raise StoreError(f"{path}: not JSON: {error}") from error


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError of the block, such as a full disk, into a StoreError of path."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
