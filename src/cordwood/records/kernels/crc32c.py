"""CRC-32C of v2 batches by the processor's instruction: compared for a run, or written.

One instruction takes eight bytes and three cycles, and three of them run in parallel. So a block
has three lanes, each with a checksum of its own, joined at the end. Joining moves a checksum over
as many zero bytes as a lane has, which is linear and thus four table lookups. Three near places in
order also suit the memory: from memory this is twice as fast as the wheel, whose lanes are far
apart. Without the instruction, or without the JIT, the wheel is used.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from cordwood.core.binary import crc32c
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.intrinsics import store_big_32
from cordwood.records.kernels.numba_jit import (
    INT,
    IS_COMPILED,
    NOTHING,
    SLAB,
    SOURCE,
    TABLE,
    Bytes,
    Words,
    inlined,
    kernel,
)

if TYPE_CHECKING:
    from numba.core.typing import Signature
    from numba.core.typing.context import BaseContext as Typing

CRC_AT: Final = 17
CRC_START: Final = 21
LANE: Final = 256
_POLYNOMIAL: Final = 0x82F63B78
_ALL_ONES: Final = 0xFFFFFFFF

HAS_INSTRUCTION: Final = IS_COMPILED and bool(binding.get_host_cpu_features().get("sse4.2"))


def _over_zeros(count: int) -> list[list[int]]:
    """Return the effect of `count` zero bytes on each byte of a checksum: one table per byte."""
    moved = [1 << bit for bit in range(32)]
    for _ in range(8 * count):
        moved = [crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0) for crc in moved]
    tables = []
    for first in range(0, 32, 8):
        table = [0]
        for crc in moved[first : first + 8]:
            table += [crc ^ other for other in table]
        tables.append(table)
    return tables


_JOIN = np.array(_over_zeros(LANE), np.int64)


def _stepper(bits: int, name: str) -> "Callable[[int, Bytes, int], int]":
    """Return the step of a checksum over `bits` bits of the source."""
    word, state = ir.IntType(bits), ir.IntType(max(bits, 32))

    def step(
        _typing: "Typing", _crc: types.Type, source: types.Type, place: types.Type
    ) -> tuple["Signature", object]:
        def generate(
            context: object, builder: ir.IRBuilder, signature: "Signature", args: list[ir.Value]
        ) -> ir.Value:
            array = cgutils.create_struct_proxy(signature.args[1])(context, builder, args[1])
            address = builder.bitcast(builder.gep(array.data, [args[2]]), word.as_pointer())
            kind = ir.FunctionType(state, [state, word])
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            crc = args[0] if bits == 64 else builder.trunc(args[0], state)
            crc = builder.call(function, [crc, builder.load(address, align=1)])
            return crc if bits == 64 else builder.zext(crc, ir.IntType(64))

        return types.int64(types.int64, source, place), generate

    return intrinsic(step)  # type: ignore[no-any-return]  # numba has no types


def first_wrong_by_wheel(source: Bytes, table: Words, count: int) -> int:
    """Return the first row of a run with a wrong checksum; `count` without one."""
    view = source.data
    columns = [at.T_ACTION, at.T_POSITION, at.T_DATA_END, at.T_CRC]
    for row, (action, position, end, crc) in enumerate(table[:count, columns].tolist()):
        if action != at.SKIP and crc32c(view[position + CRC_START : end]) != crc:
            return row
    return count


def seal_by_wheel(slab: Bytes, table: Words, count: int) -> None:
    """Write the checksums of finished batches, from T_POSITION to T_DATA_END."""
    view = slab.data
    columns = [at.T_ACTION, at.T_POSITION, at.T_DATA_END]
    for action, position, end in table[:count, columns].tolist():
        if action != at.SKIP:
            crc = crc32c(view[position + CRC_START : end])
            view[position + CRC_AT : position + CRC_AT + 4] = crc.to_bytes(4)


first_wrong: Callable[[Bytes, Words, int], int] = first_wrong_by_wheel
seal: Callable[[Bytes, Words, int], None] = seal_by_wheel

if HAS_INSTRUCTION:
    _step_8 = _stepper(64, "llvm.x86.sse42.crc32.64.64")
    _step_1 = _stepper(8, "llvm.x86.sse42.crc32.32.8")

    @inlined
    def _joined(crc: int, following: int) -> int:
        """Return the checksum of two lanes from their single ones."""
        moved = _JOIN[0, crc & 0xFF] ^ _JOIN[1, crc >> 8 & 0xFF]
        moved ^= _JOIN[2, crc >> 16 & 0xFF] ^ _JOIN[3, crc >> 24 & 0xFF]
        return int(moved ^ following)

    @inlined
    def _crc32c(source: Bytes, position: int, end: int) -> int:
        """Return the CRC-32C of a range of the source."""
        crc = _ALL_ONES
        while position + 3 * LANE <= end:
            second, third = 0, 0
            for place in range(position, position + LANE, 8):
                crc = _step_8(crc, source, place)
                second = _step_8(second, source, place + LANE)
                third = _step_8(third, source, place + 2 * LANE)
            crc = _joined(_joined(crc, second), third)
            position += 3 * LANE
        while position + 8 <= end:
            crc = _step_8(crc, source, position)
            position += 8
        while position < end:
            crc = _step_1(crc, source, position)
            position += 1
        return crc ^ _ALL_ONES

    @kernel(INT, SOURCE, TABLE, INT)
    def _first_wrong(source: Bytes, table: Words, count: int) -> int:
        """Do the same as `first_wrong_by_wheel`."""
        for row in range(count):
            if table[row, at.T_ACTION] != at.SKIP:
                start = table[row, at.T_POSITION] + CRC_START
                if _crc32c(source, start, table[row, at.T_DATA_END]) != table[row, at.T_CRC]:
                    return row
        return count

    @kernel(NOTHING, SLAB, TABLE, INT)
    def _seal(slab: Bytes, table: Words, count: int) -> None:
        """Do the same as `seal_by_wheel`."""
        for row in range(count):
            if table[row, at.T_ACTION] != at.SKIP:
                position = table[row, at.T_POSITION]
                crc = _crc32c(slab, position + CRC_START, table[row, at.T_DATA_END])
                store_big_32(slab, position + CRC_AT, crc)

    first_wrong, seal = _first_wrong, _seal
