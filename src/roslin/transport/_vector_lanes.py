"""Lanes in vector registers: operations for Numba kernels, written as instructions of LLVM.

Numba vectorises only long loops over arrays. The search adds up short lines of numbers, thirty-two sums at a time, and
throws most of them away: as loops that takes several times as long (docs/decisions/exact-search.md). The compiler makes
of each operation what the processor has: one, two or four instructions. `_lanes` says what each operation does.

This uses parts of Numba that may change; `_plain_lanes` does the same without them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from roslin.kernels import kernel
from roslin.transport._plain_lanes import LANES

__all__ = [
    "add_excess",
    "add_missing",
    "add_products",
    "first_bit",
    "last_bit",
    "lower",
    "no_lanes",
    "trial",
    "within",
]

_I16 = ir.IntType(16)
_LANES = ir.VectorType(_I16, LANES)
_BYTES = ir.VectorType(ir.IntType(8), LANES)


class _LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = _LanesType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _LANES)  # type: ignore[no-untyped-call]


def _start(context: Any, builder: Any, array_type: Any, array: Any, place: Any, kind: ir.VectorType) -> Any:
    """Where the 32 numbers of an array from a place on lie in memory."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _loaded(context: Any, builder: Any, array_type: Any, array: Any, place: Any, kind: ir.VectorType) -> Any:
    """The 32 numbers of an array from a place on."""
    return builder.load(_start(context, builder, array_type, array, place, kind), align=1)


def _spread(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The same number in all lanes."""
    small = context.cast(builder, value, kind, types.uint16)
    one = builder.insert_element(ir.Constant(_LANES, ir.Undefined), small, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_LANES, ir.Undefined), zeros)


def _capped(builder: Any, name: str, left: Any, right: Any) -> Any:
    """Addition that stops at the largest number, or subtraction that stops at 0."""
    kind = ir.FunctionType(_LANES, [_LANES, _LANES])
    function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, kind, f"llvm.{name}.sat.v{LANES}i16"
    )
    return builder.call(function, [left, right])


def _no_lanes(_typing: Any) -> Any:
    """Thirty-two zeros."""
    return _lanes(), lambda *_: ir.Constant(_LANES, [0] * LANES)


def _add_products(_typing: Any, lanes: Any, array: Any, place: Any, factor: Any) -> Any:
    """Add `factor` times the 32 bytes from `place` on. The products must be below 65536."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args
        numbers = builder.zext(_loaded(context, builder, kinds[1], values[1], values[2], _BYTES), _LANES)
        products = builder.mul(numbers, _spread(context, builder, kinds[3], values[3]))
        return _capped(builder, "uadd", values[0], products)

    return _lanes(lanes, array, place, factor), code


def _add_excess(_typing: Any, lanes: Any, array: Any, place: Any, value: Any) -> Any:
    """Add what the 32 numbers from `place` on have above `value`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args
        numbers = _loaded(context, builder, kinds[1], values[1], values[2], _LANES)
        excess = _capped(builder, "usub", numbers, _spread(context, builder, kinds[3], values[3]))
        return _capped(builder, "uadd", values[0], excess)

    return _lanes(lanes, array, place, value), code


def _add_missing(_typing: Any, lanes: Any, array: Any, place: Any, value: Any) -> Any:
    """Add what the 32 numbers from `place` on have below `value`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args
        numbers = _loaded(context, builder, kinds[1], values[1], values[2], _LANES)
        missing = _capped(builder, "usub", _spread(context, builder, kinds[3], values[3]), numbers)
        return _capped(builder, "uadd", values[0], missing)

    return _lanes(lanes, array, place, value), code


def _lower(_typing: Any, array: Any, place: Any, others: Any, start: Any) -> Any:
    """Make the 32 bytes from `place` on no larger than the 32 of `others` from `start` on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args
        old = _loaded(context, builder, kinds[0], values[0], values[1], _BYTES)
        new = _loaded(context, builder, kinds[2], values[2], values[3], _BYTES)
        least = builder.select(builder.icmp_unsigned("<", new, old), new, old)
        builder.store(least, _start(context, builder, kinds[0], values[0], values[1], _BYTES), align=1)
        return context.get_dummy_value()

    return types.void(array, place, others, start), code


def _within(_typing: Any, lanes: Any, most: Any) -> Any:
    """Which lanes are not above `most`: bit k of the result for lane k."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        limit = _spread(context, builder, signature.args[1], values[1])
        bits = builder.icmp_unsigned("<=", values[0], limit)
        return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(lanes, most), code


def _first_bit(_typing: Any, word: Any) -> Any:
    """The number of the lowest bit of a word that is not 0."""

    def code(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(word), code


def _last_bit(_typing: Any, word: Any) -> Any:
    """The number of the highest bit of a word that is not 0."""

    def code(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        zeros = builder.ctlz(values[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(word), code


# Any, because what they are called with are values of the kernels.
no_lanes: Any = intrinsic(_no_lanes)
add_products: Any = intrinsic(_add_products)
add_excess: Any = intrinsic(_add_excess)
add_missing: Any = intrinsic(_add_missing)
lower: Any = intrinsic(_lower)
within: Any = intrinsic(_within)
first_bit: Any = intrinsic(_first_bit)
last_bit: Any = intrinsic(_last_bit)


@kernel
def trial(numbers: Any, shorts: Any, high: Any) -> Any:
    """Every operation once, on bytes and shorts that count from 0: `_lanes` knows what must come out."""
    sums = add_products(no_lanes(), numbers, 1, 3)
    sums = add_missing(add_excess(sums, shorts, 0, 10), shorts, 0, 20)
    lower(high, 1, numbers, 0)
    bits = within(sums, 70)
    return bits if first_bit(bits) <= last_bit(bits) else bits + bits
