"""What a run holds on this host: written down before it is made, struck out when gone.

A file a run, <cache>/held/<run-id>.jsonl. Its first line says which process the run is,
every other that a thing is held, or held no longer. A killed run leaves its record, and
`clean` removes what that names and nothing else. Links have no lines: every one lies in
a network namespace, which takes it along.

Read first: Thing, replay, Record.
"""

import enum
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.errors import StoreError
from testbed.user import cache_dir

SUFFIX = ".jsonl"
_STATE, _START = 0, 19  # fields 3 and 22 of /proc/PID/stat, after the name: proc(5)


class Kind(enum.Enum):
    """What a thing is, which says how it is removed."""

    PROCESS = "process"
    MOUNT = "mount"
    FILE = "file"
    #: With all that is in it.
    FOLDER = "folder"
    #: Made if it was not there, and shared with others: it goes only if empty.
    PLACE = "place"
    #: The folder of one run of a variant, which may hold results.
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that a run made. at: its path, or a process's id.

    start: when a process began, in clock ticks since boot: ids are used again.
    """

    kind: Kind
    at: str
    start: int = 0

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.kind.value} {self.at}"

    def is_gone(self) -> bool:
        """Tell whether nothing is left of it on this host."""
        if self.kind is Kind.PROCESS:
            return process_start(int(self.at)) != self.start
        if self.kind is Kind.MOUNT:
            return self.at not in mount_points()
        return not os.path.lexists(self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that a run is. boot: of the kernel it ran under.

    host: whose caches may be seen from others, such as those of a shared home.
    """

    run: str
    pid: int
    start: int
    boot: str
    host: str

    def is_elsewhere(self) -> bool:
        """Tell whether it ran on another host, and may be going there."""
        return self.host != os.uname().nodename

    def is_alive(self) -> bool:
        """Tell whether the run is still going."""
        return self.boot == boot_id() and process_start(self.pid) == self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a record says. owner: None if its line is not there.  things: as made."""

    owner: Owner | None
    things: tuple[Thing, ...]


def replay(text: str) -> Replayed:
    """Return what is held at the end of a record.

    A line that was cut says nothing: a thing is held before it is made and let go after
    it is gone, so the line that a death cut is never needed.
    """
    owner: Owner | None = None
    things: dict[Thing, None] = {}
    for line in text.split("\n"):
        said = _said(line)
        if "owner" in said:
            owner = _owner(said["owner"]) or owner
        for word, change in (("hold", things.setdefault), ("release", things.pop)):
            thing = _thing(said.get(word))
            if thing is not None:
                change(thing, None)
    return Replayed(owner=owner, things=tuple(things))


def _said(line: str) -> Mapping[str, object]:
    try:
        said = json.loads(line) if line else {}
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _owner(value: object) -> Owner | None:
    try:
        return Owner(**value)  # type: ignore[arg-type]  # whatever was read
    except TypeError:
        return None


def _thing(value: object) -> Thing | None:
    if not isinstance(value, dict):
        return None
    try:
        return Thing(**{**value, "kind": Kind(value.get("kind"))})
    except (TypeError, ValueError):
        return None


class Record:
    """The record of one run, for the run itself. Any of its threads may write to it.

    path: None writes nothing down, for a machine that is tried by hand.
    """

    def __init__(self, run_id: str, path: Path | None = None) -> None:
        self.run_id = run_id
        self._path = path

    def hold(self, thing: Thing) -> None:
        """Write down that a thing is about to be made."""
        self._append({"hold": _plain(thing)})

    def release(self, thing: Thing) -> None:
        """Strike a thing out that is no more."""
        self._append({"release": _plain(thing)})

    def note_process(self) -> None:
        """Write this very process down: called by a child, before it runs a program."""
        pid = os.getpid()
        start = process_start(pid) or 0
        self.hold(Thing(kind=Kind.PROCESS, at=str(pid), start=start))

    @contextmanager
    def holding(self, thing: Thing, undo: Callable[[], None]) -> Iterator[None]:
        """Hold a thing for a block that makes it first; undo removes it, made or not.

        If undo raises, the thing stays in the record.
        """
        self.hold(thing)
        try:
            yield
        finally:
            undo()
            self.release(thing)

    @contextmanager
    def scratch(self, folder: Path) -> Iterator[Path]:
        """Make a folder that is gone, with all that is in it, after the block."""
        thing = Thing(kind=Kind.FOLDER, at=str(folder))
        with self.holding(thing, lambda: shutil.rmtree(folder, ignore_errors=True)):
            folder.mkdir()
            yield folder

    def close(self) -> None:
        """Remove the record if nothing is left of all it names."""
        if self._path is None:
            return
        with suppress(OSError):  # else `clean` finds it, and that there is nothing
            things = replay(self._path.read_text()).things
            if all(each.is_gone() for each in things):
                self._path.unlink()

    def _append(self, said: Mapping[str, object]) -> None:
        if self._path is not None:
            append(self._path, said)


@contextmanager
def recording(run_id: str) -> Iterator[Record]:
    """Keep the record of a run that this process is."""
    path = held_dir() / (run_id + SUFFIX)
    pid = os.getpid()
    owner = Owner(
        run=run_id,
        pid=pid,
        start=process_start(pid) or 0,
        boot=boot_id(),
        host=os.uname().nodename,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    record = Record(run_id, path)
    try:
        append(path, {"owner": asdict(owner)})
        yield record
    finally:
        record.close()


def append(path: Path, said: Mapping[str, object]) -> None:
    """Add a line to a record that is there. Appends of several threads do not mix."""
    # The line before may be one that a death cut: begin on a line of our own.
    line = f"\n{json.dumps(said)}\n".encode()
    try:
        # Not O_CREAT: a record that somebody removed must not come back without owner.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            whole = os.write(descriptor, line) == len(line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    if not whole:
        raise StoreError(f"{path}: the disk is full")


def strike(path: Path, thing: Thing) -> None:
    """Strike a thing out of another run's record."""
    append(path, {"release": _plain(thing)})


def _plain(thing: Thing) -> dict[str, object]:
    return {"kind": thing.kind.value, "at": thing.at, "start": thing.start}


def held_dir() -> Path:
    """Return where this user's records are; it need not exist yet."""
    return cache_dir() / "held"


def process_start(pid: int) -> int | None:
    """Return when a process began, in ticks since boot; None if it is over."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # a name may hold anything, also ")"
    return None if fields[_STATE] in "ZX" else int(fields[_START])


def boot_id() -> str:
    """Return what names this boot of the kernel: process ids mean nothing in others."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def mount_points() -> frozenset[str]:
    """Return where something is mounted, as this process sees it."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return frozenset(_unescape(line.split()[4]) for line in lines)


def _unescape(text: str) -> str:
    """Undo the kernel's \\040 for a space, and its like: proc_pid_mountinfo(5)."""
    for escaped, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n")):
        text = text.replace(escaped, plain)
    return text.replace("\\134", "\\")
