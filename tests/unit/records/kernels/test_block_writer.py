"""Records of a block are written to columns: selection, capacity, and one loop per column."""

import sys

import numpy as np
import pytest

from cordwood.records.decoder import Chunking, ReadRequest, Selection
from cordwood.records.kernels import block as in_block
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.block import new_block, note, zigzagged
from cordwood.records.kernels.block_writer import (
    fitting,
    put_contents,
    put_numbers,
    time_base,
    wanted,
)
from cordwood.records.kernels.chunk_builder import ChunkBuilder
from cordwood.records.kernels.kernel_definition import Bytes, Words
from tests.unit.records.kernels.words import canvas_of, empty_table, source_of

#: Four records: keys of 2 bytes, values of 3 but for the third, which is null; headers behind one.
SOURCE = source_of(b"k0abck1defk2k3xyz" + b"\x02\x02h\x02v" + bytes(64))
ENDS = ((2, 5), (7, 10), (12, 12), (14, 17))


def block_of_four() -> Bytes:
    block = new_block()
    for row, (key_end, value_end) in enumerate(ENDS):
        note(block, in_block.B_OFFSET, row, 2 * row)
        note(block, in_block.B_TIMESTAMP, row, zigzagged(10 * row))
        note(block, in_block.B_KEY, row, key_end)
        note(block, in_block.B_KEY + 1, row, 4)
        note(block, in_block.B_VALUE, row, value_end)
        note(block, in_block.B_VALUE + 1, row, 1 if row == 2 else 6)
    note(block, in_block.B_HEADER_COST, 3, 18)
    return block


def batch_of_four(*, sequence: int = -1, attributes: int = 0) -> Words:
    batch: Words = empty_table(1)[0]
    batch[at.T_BASE_OFFSET], batch[at.T_BASE_TIMESTAMP] = 100, 1000
    batch[at.T_MAX_TIMESTAMP], batch[at.T_ATTRIBUTES] = 5000, attributes
    batch[at.T_BASE_SEQUENCE] = sequence
    return batch


def spans(selection: Selection) -> list[tuple[int, int]]:
    """Return the ranges of selected records, to the end of the block."""
    plan, found = canvas_of(ReadRequest(selection=selection)).plan, [(0, 0)]
    while found[-1][1] < len(ENDS):
        found.append(wanted(batch_of_four(), block_of_four(), (found[-1][1], 4), plan))
    return [(first, end) for first, end in found if first < end]


def column(canvas: ChunkBuilder, word: int, dtype: type[np.generic], rows: int) -> list[int]:
    begin = int(canvas.plan[word])
    found: list[int] = (
        canvas.slab[begin : begin + rows * np.dtype(dtype).itemsize].view(dtype).tolist()
    )
    return found


@pytest.mark.parametrize(
    ("selection", "expected"),
    (
        (Selection(), [(0, 4)]),
        (Selection(first_offset=101, last_offset=102), [(1, 3)]),
        (Selection(min_timestamp=1010), [(1, 4)]),
        (Selection(max_timestamp=1015), [(0, 2)]),
        (Selection(first_offset=104), []),
        (Selection(last_offset=99), []),
    ),
)
def test_records_are_selected_when_both_ranges_contain_them(
    selection: Selection, expected: list[tuple[int, int]]
) -> None:
    assert spans(selection) == expected


def test_records_are_selected_in_ranges() -> None:
    plan, block = (
        canvas_of(ReadRequest(selection=Selection(min_timestamp=1005))).plan,
        block_of_four(),
    )
    note(block, in_block.B_TIMESTAMP, 2, 0)

    first = wanted(batch_of_four(), block, (0, 4), plan)

    assert (first, wanted(batch_of_four(), block, (2, 4), plan)) == ((1, 2), (3, 4))


@pytest.mark.parametrize(("attributes", "expected"), ((0, (1000, -1)), (8, (5000, 0))))
def test_time_is_the_brokers_when_it_stamped_the_batch(
    attributes: int, expected: tuple[int, int]
) -> None:
    assert time_base(batch_of_four(attributes=attributes)) == expected


@pytest.mark.parametrize(
    ("columns", "cost"),
    ((("key",), 8), (("value",), 9), (("headers",), 18), (("key", "value"), 17), (("offset",), 0)),
)
def test_cost_of_records_covers_the_selected_columns(columns: tuple[str, ...], cost: int) -> None:
    canvas = canvas_of(ReadRequest(columns=columns))
    assert len(canvas.slab) > 0

    assert fitting(block_of_four(), (0, 4), canvas.plan, canvas.state) == 4
    assert int(canvas.state[at.F_BYTES]) == cost


