"""Byte moves that numba lacks: unaligned loads and stores, and LLVM's memcpy.

None of them checks a bound: the caller has just compared every length with the end. Numbers in
batches are big-endian, columns are in native order (little-endian on every platform with fast LLVM
vectors). Without the JIT each is a plain function that does the same and checks its bounds.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from cordwood.records.kernels import interpreted
from cordwood.records.kernels.layout import WIDE
from cordwood.records.kernels.numba_jit import IS_COMPILED, Bytes, Words

if TYPE_CHECKING:
    from numba.core.typing import Signature
    from numba.core.typing.context import BaseContext as Typing

_IS_LITTLE = sys.byteorder == "little"


def _pointer(
    context: object, builder: ir.IRBuilder, array: types.Array, value: ir.Value
) -> ir.Value:
    """The address of an array's first byte."""
    struct = cgutils.create_struct_proxy(array)(context, builder, value)
    return struct.data


def _address(
    context: object, builder: ir.IRBuilder, array: types.Array, pair: tuple[ir.Value, ir.Value]
) -> ir.Value:
    """The address of one byte of an array."""
    return builder.gep(_pointer(context, builder, array, pair[0]), [pair[1]])


def _loader(bits: int, *, is_big: bool = True) -> "Callable[[Bytes, int], int]":
    """Make the load of a signed number of this many bits, big-endian or in the machine's order."""
    word = ir.IntType(bits)

    def load(_typing: "Typing", source: types.Type, at: types.Type) -> tuple["Signature", object]:
        def generate(
            context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
        ) -> ir.Value:
            address = _address(context, builder, signature.args[0], (args[0], args[1]))
            value = builder.load(builder.bitcast(address, word.as_pointer()), align=1)
            if is_big and _IS_LITTLE and bits > 8:
                value = builder.bswap(value)
            return value if bits == 64 else builder.sext(value, ir.IntType(64))

        return types.int64(source, at), generate

    return intrinsic(load)  # type: ignore[no-any-return]  # numba has no types


def _storer(bits: int, *, is_big: bool = False) -> "Callable[[Bytes, int, int], None]":
    """Make the store of the low bits of a number, in the machine's order or big-endian."""
    word = ir.IntType(bits)

    def store(
        _typing: "Typing", slab: types.Type, at: types.Type, _value: types.Type
    ) -> tuple["Signature", object]:
        def generate(
            context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
        ) -> ir.Value:
            address = _address(context, builder, signature.args[0], (args[0], args[1]))
            low = args[2] if bits == 64 else builder.trunc(args[2], word)
            if is_big and _IS_LITTLE:
                low = builder.bswap(low)
            builder.store(low, builder.bitcast(address, word.as_pointer()), align=1)
            return context.get_dummy_value()  # type: ignore[attr-defined]  # numba has no types

        return types.void(slab, at, types.int64), generate

    return intrinsic(store)  # type: ignore[no-any-return]  # numba has no types


@intrinsic
def _byte_at(_typing: "Typing", source: types.Type, at: types.Type) -> tuple["Signature", object]:
    """One byte as a number from 0 to 255."""

    def generate(
        context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
    ) -> ir.Value:
        address = _address(context, builder, signature.args[0], (args[0], args[1]))
        return builder.zext(builder.load(address), ir.IntType(64))

    return types.int64(source, at), generate


@intrinsic
def _copy(
    _typing: "Typing",
    slab: types.Type,
    to: types.Type,
    source: types.Type,
    at: types.Type,
    size: types.Type,
) -> tuple["Signature", object]:
    """LLVM's memcpy from one array into another."""

    def generate(
        context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
    ) -> ir.Value:
        target = _address(context, builder, signature.args[0], (args[0], args[1]))
        origin = _address(context, builder, signature.args[2], (args[2], args[3]))
        cgutils.raw_memcpy(builder, target, origin, args[4], 1)
        return context.get_dummy_value()  # type: ignore[attr-defined]  # numba has no types

    return types.void(slab, to, source, at, size), generate


