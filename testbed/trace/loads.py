"""Whole numbers out of a byte buffer, at any offset; for kernels.

The caller has checked that the bytes are there.
"""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

from testbed.trace.jit import COMPILED, Bytes, Table, inlined

Load = Callable[[Bytes, int], int]
Prefetch = Callable[[Table, int], None]


def _compiled(size: int, *, big: bool) -> Load:
    """Return a single load instruction, which numba by itself makes many of."""

    @intrinsic
    def load(_typing: Any, data: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, values[0])
            kind = ir.IntType(8 * size)
            place = builder.gep(view.data, [values[1]])
            value = builder.load(builder.bitcast(place, kind.as_pointer()), align=1)
            if big and size > 1:
                value = builder.bswap(value)
            return builder.zext(value, ir.IntType(64))

        return numba.int64(data, numba.int64), generate

    loaded: Any = load
    return loaded  # type: ignore[no-any-return]  # an intrinsic is called as a Load


def _plain(size: int, *, big: bool) -> Load:
    def load(data: Bytes, at: int) -> int:
        return int.from_bytes(bytes(data[at : at + size]), "big" if big else "little")

    return load


def _compiled_prefetch() -> Prefetch:
    """Return the instruction that has the cache fetch what will be written soon."""

    @intrinsic
    def fetch(_typing: Any, table: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, values[0])
            number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
            place = builder.bitcast(builder.gep(view.data, [values[1]]), pointer)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            function = builder.module.declare_intrinsic(
                "llvm.prefetch", [pointer], kind
            )
            builder.call(function, [place, number(1), number(3), number(1)])
            return context.get_dummy_value()

        return numba.void(table, numba.int64), generate

    fetched: Any = fetch
    return fetched  # type: ignore[no-any-return]


def _plain_prefetch(_table: Table, _at: int) -> None:
    return


#: Has the cache fetch the line of a table that an offset is in: words, not rows.
prefetch: Prefetch = _compiled_prefetch() if COMPILED else _plain_prefetch

_make = _compiled if COMPILED else _plain
u8 = _make(1, big=True)
be16 = _make(2, big=True)
be32 = _make(4, big=True)
le16 = _make(2, big=False)
le32 = _make(4, big=False)


@inlined
def word(data: Bytes, at: int, big: int) -> int:
    """Return four bytes in the byte order that a file has."""
    return be32(data, at) if big else le32(data, at)


@inlined
def half(data: Bytes, at: int, big: int) -> int:
    """Return two bytes in the byte order that a file has."""
    return be16(data, at) if big else le16(data, at)


@inlined
def signed(value: int, bits: int) -> int:
    """Return what the low bits of a number say in two's complement."""
    low = value & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits)


@inlined
def be64(data: Bytes, at: int) -> int:
    """Return eight bytes as a signed number, so that 64 bits hold it."""
    return signed(be32(data, at), 32) << 32 | be32(data, at + 4)
