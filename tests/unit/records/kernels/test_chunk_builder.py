"""The chunk that is being filled: begun, grown, pointed into, handed out."""

import numpy as np
import pytest

from cordwood.records.decoder import (
    COLUMNS,
    BinaryColumn,
    Chunking,
    ColumnChunk,
    FixedColumn,
    HeadersColumn,
    ReadRequest,
    ViewColumn,
)
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.chunk_builder import ChunkBuilder
from cordwood.records.kernels.kernel_definition import Bytes
from cordwood.records.kernels.slab_pool import SlabPool
from tests.unit.records.kernels.words import canvas_of, source_of

SMALL = Chunking(max_rows=8, max_bytes=100)


def arrays_of(chunk: ColumnChunk) -> list[Bytes]:
    """Every stretch of a chunk that is not empty."""
    found: list[Bytes] = []
    for column in chunk.columns.values():
        match column:
            case FixedColumn():
                found.append(column.numbers.view(np.uint8))
            case BinaryColumn():
                found += [column.starts.view(np.uint8), column.bits]
            case ViewColumn():
                found += [column.views, column.bits]
            case HeadersColumn():
                found += [column.starts.view(np.uint8), column.keys.starts.view(np.uint8)]
                found += [column.values.starts.view(np.uint8), column.values.bits]
    return found


def test_new_chunk_is_empty() -> None:
    canvas = canvas_of(ReadRequest(chunking=SMALL))

    chunk = canvas.take()

    assert chunk.rows == 0
    assert list(chunk.columns) == list(COLUMNS)


def test_builder_fills_one_slab_until_it_is_released() -> None:
    canvas = canvas_of(ReadRequest(chunking=SMALL))
    first = canvas.slab

    assert canvas.slab is first
    held = canvas.take()
    assert canvas.slab is not first
    assert held.rows == 0


def test_builder_reuses_a_returned_slab() -> None:
    canvas = ChunkBuilder(ReadRequest(columns=("offset",), chunking=SMALL), SlabPool())
    address = canvas.slab.ctypes.data

    canvas.take()

    assert canvas.slab.ctypes.data == address


def test_new_chunk_has_no_null_values() -> None:
    canvas = canvas_of(ReadRequest(columns=("key", "value"), chunking=SMALL))

    slab = canvas.slab

    assert [int(slab[canvas.plan[word]]) for word in (at.P_KEY_BITS, at.P_VALUE_BITS)] == [255, 255]


def test_builder_grows_for_one_record() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",), chunking=SMALL))
    canvas.state[at.F_NEEDED] = 5000

    canvas.grow()

    assert (int(canvas.plan[at.P_MAX_ROWS]), int(canvas.plan[at.P_MAX_BYTES])) == (1, 5000)
    assert len(canvas.slab) >= 5000


def test_builder_with_rows_does_not_grow() -> None:
    canvas = canvas_of(ReadRequest(chunking=SMALL))
    canvas.state[at.F_ROWS] = 1

    with pytest.raises(AssertionError, match="only an empty chunk"):
        canvas.grow()


def test_repeated_source_has_one_view_buffer() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",), is_view=True))
    first, second = source_of(b"first"), source_of(b"second")

    for source, begin in ((first, 1), (second, 0), (first, 3)):
        canvas.bind(source, begin, len(source))

    assert (int(canvas.plan[at.P_VIEW_BUFFER]), int(canvas.plan[at.P_VIEW_ORIGIN])) == (0, 1)
    column = canvas.take().columns["value"]
    assert isinstance(column, ViewColumn)
    assert [buffer.tobytes() for buffer in column.buffers] == [b"irst", b"second"]


def test_source_bound_before_its_origin_has_a_new_view_buffer() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",), is_view=True))
    source = source_of(b"source")

    canvas.bind(source, 3, 6)
    canvas.bind(source, 0, 6)

    assert (int(canvas.plan[at.P_VIEW_BUFFER]), int(canvas.plan[at.P_VIEW_ORIGIN])) == (1, 0)


def test_sources_are_not_bound_without_views() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",)))
    before = canvas.plan.tolist()

    canvas.bind(source_of(b"source"), 2, 6)

    assert canvas.plan.tolist() == before


def test_builder_drops_buffers_without_views() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",), chunking=SMALL, is_view=True))
    canvas.bind(source_of(b"abc"), 0, 3)

    canvas.forget()

    values = canvas.take().columns["value"]
    assert isinstance(values, ViewColumn)
    assert values.buffers == ()


def test_source_has_a_new_view_buffer_when_views_exceed_its_range() -> None:
    canvas = canvas_of(ReadRequest(columns=("value",), is_view=True))
    source = source_of(b"source")

    canvas.bind(source, 1, 1 << 31)
    within = int(canvas.plan[at.P_VIEW_ORIGIN])
    canvas.bind(source, 3, (1 << 31) + 1)

    assert (within, int(canvas.plan[at.P_VIEW_ORIGIN])) == (1, 3)


@pytest.mark.parametrize(("rows", "is_copied"), ((1, True), (4096, False)))
@pytest.mark.parametrize("is_view", (True, False))
def test_small_part_of_a_slab_is_copied_into_its_own_chunk(
    rows: int, *, is_copied: bool, is_view: bool
) -> None:
    canvas = canvas_of(
        ReadRequest(chunking=Chunking(max_rows=4096, max_bytes=1000), is_view=is_view)
    )
    slab = canvas.slab
    canvas.state[at.F_ROWS] = rows

    chunk = canvas.take()

    shared = [np.shares_memory(slab, array) for array in arrays_of(chunk)]
    assert (all(shared), any(shared)) == (not is_copied, not is_copied)


def test_closed_builder_returns_its_slab_to_the_pool() -> None:
    pool = SlabPool()
    canvas = ChunkBuilder(ReadRequest(chunking=SMALL), pool)
    address, size = canvas.slab.ctypes.data, len(canvas.slab)

    canvas.close()
    canvas.close()

    taken = [pool.take(size) for _ in range(2)]
    assert [slab.ctypes.data == address for slab in taken] == [True, False]


def test_builder_returns_its_slab_to_the_pool_when_it_grows() -> None:
    pool = SlabPool()
    canvas = ChunkBuilder(ReadRequest(columns=("value",), chunking=SMALL), pool)
    address, size = canvas.slab.ctypes.data, len(canvas.slab)
    canvas.state[at.F_NEEDED] = 5000

    canvas.grow()

    assert pool.take(size).ctypes.data == address
