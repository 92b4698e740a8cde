"""kbuild: configure the tree, read back what took, and compile it."""

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BuildError, CommandError
from testbed.files import read_or_none, remove, sha256, write_whole
from testbed.kernels.folder import BuildFolder
from testbed.kernels.kconfig import explain, parse_config, refused, render_config
from testbed.kernels.progress import Counter, OnProgress, built_file
from testbed.kernels.tools import relevant_errors
from testbed.process import Finished, run, stream
from testbed.spec.kernel import Arch

#: What make is asked for.
TARGETS = {Arch.UM: "linux", Arch.X86_64: "bzImage"}

_CONFIGURE_TIMEOUT_S = 600.0
_COMPILE_TIMEOUT_S = 4 * 3600.0  # a guess: 30 times what it took on two busy cores
_STRIP_TIMEOUT_S = 120.0
#: A rebuild after one change prints about this many steps (measured: 12 to 20).
_FEWEST_STEPS = 20
#: A guess, and far more than any one file takes to be written.
_SUSPECT_NS = 10 * 1_000_000_000


def configure(folder: BuildFolder, asked: Mapping[str, str], compiler: str) -> None:
    """Make the .config hold the options asked for and what they need, no more.

    Raises BuildError naming each option that did not take.
    """
    fragment = render_config(asked)
    stamp = sha256(f"{compiler}\n{fragment}".encode()).encode()
    config = folder.out / ".config"
    if config.is_file() and read_or_none(folder.configured) == stamp:
        return
    folder.configured.unlink(missing_ok=True)
    folder.out.mkdir(exist_ok=True)
    write_whole(folder.fragment, fragment.encode())
    with _nothing_torn(folder):
        done = stream(
            make_argv(folder, "allnoconfig", jobs=1),
            lambda _line: None,
            timeout_s=_CONFIGURE_TIMEOUT_S,
            env=make_env({"KCONFIG_ALLCONFIG": str(folder.fragment)}),
            death_signal=signal.SIGTERM,
        )
        folder.log.write_text(done.output)
        if done.status != 0:
            raise _failed("configured", folder, done)
    _read_back(folder, asked, parse_config(config.read_text(), str(config)))
    write_whole(folder.configured, stamp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What make left: the image to boot, and the ELF file that has its build id."""

    image: Path
    elf: Path


def compile_kernel(
    folder: BuildFolder, steps: int, on_progress: OnProgress
) -> Compiled:
    """Run make, and return the stripped executable, or the bzImage.

    steps: how many files a build from nothing was last seen to make, an estimate.
    """
    already = _objects(folder.out)
    expected = int(read_or_none(folder.steps_note) or steps)
    total = max(expected - already, _FEWEST_STEPS)
    counter = Counter("compile", total, on_progress)
    with _nothing_torn(folder), folder.log.open("w", encoding="utf-8") as log:

        def on_line(line: str) -> None:
            log.write(line + "\n")
            if file := built_file(line):
                counter.step(file)

        done = stream(
            make_argv(
                folder, TARGETS[folder.arch], jobs=len(os.sched_getaffinity(0)) + 1
            ),
            on_line,
            timeout_s=_COMPILE_TIMEOUT_S,
            env=make_env({}),
            death_signal=signal.SIGTERM,
        )
        if done.status != 0:
            raise _failed("compiled", folder, done)
    if already == 0:
        folder.size_note.unlink(missing_ok=True)
        write_whole(folder.steps_note, str(counter.done).encode())
    counter.finish(TARGETS[folder.arch])
    if folder.arch is Arch.X86_64:
        image = folder.out / "arch" / "x86" / "boot" / "bzImage"
        return Compiled(image=image, elf=folder.out / "vmlinux")
    stripped = _strip(folder)
    return Compiled(image=stripped, elf=stripped)


def make_argv(folder: BuildFolder, target: str, *, jobs: int) -> tuple[str, ...]:
    """Build the make command for one target."""
    return (
        *("make", "-C", str(folder.tree), f"ARCH={folder.arch.value}"),
        *(f"O={folder.out}", f"-j{jobs}", target),
    )


def make_env(more: Mapping[str, str]) -> dict[str, str]:
    """Return make's environment: nothing of the caller's that could change a kernel."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "TMPDIR")
        if name in os.environ
    }
    constants = {
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_VERSION": "1",
        "KBUILD_BUILD_USER": "testbed",
        "KBUILD_BUILD_HOST": "testbed",
    }
    return {**kept, **constants, **more}


def kernel_release(folder: BuildFolder) -> str:
    """Return what `uname -r` will say."""
    return (folder.out / "include" / "config" / "kernel.release").read_text().strip()


def _objects(out: Path) -> int:
    """Count what is compiled already, but for the tools that configuring builds."""
    objects = [
        path for path in out.rglob("*.[oa]") if out / "scripts" not in path.parents
    ]
    return len(objects)


def _read_back(
    folder: BuildFolder, asked: Mapping[str, str], resolved: Mapping[str, str]
) -> None:
    if wrong := refused(asked, resolved):
        kconfigs = tuple(folder.kconfigs())
        reasons = [explain(option, kconfigs, folder.tree) for option in wrong]
        raise BuildError(
            f"{len(wrong)} options did not take:\n  " + "\n  ".join(reasons),
            remedy="drop them from the fragment, or ask for what they depend on too",
        )


def _failed(verb: str, folder: BuildFolder, done: Finished) -> BuildError:
    if done.timed_out:
        return BuildError(
            f"the kernel could not be {verb}: make was still running at its deadline",
            remedy=f"run the command again, it resumes; the log is {folder.log}",
        )
    reasons = "\n  ".join(relevant_errors(done.output.splitlines()))
    return BuildError(
        f"the kernel could not be {verb}:\n  {reasons}\n  the whole log: {folder.log}",
        remedy="mend what the lines above name: source, patch, option or tool",
    )


@contextlib.contextmanager
def _nothing_torn(folder: BuildFolder) -> Iterator[None]:
    """Run make in here: if the last one was cut off, what it may have torn goes."""
    if folder.making.exists():
        _drop_suspects(folder.out)
    folder.making.touch()
    yield
    folder.making.unlink()


def _drop_suspects(out: Path) -> None:
    """Remove what an interrupted make wrote last: it may be cut short, yet look new."""
    # kbuild writes its headers and notes (dot names) under temporary names itself.
    files = [
        path
        for path in out.rglob("[!.]*")
        if path.is_file() and "include" not in path.relative_to(out).parts
    ]
    newest = max((path.stat().st_mtime_ns for path in files), default=0)
    for path in files:
        if path.stat().st_mtime_ns > newest - _SUSPECT_NS:
            remove(path)


def _strip(folder: BuildFolder) -> Path:
    """Drop the symbols, which are most of the file; the build id note stays."""
    stripped = folder.out / "linux.stripped"
    argv = ("strip", "-o", str(stripped), str(folder.out / "linux"))
    try:
        run(argv, timeout_s=_STRIP_TIMEOUT_S)
    except CommandError as error:
        raise BuildError(str(error), remedy="see what strip says above") from error
    return stripped
