"""Single instructions that numba by itself makes many of, or none; see loads.py."""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

from testbed.trace.jit import Bytes, Table

Load = Callable[[Bytes, int], int]
Prefetch = Callable[[Table, int], None]
BitLength = Callable[[int], int]


def load_of(size: int, *, big: bool) -> Load:
    """Return the instruction that loads so many bytes."""

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


def prefetch_of() -> Prefetch:
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


def bit_length_of() -> BitLength:
    """Return the instruction that counts the bits of a number that is not negative."""

    @intrinsic
    def bits(_typing: Any, value: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            word, flag = ir.IntType(64), ir.IntType(1)
            zeros = builder.ctlz(values[0], flag(0))
            return builder.sub(word(64), zeros)

        return numba.int64(value), generate

    counted: Any = bits
    return counted  # type: ignore[no-any-return]
