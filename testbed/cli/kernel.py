"""The verbs of `kernel`: list, build, show and remove. These print, as cli does."""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from testbed.cli.options import add_quiet
from testbed.kernels import cache
from testbed.kernels.build import cached, ensure
from testbed.kernels.limit import (
    DEFAULT_BYTES,
    VARIABLE,
    items,
    limit_bytes,
    remove_named,
)
from testbed.kernels.registry import load_kernels, nearest_kernel
from testbed.kernels.resolve import find_recipe, resolve, with_files, without
from testbed.kernels.sources import APT_SOURCES, linux_version
from testbed.progress import watching
from testbed.report.numbers import listed
from testbed.spec.codec import encode
from testbed.spec.kernel import Arch, Kernel

_DEFAULT = "6.12"
_HASH_DIGITS = 12
_WIDTH = 180
_GB = 1 << 30
_NS_PER_S = 1_000_000_000


def add_kernel(kernel: argparse.ArgumentParser) -> None:
    """Add the verbs and their options to the parser of `kernel`."""
    verbs = kernel.add_subparsers(required=True, metavar="VERB")
    shown = verbs.add_parser("list", help="known and built kernels, and the cache")
    shown.set_defaults(command=_list)
    _add_build(
        verbs.add_parser("build", help="build a kernel, or find it in the cache")
    )
    show = verbs.add_parser("show", help="the identity of a kernel (built if need be)")
    show.add_argument("name", nargs="?", default=_DEFAULT)
    _add_arch(show)
    add_quiet(show)
    show.set_defaults(command=_show)
    remove = verbs.add_parser("remove", help="remove kernels or build folders")
    remove.add_argument(
        "names", nargs="+", metavar="NAME", help="as `kernel list` has it"
    )
    remove.set_defaults(command=_remove)


def _add_build(build: argparse.ArgumentParser) -> None:
    build.add_argument(
        "kernel",
        nargs="?",
        help="what to start from: a name, or NAME+FILE; with --source, what fits that",
    )
    build.add_argument("--name", help="what to call it, for run --kernel NAME")
    build.add_argument(
        "--source",
        type=Path,
        help="a git tree, a tree, a tarball, or an apt package (linux-source-6.1)",
    )
    _add_files(
        build,
        "--patch",
        "a diff, a patch of git format-patch, or an mbox with a series; in order",
    )
    _add_files(build, "--config", "a fragment, on top of testbed's own")
    build.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PATCH",
        help="one of testbed's own patches that is not to be in it",
    )
    _add_arch(build)
    build.add_argument(
        "--cache-limit",
        metavar="SIZE",
        help=f"what the cache may grow to (default {DEFAULT_BYTES // _GB}GB, or "
        f"{VARIABLE}); what was used least recently goes first",
    )
    add_quiet(build)
    build.set_defaults(command=_build)


def _add_files(verb: argparse.ArgumentParser, option: str, meaning: str) -> None:
    verb.add_argument(
        option, type=Path, action="append", default=[], metavar="FILE", help=meaning
    )


def _add_arch(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--arch",
        type=Arch,
        default=Arch.UM,
        choices=tuple(Arch),
        metavar="{" + ",".join(each.value for each in Arch) + "}",
        help="um, which runs by itself (default), or x86_64, a bzImage for QEMU",
    )


def _build(arguments: argparse.Namespace) -> int:
    limit = limit_bytes(arguments.cache_limit)
    kernel = recipe_of(arguments)
    with watching(Console(stderr=True), quiet=arguments.quiet) as watch:
        built = ensure(kernel, partial(watch.kernel, kernel.name), limit)
    print(built.image)
    return 0


def recipe_of(arguments: argparse.Namespace) -> Kernel:
    """Return what `kernel build` is asked to build."""
    source: Path | None = arguments.source
    if arguments.kernel or source is None:
        kernel = find_recipe(arguments.kernel or _DEFAULT, arguments.arch)
    else:
        fits = linux_version(source)
        kernel = (
            nearest_kernel(fits, arguments.arch)
            if fits
            else find_recipe(_DEFAULT, arguments.arch)
        )
    if source is not None and _is_package(source):
        kernel = replace(kernel, source=None, package=str(source))
    elif source is not None:
        kernel = replace(kernel, source=source, package=None)
    kernel = without(kernel, arguments.without)
    kernel = with_files(kernel, arguments.patch, arguments.config)
    return replace(kernel, name=arguments.name or kernel.name)


def _is_package(source: Path) -> bool:
    installed = APT_SOURCES / f"{source}.tar.xz"
    return len(source.parts) == 1 and not source.exists() and installed.is_file()


def _list(_arguments: argparse.Namespace) -> int:
    heads = ("kernel", "release", "arch", "source", "patches", "config", "size", "used")
    table = Table(*heads, box=None, pad_edge=False)
    for name, kernel in load_kernels().items():
        if cached(kernel) is None:
            table.add_row(name, "(not built)", "", kernel.about)
    for entry in cache.entries():
        table.add_row(*_row(entry))
    found = items()
    folders = Table("build folder", "size", "used", box=None, pad_edge=False)
    for item in found:
        if item.kind != "kernel":
            folders.add_row(item.name, _size(item.size), _when(item.used_ns))
    console = Console(soft_wrap=True)
    console.width = max(console.width, _WIDTH)  # below, rich would crop names
    console.print(table)
    if folders.row_count:
        console.print(folders)
    console.print(
        f"cache: {_size(sum(item.size for item in found))} of {_size(limit_bytes())} "
        f"({VARIABLE}, or kernel build --cache-limit); used least recently goes first",
        highlight=False,
    )
    return 0


def _row(entry: cache.Entry) -> tuple[str, ...]:
    known = entry.built.identity
    ours = len(entry.recipe.patches if entry.recipe else known.patches)
    return (
        known.name,
        known.release,
        known.arch,
        known.commit or known.source,
        listed([str(ours), *known.patches[ours:]]),
        known.config_sha256[:_HASH_DIGITS],
        _size(entry.size),
        _when(entry.used_ns),
    )


def _show(arguments: argparse.Namespace) -> int:
    with watching(Console(stderr=True), quiet=arguments.quiet) as watch:
        built = resolve(
            arguments.name, partial(watch.kernel, arguments.name), arguments.arch
        )
    print(json.dumps({"image": str(built.image), **encode(built.identity)}, indent=1))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    for name in arguments.names:
        for item in remove_named(name):
            print(f"removed the {item.kind} {item.name}, {_size(item.size)}")
    return 0


def _size(size: int) -> str:
    return f"{size / _GB:.1f} GB" if size >= _GB else f"{size / (1 << 20):.1f} MB"


def _when(ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(ns // _NS_PER_S))