@intrinsic
def _copy_wide(
    _typing: "Typing", slab: types.Type, to: types.Type, source: types.Type, at: types.Type
) -> tuple["Signature", object]:
    """WIDE bytes in one unaligned load and one unaligned store."""
    vector = ir.VectorType(ir.IntType(8), WIDE).as_pointer()

    def generate(
        context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
    ) -> ir.Value:
        target = _address(context, builder, signature.args[0], (args[0], args[1]))
        origin = _address(context, builder, signature.args[2], (args[2], args[3]))
        wide = builder.load(builder.bitcast(origin, vector), align=1)
        builder.store(wide, builder.bitcast(target, vector), align=1)
        return context.get_dummy_value()  # type: ignore[attr-defined]  # numba has no types

    return types.void(slab, to, source, at), generate


@intrinsic
def _soon_written(
    _typing: "Typing", slab: types.Type, to: types.Type
) -> tuple["Signature", object]:
    """LLVM's prefetch of an element's line of the cache, for writing; any address will do."""
    word = ir.IntType(32)

    def generate(
        context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
    ) -> ir.Value:
        element = _address(context, builder, signature.args[0], (args[0], args[1]))
        address = builder.bitcast(element, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(prefetch, [address, word(1), word(3), word(1)])
        return context.get_dummy_value()  # type: ignore[attr-defined]  # numba has no types

    return types.void(slab, to), generate


def _combiner(
    combined: "Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]",
) -> "Callable[[int, int], int]":
    """Return an operation on two words that may wrap; LLVM assumes that numba's own never do."""

    def combine(
        _typing: "Typing", _left: types.Type, _right: types.Type
    ) -> tuple["Signature", object]:
        def generate(
            _context: object, builder: ir.IRBuilder, _signature: "Signature", args: list[ir.Value]
        ) -> ir.Value:
            return combined(builder, args[0], args[1])

        return types.int64(types.int64, types.int64), generate

    return intrinsic(combine)  # type: ignore[no-any-return]  # numba has no types


def _folded(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    """Both halves of the product of two words without sign, the one xor the other."""
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(left, wide), builder.zext(right, wide))
    upper = builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))
    return builder.xor(upper, builder.trunc(product, ir.IntType(64)))


Load: TypeAlias = Callable[[Bytes, int], int]
Store: TypeAlias = Callable[[Bytes, int, int], None]
Copy: TypeAlias = Callable[[Bytes, int, Bytes, int, int], None]
CopyWide: TypeAlias = Callable[[Bytes, int, Bytes, int], None]

Combine: TypeAlias = Callable[[int, int], int]

wrapping_sum: Combine = _combiner(ir.IRBuilder.add) if IS_COMPILED else interpreted.wrapping_sum
wrapping_product: Combine = (
    _combiner(ir.IRBuilder.mul) if IS_COMPILED else interpreted.wrapping_product
)
folded_product: Combine = _combiner(_folded) if IS_COMPILED else interpreted.folded_product
byte_at: Load = _byte_at if IS_COMPILED else interpreted.byte_at
load_8: Load = _loader(8) if IS_COMPILED else interpreted.load_8
load_16: Load = _loader(16) if IS_COMPILED else interpreted.load_16
load_32: Load = _loader(32) if IS_COMPILED else interpreted.load_32
load_64: Load = _loader(64) if IS_COMPILED else interpreted.load_64
word_at: Load = _loader(64, is_big=False) if IS_COMPILED else interpreted.word_at
store_8: Store = _storer(8) if IS_COMPILED else interpreted.store_8
store_16: Store = _storer(16) if IS_COMPILED else interpreted.store_16
store_32: Store = _storer(32) if IS_COMPILED else interpreted.store_32
store_64: Store = _storer(64) if IS_COMPILED else interpreted.store_64
store_big_16: Store = _storer(16, is_big=True) if IS_COMPILED else interpreted.store_big_16
store_big_32: Store = _storer(32, is_big=True) if IS_COMPILED else interpreted.store_big_32
store_big_64: Store = _storer(64, is_big=True) if IS_COMPILED else interpreted.store_big_64
soon_written: Callable[[Bytes | Words, int], None] = (
    _soon_written if IS_COMPILED else interpreted.soon_written
)
copy: Copy = _copy if IS_COMPILED else interpreted.copy
copy_wide: CopyWide = _copy_wide if IS_COMPILED else interpreted.copy_wide