@pytest.mark.parametrize(
    ("chunking", "rows", "expected"),
    (
        (Chunking(max_bytes=35), 0, (4, 35, 0)),
        (Chunking(max_bytes=34), 0, (3, 12, 23)),
        (Chunking(max_bytes=11), 0, (2, 10, 2)),
        (Chunking(max_bytes=4), 0, (0, 0, 5)),
        (Chunking(max_rows=4), 0, (4, 35, 0)),
        (Chunking(max_rows=4), 1, (3, 12, 23)),
        (Chunking(max_rows=4), 4, (0, 0, 5)),
    ),
)
def test_records_fit_when_rows_and_bytes_are_left(
    chunking: Chunking, rows: int, expected: tuple[int, int, int]
) -> None:
    canvas = canvas_of(ReadRequest(chunking=chunking))
    assert len(canvas.slab) > 0
    canvas.state[at.F_ROWS] = rows

    last = fitting(block_of_four(), (0, 4), canvas.plan, canvas.state)

    assert (last, *canvas.state[[at.F_BYTES, at.F_NEEDED]].tolist()) == expected


def test_records_fit_when_there_is_no_bound_to_rows() -> None:
    canvas = canvas_of(ReadRequest(columns=("offset",)))
    assert len(canvas.slab) > 0
    canvas.plan[at.P_MAX_ROWS] = (1 << 63) - 1

    assert fitting(block_of_four(), (2, 4), canvas.plan, canvas.state) == 4


@pytest.mark.parametrize(
    ("sequence", "attributes", "sequences", "timestamps"),
    (
        (7, 0, [8, 9], [1010, 1020]),
        (-1, 8, [-1, -1], [5000, 5000]),
        ((1 << 31) - 2, 0, [(1 << 31) - 1, 0], [1010, 1020]),
    ),
)
def test_numbers_are_written_at_the_current_row_of_the_chunk(
    sequence: int, attributes: int, sequences: list[int], timestamps: list[int]
) -> None:
    canvas = canvas_of(ReadRequest())
    canvas.slab[:] = 0
    canvas.state[at.F_ROWS] = 2
    batch = batch_of_four(sequence=sequence, attributes=attributes)

    put_numbers(batch, block_of_four(), (1, 3), canvas.slab, canvas.plan, canvas.state)

    assert column(canvas, at.P_OFFSET, np.int64, 5) == [0, 0, 101, 102, 0]
    assert column(canvas, at.P_TIMESTAMP, np.int64, 5) == [0, 0, *timestamps, 0]
    assert column(canvas, at.P_SEQUENCE, np.int32, 5) == [0, 0, *sequences, 0]


def test_no_data_is_written_without_selected_columns() -> None:
    plan, state = np.full(at.PLAN_WORDS, -1, np.int64), np.zeros(at.STATE_WORDS, np.int64)
    slab = np.zeros(0, np.uint8)

    put_numbers(batch_of_four(), block_of_four(), (0, 4), slab, plan, state)
    put_contents(SOURCE, block_of_four(), (0, 4), slab, plan, state)

    assert not state.any()


def test_contents_are_copied_behind_each_other() -> None:
    canvas = canvas_of(ReadRequest())
    assert len(canvas.slab) > 0

    put_contents(SOURCE, block_of_four(), (0, 2), canvas.slab, canvas.plan, canvas.state)
    canvas.state[at.F_ROWS] = 2
    put_contents(SOURCE, block_of_four(), (2, 4), canvas.slab, canvas.plan, canvas.state)

    data = {word: int(canvas.plan[word]) for word in (at.P_KEY_DATA, at.P_VALUE_DATA)}
    assert column(canvas, at.P_KEY, np.int32, 5) == [0, 2, 4, 6, 8]
    assert column(canvas, at.P_VALUE, np.int32, 5) == [0, 3, 6, 6, 9]
    assert column(canvas, at.P_HEADERS, np.int32, 5) == [0, 0, 0, 0, 1]
    assert canvas.slab[data[at.P_KEY_DATA] :][:8].tobytes() == b"k0k1k2k3"
    assert canvas.slab[data[at.P_VALUE_DATA] :][:9].tobytes() == b"abcdefxyz"
    assert canvas.state[[at.F_KEY_NULLS, at.F_VALUE_NULLS, at.F_HEADERS]].tolist() == [0, 1, 1]
    assert int(canvas.slab[canvas.plan[at.P_VALUE_BITS]]) == 0b11111011


def test_contents_are_views_under_a_view_plan() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",), is_view=True))
    assert len(canvas.slab) > 0

    put_contents(SOURCE, block_of_four(), (1, 3), canvas.slab, canvas.plan, canvas.state)

    begin = int(canvas.plan[at.P_VALUE])
    assert canvas.slab[begin : begin + 32].tobytes() == (
        (3).to_bytes(4, sys.byteorder) + b"def".ljust(12, b"\0") + bytes(16)
    )
    assert int(canvas.state[at.F_VALUE_NULLS]) == 1
