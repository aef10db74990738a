"""Vectors of whole numbers for Numba kernels, written as instructions of LLVM.

Numba vectorises only long loops. An alignment has short ones: twelve transpositions, or sixty-four melodies, at each of
a few hundred places. So a kernel here works on values that hold many numbers at once:

    load(array, place, wide)       the numbers of an array from a place on; `wide` is a vector of the kind that is wanted
    store(array, place, vector)    write them
    spread(number, wide)           the same number everywhere
    plus, minus                    addition and subtraction; bytes stop at -128 and 127
    higher, lower                  the larger, the smaller of two, number by number
    where_equal(a, b, yes, no)     `yes` where a and b are equal, otherwise `no`
    largest(vector)                the largest of its numbers
    SHORT, LONG                    vectors of zeros: 64 bytes, 16 numbers of 32 bits
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

__all__ = ["higher", "largest", "load", "longs", "lower", "minus", "bytes_", "plus", "spread", "store", "where_equal"]


class _Vector(types.Type):
    def __init__(self, bits: int, lanes: int) -> None:
        self.bits, self.lanes = bits, lanes
        super().__init__(name=f"Vector{bits}x{lanes}")

    @property
    def llvm(self) -> ir.VectorType:
        return ir.VectorType(ir.IntType(self.bits), self.lanes)


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.llvm)  # type: ignore[no-untyped-call]


_BYTES, _LONGS = _Vector(8, 64), _Vector(32, 16)


def _zeros(kind: _Vector) -> Any:
    def made(_typing: Any) -> Any:
        return kind(), lambda *_: ir.Constant(kind.llvm, [0] * kind.lanes)

    return made


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any, kind: _Vector) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), kind.llvm.as_pointer())


def _load(_typing: Any, array: Any, place: Any, wide: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], values[0], values[1], signature.args[2])
        return builder.load(pointer, align=1)

    return wide(array, place, wide), code


def _store(_typing: Any, array: Any, place: Any, vector: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], values[0], values[1], signature.args[2])
        builder.store(values[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, place, vector), code


def _spread(_typing: Any, number: Any, wide: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[1]
        small = context.cast(builder, values[0], signature.args[0], types.int8 if kind.bits == 8 else types.int32)
        one = builder.insert_element(ir.Constant(kind.llvm, ir.Undefined), small, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.lanes), [0] * kind.lanes)
        return builder.shuffle_vector(one, ir.Constant(kind.llvm, ir.Undefined), zeros)

    return wide(number, wide), code


def _arithmetic(capped: str, plain: str) -> Any:
    def made(_typing: Any, left: Any, right: Any) -> Any:
        def code(_context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = signature.args[0]
            if kind.bits != 8:
                return getattr(builder, plain)(*values)
            function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module,
                ir.FunctionType(kind.llvm, [kind.llvm, kind.llvm]),
                f"llvm.{capped}.sat.v{kind.lanes}i{kind.bits}",
            )
            return builder.call(function, values)

        return left(left, right), code

    return made


def _extreme(sign: str) -> Any:
    def made(_typing: Any, left: Any, right: Any) -> Any:
        def code(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            return builder.select(builder.icmp_signed(sign, *values), *values)

        return left(left, right), code

    return made


def _where_equal(_typing: Any, left: Any, right: Any, yes: Any, no: Any) -> Any:
    def code(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.select(builder.icmp_signed("==", values[0], values[1]), values[2], values[3])

    return left(left, right, yes, no), code


def _largest(_typing: Any, vector: Any) -> Any:
    def code(_context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(ir.IntType(kind.bits), [kind.llvm]),
            f"llvm.vector.reduce.smax.v{kind.lanes}i{kind.bits}",
        )
        return builder.sext(builder.call(function, values), ir.IntType(64))

    return types.int64(vector), code


# Any, because what they are called with are values of the kernels.
bytes_: Any = intrinsic(_zeros(_BYTES))
longs: Any = intrinsic(_zeros(_LONGS))
load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
spread: Any = intrinsic(_spread)
plus: Any = intrinsic(_arithmetic("sadd", "add"))
minus: Any = intrinsic(_arithmetic("ssub", "sub"))
higher: Any = intrinsic(_extreme(">"))
lower: Any = intrinsic(_extreme("<"))
where_equal: Any = intrinsic(_where_equal)
largest: Any = intrinsic(_largest)
