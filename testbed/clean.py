"""Removing what killed runs left: by their records alone, and nothing else."""

import os
import select
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from testbed.errors import (
    CommandError,
    InfrastructureError,
    SpecError,
    Unavailable,
)
from testbed.files import locked
from testbed.held import (
    SUFFIX,
    Kind,
    Replayed,
    Thing,
    boot_id,
    held_dir,
    process_start,
    replay,
    strike,
)
from testbed.process import run
from testbed.store import is_whole
from testbed.user import filing_as_root

_TIMEOUT_S = 20
_DEATH_MS = 5_000
#: <out>/<experiment>/<run-id>/<variant>/<repeat>: so many folders above may be empty.
_OWN_PARENTS = 3


def clean(only: str | None = None, *, void: bool = False) -> Iterator[str]:
    """Remove what runs left that are over; yield a sentence for all that was done.

    only: of this run alone.  void: the folders of void runs too, which else are named.
    Raises SpecError if that one is still going, Unavailable where it takes root.
    """
    folder = held_dir()
    with locked(folder / ".lock", lambda _holder: None):
        paths = sorted(folder.glob(f"*{SUFFIX}"))
        if only is not None:
            paths = [each for each in paths if each.name == only + SUFFIX]
        if not paths:
            yield f"nothing is held{f' by {only}' if only else ''}"
        for path in paths:
            yield from _clean_one(path, asked=only is not None, void=void)


def _clean_one(path: Path, *, asked: bool, void: bool) -> Iterator[str]:
    said = replay(path.read_text(errors="replace"))
    name = path.name.removesuffix(SUFFIX)
    if why := _why_not_ours(said, name):
        if asked:
            raise SpecError(f"{why}: left alone")
        yield f"{why}: left alone"
        return
    kept = False
    for thing in reversed(said.things):
        told, gone = _end(thing, said, void=void)
        if told:
            yield f"{name}: {told}"
        if gone:
            strike(path, thing)
        kept |= not gone
    if not kept:
        path.unlink()


def _why_not_ours(said: Replayed, name: str) -> str:
    """Say why what a record names is not to be removed; "" if it is."""
    owner = said.owner
    if owner is None:
        damaged = "its record does not say whose it is, and is to be removed by hand"
        return f"{name}: {damaged}" if said.things else ""
    if owner.is_elsewhere():
        return f"{name} ran on another host, {owner.host}"
    if owner.is_alive():
        return f"{name} is still going, as process {owner.pid}"
    return ""


def _end(thing: Thing, said: Replayed, *, void: bool) -> tuple[str, bool]:
    """Remove a thing; return what to say of it, and whether it is held no longer."""
    rebooted = said.owner is not None and said.owner.boot != boot_id()
    if (thing.kind is Kind.PROCESS and rebooted) or thing.is_gone():
        return "", True
    if thing.kind is Kind.RUN and not void and not is_whole(Path(thing.at)):
        return f"{thing.at} is void; `clean --void` removes it", False
    if thing.kind is Kind.RUN and is_whole(Path(thing.at)):
        return f"{thing.at} is whole, and stays", True
    try:
        with filing_as_root():
            _REMOVERS[thing.kind](thing)
    except (PermissionError, CommandError) as error:
        if os.geteuid() == 0:
            raise InfrastructureError(f"cannot remove {thing}: {error}") from error
        raise Unavailable(
            f"{thing} is root's, and was left by {said.owner and said.owner.run}",
            remedy="sudo python -m testbed clean",
        ) from error
    except OSError as error:
        raise InfrastructureError(f"cannot remove {thing}: {error}") from error
    return f"removed {thing}", True


def _kill(thing: Thing) -> None:
    """End a process, through a descriptor: its id cannot become another's meanwhile."""
    try:
        process = os.pidfd_open(int(thing.at))
    except ProcessLookupError:
        return
    try:
        if process_start(int(thing.at)) == thing.start:
            signal.pidfd_send_signal(process, signal.SIGKILL)
            ended = select.poll()
            ended.register(process, select.POLLIN)
            if not ended.poll(_DEATH_MS):
                raise InfrastructureError(f"{thing} does not end")
    except ProcessLookupError:
        return
    finally:
        os.close(process)


def _unmount(thing: Thing) -> None:
    run(("umount", "--lazy", thing.at), timeout_s=_TIMEOUT_S)


def _unlink(thing: Thing) -> None:
    Path(thing.at).unlink(missing_ok=True)


def _remove_folder(thing: Thing) -> None:
    shutil.rmtree(thing.at)


def _leave_place(thing: Thing) -> None:
    with suppress(OSError):  # others have something in it
        Path(thing.at).rmdir()


def _remove_run(thing: Thing) -> None:
    shutil.rmtree(thing.at)
    with suppress(OSError):  # the first that is not empty
        for parent in Path(thing.at).parents[:_OWN_PARENTS]:
            parent.rmdir()


_REMOVERS: Mapping[Kind, Callable[[Thing], None]] = {
    Kind.PROCESS: _kill,
    Kind.MOUNT: _unmount,
    Kind.FILE: _unlink,
    Kind.FOLDER: _remove_folder,
    Kind.PLACE: _leave_place,
    Kind.RUN: _remove_run,
}
