"""CRC-32C by the processor's instruction equals that of the vendor's wheel."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.crc32c import (
    LANE,
    first_wrong,
    first_wrong_by_instruction,
    first_wrong_by_wheel,
    seal,
    seal_by_instruction,
    seal_by_wheel,
)
from cordwood.records.kernels.kernel_definition import HAS_CRC_INSTRUCTION, Bytes, Words
from cordwood.records.record_batch import RecordBatch

SIZES = (0, 1, 7, 8, 9, 3 * LANE - 61, 3 * LANE, 3 * LANE + 1, 6 * LANE + 5, 20_000)


def run_of(*sizes: int) -> tuple[Bytes, Words]:
    """Return batches whose values have these sizes, and the table that a scan would make."""
    data = bytearray()
    table = np.zeros((len(sizes), at.TABLE_WIDTH), np.int64)
    for row, size in enumerate(sizes):
        builder = BatchBuilder(BatchFields(base_offset=row))
        builder.append(None, bytes(index * 37 & 0xFF for index in range(size)))
        batch = RecordBatch(builder.build())
        table[row, at.T_ACTION] = at.ROWS
        table[row, at.T_POSITION] = len(data)
        table[row, at.T_CRC] = batch.crc
        data += batch.data
        table[row, at.T_DATA_END] = len(data)
    source = np.frombuffer(bytes(data), np.uint8)
    return source, table


Find: TypeAlias = Callable[[Bytes, Words, int], int]
Seal: TypeAlias = Callable[[Bytes, Words, int], None]
FIRST_WRONG = (first_wrong_by_instruction, first_wrong_by_wheel)
SEALS = (seal_by_instruction, seal_by_wheel)


def test_instruction_is_used_where_the_processor_has_it() -> None:
    assert first_wrong is FIRST_WRONG[not HAS_CRC_INSTRUCTION]
    assert seal is SEALS[not HAS_CRC_INSTRUCTION]


@pytest.mark.parametrize("find", FIRST_WRONG)
def test_first_wrong_finds_no_wrong_checksum_at_any_size(find: Find) -> None:
    source, table = run_of(*SIZES)

    assert find(source, table, len(SIZES)) == len(SIZES)


@pytest.mark.parametrize("row", range(len(SIZES)))
@pytest.mark.parametrize("find", FIRST_WRONG)
def test_first_wrong_names_the_row_of_a_changed_byte(find: Find, row: int) -> None:
    source, table = run_of(*SIZES)
    changed = source.copy()
    changed[int(table[row, at.T_DATA_END]) - 1] ^= 0x80
    changed.flags.writeable = False

    assert find(changed, table, len(SIZES)) == row


@pytest.mark.parametrize("find", FIRST_WRONG)
def test_first_wrong_ignores_skipped_rows(find: Find) -> None:
    source, table = run_of(10, 10)
    table[0, at.T_CRC] ^= 1
    table[0, at.T_ACTION] = at.SKIP

    assert find(source, table, 2) == 2
    assert find(source, table, 0) == 0


@pytest.mark.parametrize("write", SEALS)
def test_write_computes_the_checksums(write: Seal) -> None:
    source, table = run_of(*SIZES)
    slab = source.copy()
    for position in table[:, at.T_POSITION]:
        slab[position + 17 : position + 21] = 0

    write(slab, table, len(SIZES))

    assert slab.tobytes() == source.tobytes()


@pytest.mark.parametrize("write", SEALS)
def test_write_ignores_skipped_rows(write: Seal) -> None:
    source, table = run_of(10, 10)
    table[0, at.T_ACTION] = at.SKIP
    slab = np.zeros(len(source), np.uint8)

    write(slab, table, 1)

    assert not slab.any()
