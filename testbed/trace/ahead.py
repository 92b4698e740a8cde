"""Compile the kernels that Python calls into a library, so that none waits for numba.

    python -m testbed.trace.ahead      # unless there is one for these very sources

Nothing depends on it but the time it takes to start. See native.py for how entries are
called, and jit.py for what happens without.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

# Set before numba is imported, which reads them then. Whoever sets an option of numba's
# gets numba, not the library; and the library is for any CPU of its kind.
os.environ |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
# What goes into the library need not be kept elsewhere.
os.environ["NUMBA_CACHE_DIR"] = ""

import numba
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from testbed.errors import CommandError, Unavailable
from testbed.files import locked, scratch
from testbed.process import run
from testbed.trace import jit
from testbed.trace.block import Desk, finish, take_in
from testbed.trace.decode import decode
from testbed.trace.state import State, rehashed
from testbed.trace.tally import spill
from testbed.trace.walk import walk_pcap, walk_pcapng
from testbed.user import drop_to_invoking_user

_DEADLINE_S = 120.0
#: A pointer to the words of a call, see native.py.
Frame = Any
#: One of LLVM, which has no types for us; nor have numba's insides.
Module = Any
_arrays: Any = arrayobj
_types: Any = types
_compile: Any = numba.cfunc
_REMEDY = "apt-get install gcc libc6-dev"


def _view_of(item: Any, dimensions: int) -> Callable[[Any, int], Any]:
    """Return what makes an array of the words from a place of a frame on."""
    kind = _types.Array(item, dimensions, "C")

    @intrinsic
    def view(_typing: Any, frame: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            word, size = ir.IntType(64), kind.dtype.bitwidth // 8
            places = [
                builder.gep(values[0], [builder.add(values[1], word(each))])
                for each in range(1 + dimensions)
            ]
            address, *shape = [builder.load(place) for place in places]
            steps = [word(size)]
            for length in reversed(shape[1:]):
                steps.insert(0, builder.mul(steps[0], length))
            array = _arrays.make_array(kind)(context, builder)
            _arrays.populate_array(
                array,
                data=builder.inttoptr(address, array.data.type),
                shape=shape,
                strides=steps,
                itemsize=size,
                meminfo=None,
            )
            return array._getvalue()  # as numba's own do

        return kind(frame, types.int64), generate

    viewed: Any = view
    return viewed  # type: ignore[no-any-return]  # an intrinsic, called as one


_bytes = _view_of(types.uint8, 1)
_row, _table = _view_of(types.int64, 1), _view_of(types.int64, 2)


def _walk_pcap(frame: Frame) -> None:
    frame[0], frame[1] = walk_pcap(
        _bytes(frame, 0), frame[2], frame[3], _row(frame, 4), _table(frame, 6)
    )


def _walk_pcapng(frame: Frame) -> None:
    frame[0], frame[1] = walk_pcapng(
        _bytes(frame, 0),
        (frame[2], frame[3]),
        _row(frame, 4),
        _table(frame, 6),
        _table(frame, 9),
        _row(frame, 12),
    )


def _decode(frame: Frame) -> None:
    frame[0] = decode(
        _bytes(frame, 0),
        _table(frame, 2),
        _table(frame, 5),
        _row(frame, 8),
        _row(frame, 10),
    )


def _take_in(frame: Frame) -> None:
    desk = Desk(
        *(_table(frame, 5), _row(frame, 8), _table(frame, 10), _row(frame, 13)),
        *(_row(frame, 15), _row(frame, 17), _row(frame, 19)),
    )
    state = State(
        _row(frame, 21),
        *(_table(frame, 23), _table(frame, 26), _table(frame, 29)),
        *(_row(frame, 32), _row(frame, 34), _table(frame, 36)),
    )
    frame[0] = take_in(_bytes(frame, 0), _table(frame, 2), desk, state)


def _finish(frame: Frame) -> None:
    desk = Desk(
        *(_table(frame, 0), _row(frame, 3), _table(frame, 5), _row(frame, 8)),
        *(_row(frame, 10), _row(frame, 12), _row(frame, 14)),
    )
    state = State(
        _row(frame, 16),
        *(_table(frame, 18), _table(frame, 21), _table(frame, 24)),
        *(_row(frame, 27), _row(frame, 29), _table(frame, 31)),
    )
    frame[0] = finish(desk, state)


def _rehashed(frame: Frame) -> None:
    rehashed(_row(frame, 0), _row(frame, 2))


def _spill(frame: Frame) -> None:
    spill(_row(frame, 0), _row(frame, 2), _row(frame, 4), _row(frame, 6))


#: The entries by the names of the functions they call.
_ENTRIES = {
    "walk_pcap": _walk_pcap,
    "walk_pcapng": _walk_pcapng,
    "decode": _decode,
    "take_in": _take_in,
    "finish": _finish,
    "rehashed": _rehashed,
    "spill": _spill,
}


def compile_library() -> Path:
    """Compile the library unless it is there; return where it is.

    Raises Unavailable where there is no linker, or no folder to keep it in.
    """
    home = jit.kept_in()
    library = home / jit.LIBRARY
    if not jit.made(home):
        raise Unavailable(f"{home} cannot be written", remedy="set XDG_CACHE_HOME")
    with (
        locked(home.with_name(".lock"), lambda _holder: None),
        scratch(home / ".new") as new,
    ):
        if not library.exists():
            modules = {name: _module(name, entry) for name, entry in _ENTRIES.items()}
            _link(new, modules)
            (new / jit.LIBRARY).rename(library)
    return library


def _module(name: str, wrapper: Callable[[Frame], None]) -> Module:
    """Return an entry with all it calls, under its name."""
    signature = numba.void(_types.CPointer(types.int64))
    compiled = _compile(signature, error_model="numpy", _nrt=False)(wrapper)
    module = binding.parse_assembly(compiled.inspect_llvm())
    module.get_function(compiled.native_name).name = name
    return module


def _link(folder: Path, modules: Mapping[str, Module]) -> None:
    """Write the library: the machine code of all modules, which may stand anywhere."""
    inputs = [folder / "never.c"]
    inputs[0].write_text(_never_called(modules.values()))
    for name, module in modules.items():
        target = binding.Target.from_triple(module.triple)
        machine = target.create_target_machine(opt=3, reloc="pic", codemodel="default")
        inputs.append(folder / f"{name}.o")
        inputs[-1].write_bytes(machine.emit_object(module))
    library = str(folder / jit.LIBRARY)
    argv = ("gcc", "-shared", "-Wl,-Bsymbolic", "-o", library, *map(str, inputs))
    try:
        run(argv, timeout_s=_DEADLINE_S)
    except CommandError as error:
        raise Unavailable(f"it cannot be linked: {error}", remedy=_REMEDY) from None


def _never_called(modules: Iterable[Module]) -> str:
    """Return C for what numba would call to raise an exception; no kernel raises one.

    They have to be there when the library is loaded.
    """
    names = {
        function.name
        for module in modules
        for function in module.functions
        if function.is_declaration and function.name.startswith("numba_")
    }
    return "".join(
        f"void {name}(void) {{ __builtin_trap(); }}\n" for name in sorted(names)
    )


def _main() -> None:
    drop_to_invoking_user()
    try:
        compile_library()
    except Unavailable as error:
        # What it is for is speed alone, so whoever sets up goes on without it.
        sys.stderr.write(f"numba compiles the capture reader when it runs: {error}\n")


if __name__ == "__main__":
    _main()
