"""Vectors of whole numbers as values of Numba kernels, written as instructions of LLVM.

The compiler makes of each operation what the processor has. `_vectors` says what each of them does. This uses parts of
Numba that may change; `_plain_vectors` does the same without them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from roslin.kernels import kernel

__all__ = [
    "bytes32",
    "bytes64",
    "higher",
    "largest",
    "load",
    "longs16",
    "look_up",
    "lower",
    "minus",
    "narrow",
    "plus",
    "shorts32",
    "shorts64",
    "spread",
    "store",
    "trial",
    "where_equal",
]

_I8, _I16, _I32 = (ir.IntType(bits) for bits in (8, 16, 32))
_ENTRIES = 16


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


def _zeros(bits: int, lanes: int) -> Any:
    kind = _Vector(bits, lanes)

    def made(_typing: Any) -> Any:
        return kind(), lambda *_: ir.Constant(kind.llvm, [0] * kind.lanes)

    return intrinsic(made)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any, kind: ir.VectorType) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _load(_typing: Any, array: Any, place: Any, wide: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], values[0], values[1], signature.args[2].llvm)
        return builder.load(pointer, align=1)

    return wide(array, place, wide), code


def _store(_typing: Any, array: Any, place: Any, vector: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], values[0], values[1], signature.args[2].llvm)
        builder.store(values[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, place, vector), code


def _spread(_typing: Any, number: Any, wide: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[1]
        small = context.cast(builder, values[0], signature.args[0], getattr(types, f"int{kind.bits}"))
        one = builder.insert_element(ir.Constant(kind.llvm, ir.Undefined), small, ir.Constant(_I32, 0))
        return _shuffled(builder, one, [0] * kind.lanes)

    return wide(number, wide), code


def _shuffled(builder: Any, vector: Any, places: list[int]) -> Any:
    """The numbers of a vector that stand at these places."""
    chosen = ir.Constant(ir.VectorType(_I32, len(places)), places)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), chosen)


def _called(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """The result of a function that LLVM knows."""
    kind = ir.FunctionType(result, [each.type for each in arguments])
    function: Any = cgutils.get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]
    return builder.call(function, arguments)


def _arithmetic(name: str, plain: str) -> Any:
    def made(_typing: Any, left: Any, right: Any) -> Any:
        def code(_context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = signature.args[0]
            if kind.bits == 32:  # nothing comes near the ends, and processors have no instruction that stops there
                return getattr(builder, plain)(*values)
            return _called(builder, f"llvm.{name}.sat.v{kind.lanes}i{kind.bits}", kind.llvm, list(values))

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

    return yes(left, right, yes, no), code


def _largest(_typing: Any, vector: Any) -> Any:
    def code(_context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        name = f"llvm.vector.reduce.smax.v{kind.lanes}i{kind.bits}"
        return builder.sext(_called(builder, name, ir.IntType(kind.bits), list(values)), ir.IntType(64))

    return types.int64(vector), code


def _narrow(_typing: Any, sums: Any, wide: Any) -> Any:
    def code(_context: Any, builder: Any, signature: Any, values: Any) -> Any:
        sums_kind, kind = signature.args
        if kind.bits == sums_kind.bits:
            return values[0]
        shift = ir.Constant(sums_kind.llvm, [8] * kind.lanes)
        return builder.trunc(builder.ashr(values[0], shift), kind.llvm)

    return wide(sums, wide), code


def _look_up(_typing: Any, table: Any, place: Any, indices: Any, wide: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        indices_kind, kind = signature.args[2:]
        width = _shuffle_width(context, indices_kind.lanes)
        table_kind = ir.VectorType(ir.IntType(kind.bits), _ENTRIES)
        pointer = _pointer(context, builder, signature.args[0], values[0], values[1], table_kind)
        entries = builder.load(pointer, align=1)
        if kind.bits == 8:
            return _chosen_bytes(builder, entries, values[2], indices_kind.lanes, width)
        eight = ir.Constant(table_kind, [8] * _ENTRIES)
        halves = []
        for each in (entries, builder.lshr(entries, eight)):
            small = builder.trunc(each, ir.VectorType(_I8, _ENTRIES))
            found = _chosen_bytes(builder, small, values[2], indices_kind.lanes, width)
            halves.append(builder.zext(found, kind.llvm))
        return builder.or_(halves[0], builder.shl(halves[1], ir.Constant(kind.llvm, [8] * kind.lanes)))

    return wide(table, place, indices, wide), code


_SHUFFLES = {  # bytes that one instruction looks up: the feature of the processor, and LLVM's name for it
    64: ("+avx512bw", "llvm.x86.avx512.pshuf.b.512"),
    32: ("+avx2", "llvm.x86.avx2.pshuf.b"),
    16: ("+ssse3", "llvm.x86.ssse3.pshuf.b.128"),
}


def _shuffle_width(context: Any, lanes: int) -> int:
    """How many bytes the processor looks up at once; 0 if it cannot, or if Numba does not say."""
    features = str(getattr(context.codegen(), "_tm_features", "")).split(",")
    return next((width for width, (name, _) in _SHUFFLES.items() if name in features and width <= lanes), 0)


def _chosen_bytes(builder: Any, entries: Any, indices: Any, lanes: int, width: int) -> Any:
    """The entry of a table of sixteen bytes for each index."""
    if not width:
        found: Any = ir.Constant(indices.type, [0] * lanes)
        for entry in range(_ENTRIES):
            is_this = builder.icmp_signed("==", indices, ir.Constant(indices.type, [entry] * lanes))
            found = builder.select(is_this, _shuffled(builder, entries, [entry] * lanes), found)
        return found
    table = _shuffled(builder, entries, list(range(_ENTRIES)) * (width // _ENTRIES))
    parts = []
    for start in range(0, lanes, width):
        part = indices if width == lanes else _shuffled(builder, indices, list(range(start, start + width)))
        parts.append(_called(builder, _SHUFFLES[width][1], table.type, [table, part]))
    while len(parts) > 1:
        both = ir.Constant(ir.VectorType(_I32, 2 * parts[0].type.count), list(range(2 * parts[0].type.count)))
        parts = [builder.shuffle_vector(parts[k], parts[k + 1], both) for k in range(0, len(parts), 2)]
    return parts[0]


# Any, because what they are called with are values of the kernels.
bytes32: Any = _zeros(8, 32)
bytes64: Any = _zeros(8, 64)
shorts32: Any = _zeros(16, 32)
shorts64: Any = _zeros(16, 64)
longs16: Any = _zeros(32, 16)
load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
spread: Any = intrinsic(_spread)
plus: Any = intrinsic(_arithmetic("sadd", "add"))
minus: Any = intrinsic(_arithmetic("ssub", "sub"))
higher: Any = intrinsic(_extreme(">"))
lower: Any = intrinsic(_extreme("<"))
where_equal: Any = intrinsic(_where_equal)
largest: Any = intrinsic(_largest)
narrow: Any = intrinsic(_narrow)
look_up: Any = intrinsic(_look_up)


@kernel
def trial(small: Any, large: Any, table: Any, wide_table: Any, out: Any) -> Any:
    """Every operation once: `_vectors` knows what must come out."""
    zero, wide = bytes64(), shorts64()
    first = load(small, 0, zero)
    sums = plus(plus(first, first), spread(3, zero))
    sums = higher(lower(sums, spread(90, zero)), minus(zero, first))
    sums = where_equal(first, spread(7, zero), spread(-5, zero), sums)
    store(out, 0, plus(sums, look_up(table, 1, where_equal(first, zero, zero, spread(9, zero)), zero)))
    found = look_up(wide_table, 0, load(table, 1, zero), wide)
    store(out, 64, narrow(plus(found, load(large, 0, wide)), zero))
    half = look_up(wide_table, 0, load(table, 1, bytes32()), shorts32())
    return largest(narrow(half, shorts32())) + largest(spread(large[1], longs16()))
