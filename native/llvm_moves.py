"""Byte moves as LLVM's code: unaligned loads and stores, memcpy, prefetch and steps of CRC-32C.

numba has none of them. None checks a bound: the caller has just compared every length with the end.
`interpreted` has the twin of each, with the same name.
"""

import sys
from typing import TYPE_CHECKING, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from cordwood.records.kernels.layout import WIDE

if TYPE_CHECKING:
    from collections.abc import Callable

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


def _loader(bits: int, *, is_big: bool = True) -> "Callable[..., object]":
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


def _storer(bits: int, *, is_big: bool = False) -> "Callable[..., object]":
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
) -> "Callable[..., object]":
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


#: The step of a CRC-32C over a number of bits: LLVM's intrinsic, and the bits of its checksum.
_CRC_STEPS: Final = {
    ("x86_64", 64): ("llvm.x86.sse42.crc32.64.64", 64),
    ("x86_64", 8): ("llvm.x86.sse42.crc32.32.8", 32),
    ("aarch64", 64): ("llvm.aarch64.crc32cx", 32),
    ("aarch64", 8): ("llvm.aarch64.crc32cb", 32),
}
_POLYNOMIAL: Final = 0x82F63B78


def _crc_step(bits: int, processor: str) -> "Callable[..., object]":
    """Return the step of a checksum over `bits` bits of the source, for this processor."""
    word = ir.IntType(bits)

    def step(
        _typing: "Typing", _crc: types.Type, source: types.Type, place: types.Type
    ) -> tuple["Signature", object]:
        def generate(
            context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
        ) -> ir.Value:
            address = _address(context, builder, signature.args[1], (args[1], args[2]))
            value = builder.load(builder.bitcast(address, word.as_pointer()), align=1)
            return _with_crc(builder, args[0], value, processor=processor)

        return types.int64(types.int64, source, place), generate

    return intrinsic(step)  # type: ignore[no-any-return]  # numba has no types


def _with_crc(builder: ir.IRBuilder, crc: ir.Value, value: ir.Value, *, processor: str) -> ir.Value:
    """Return the checksum after `value`: by the instruction, else bit by bit."""
    whole, bits = ir.IntType(64), value.type.width
    if (processor, bits) not in _CRC_STEPS:
        crc = builder.xor(crc, value if bits == 64 else builder.zext(value, whole))
        for _ in range(bits):
            factor = builder.neg(builder.and_(crc, whole(1)))
            crc = builder.xor(builder.lshr(crc, whole(1)), builder.and_(factor, whole(_POLYNOMIAL)))
        return crc
    name, width = _CRC_STEPS[processor, bits]
    state = ir.IntType(width)
    argument = ir.IntType(32) if bits == 8 and processor == "aarch64" else value.type
    kind = ir.FunctionType(state, [state, argument])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    crc = crc if width == 64 else builder.trunc(crc, state)
    value = value if argument == value.type else builder.zext(value, argument)
    crc = builder.call(function, [crc, value])
    return crc if width == 64 else builder.zext(crc, whole)


def moves(processor: str) -> "dict[str, Callable[..., object]]":
    """Return the moves for a processor by the names of their twins.

    The processor is `x86_64` or `aarch64` if it has the instruction for CRC-32C.
    """
    return {
        "wrapping_sum": _combiner(ir.IRBuilder.add),
        "wrapping_product": _combiner(ir.IRBuilder.mul),
        "folded_product": _combiner(_folded),
        "byte_at": _byte_at,
        "load_8": _loader(8),
        "load_16": _loader(16),
        "load_32": _loader(32),
        "load_64": _loader(64),
        "word_at": _loader(64, is_big=False),
        "store_8": _storer(8),
        "store_16": _storer(16),
        "store_32": _storer(32),
        "store_64": _storer(64),
        "store_big_16": _storer(16, is_big=True),
        "store_big_32": _storer(32, is_big=True),
        "store_big_64": _storer(64, is_big=True),
        "soon_written": _soon_written,
        "copy": _copy,
        "copy_wide": _copy_wide,
        "crc_step_8": _crc_step(64, processor),
        "crc_step_1": _crc_step(8, processor),
    }
