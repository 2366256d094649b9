"""CRC-32C of v2 batches by the processor's instruction: compared for a run, or written.

One instruction takes eight bytes and three cycles, and three of them run in parallel. So a block
has three lanes, each with a checksum of its own, joined at the end. Joining moves a checksum over
as many zero bytes as a lane has, which is linear and thus four table lookups. Three near places in
order also suit the memory: from memory this is twice as fast as the wheel, whose lanes are far
apart. Without the instruction, or in an interpreted run, the wheel is used.
"""

from collections.abc import Callable
from typing import Final, cast

from cordwood.core.binary import Buffer, crc32c
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.header_scan import has_batch
from cordwood.records.kernels.intrinsics import crc_step_1, crc_step_8, store_big_32
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    HAS_CRC_INSTRUCTION,
    INT,
    IS_COMPILED,
    NOTHING,
    SLAB,
    SOURCE,
    Bytes,
    Words,
    inlined,
    kernel,
)

CRC_AT: Final = 17
CRC_START: Final = 21
LANE: Final = 256
_POLYNOMIAL: Final = 0x82F63B78
_ALL_ONES: Final = 0xFFFFFFFF


def _applied(matrix: list[int], crc: int) -> int:
    """Return the product of a matrix of bits and a checksum; the matrix has a column per bit."""
    product = 0
    for column in matrix:
        if crc & 1:
            product ^= column
        crc >>= 1
    return product


def _over_zeros(count: int) -> list[list[int]]:
    """Return the effect of `count` zero bytes, a power of two, on each byte of a checksum: one
    table per byte.
    """
    moved = [_POLYNOMIAL, *(1 << bit for bit in range(31))]  # the effect of one bit
    for _ in range((8 * count).bit_length() - 1):
        moved = [_applied(moved, column) for column in moved]
    tables = []
    for first in range(0, 32, 8):
        table = [0]
        for crc in moved[first : first + 8]:
            table += [crc ^ other for other in table]
        tables.append(table)
    return tables


def _joining() -> Words:
    """Return the tables for joining lanes; compiled kernels contain them."""
    if IS_COMPILED:
        return cast("Words", None)
    import numpy as np  # noqa: PLC0415  # not where kernels are compiled

    return np.array(_over_zeros(LANE), np.int64)


_JOIN = _joining()


def first_wrong_by_wheel(source: Bytes, table: Words, count: int) -> int:
    """Return the first row of a run with a wrong checksum; `count` without one."""
    view = memoryview(cast("Buffer", source))
    for row in range(count):
        start, end = table[row, at.T_POSITION] + CRC_START, table[row, at.T_DATA_END]
        if table[row, at.T_ACTION] != at.SKIP and crc32c(view[start:end]) != table[row, at.T_CRC]:
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
            crc = crc_step_8(crc, source, place)
            second = crc_step_8(second, source, place + LANE)
            third = crc_step_8(third, source, place + 2 * LANE)
        crc = _joined(_joined(crc, second), third)
        position += 3 * LANE
    while position + 8 <= end:
        crc = crc_step_8(crc, source, position)
        position += 8
    while position < end:
        crc = crc_step_1(crc, source, position)
        position += 1
    return crc ^ _ALL_ONES


@kernel(INT, SOURCE, BATCH_ROWS, INT)
def first_wrong_by_instruction(source: Bytes, table: Words, count: int) -> int:
    """Do the same as `first_wrong_by_wheel`; a row outside of the source is wrong."""
    for row in range(min(count, len(table))):
        if table[row, at.T_ACTION] != at.SKIP:
            if not has_batch(source, table[row]):
                return row
            start = table[row, at.T_POSITION] + CRC_START
            if _crc32c(source, start, table[row, at.T_DATA_END]) != table[row, at.T_CRC]:
                return row
    return count


@kernel(NOTHING, SLAB, BATCH_ROWS, INT)
def seal_by_instruction(slab: Bytes, table: Words, count: int) -> None:
    """Do the same as `seal_by_wheel`, but leave rows outside of the slab out."""
    for row in range(min(count, len(table))):
        if table[row, at.T_ACTION] != at.SKIP and has_batch(slab, table[row]):
            position = table[row, at.T_POSITION]
            crc = _crc32c(slab, position + CRC_START, table[row, at.T_DATA_END])
            store_big_32(slab, position + CRC_AT, crc)


first_wrong: Callable[[Bytes, Words, int], int] = (
    first_wrong_by_instruction if HAS_CRC_INSTRUCTION else first_wrong_by_wheel
)
seal: Callable[[Bytes, Words, int], None] = (
    seal_by_instruction if HAS_CRC_INSTRUCTION else seal_by_wheel
)
