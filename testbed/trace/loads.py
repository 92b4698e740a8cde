"""Whole numbers out of a byte buffer, at any offset; for kernels.

The caller has checked that the bytes are there.
"""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

from testbed.trace.jit import COMPILED, Bytes, kernel

Load = Callable[[Bytes, int], int]


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


def _compiled_prefetch() -> Callable[[Table, int, int], None]:
    """Return the instruction that has the cache fetch a row of a table."""

    @intrinsic
    def fetch(_typing: Any, table: Any, row: Any, column: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, values[0])
            width = builder.extract_value(view.shape, 1)
            at = builder.add(builder.mul(values[1], width), values[2])
            place = builder.bitcast(builder.gep(view.data, [at]), _BYTE.as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), *[_INT] * 3])
            name = "llvm.prefetch.p0i8" if _TYPED else "llvm.prefetch.p0"
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(function, [place, _INT(1), _INT(3), _INT(1)])
            return context.get_dummy_value()

        return numba.void(table, numba.int64, numba.int64), generate

    fetched: Any = fetch
    return fetched  # type: ignore[no-any-return]


_make = _compiled if COMPILED else _plain
u8 = _make(1, big=True)
be16 = _make(2, big=True)
be32 = _make(4, big=True)
le16 = _make(2, big=False)
le32 = _make(4, big=False)


@kernel
def word(data: Bytes, at: int, big: int) -> int:
    """Return four bytes in the byte order that a file has."""
    return be32(data, at) if big else le32(data, at)


@kernel
def half(data: Bytes, at: int, big: int) -> int:
    """Return two bytes in the byte order that a file has."""
    return be16(data, at) if big else le16(data, at)


@kernel
def signed(value: int, bits: int) -> int:
    """Return what the low bits of a number say in two's complement."""
    low = value & ((1 << bits) - 1)
    return low - ((low >> (bits - 1)) << bits)


@kernel
def be64(data: Bytes, at: int) -> int:
    """Return eight bytes as a signed number, so that 64 bits hold it."""
    return signed(be32(data, at), 32) << 32 | be32(data, at + 4)
