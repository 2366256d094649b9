"""Records of v2 batches in a chunk: the end of a run, and the removal of rows."""

import numpy as np
import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.batch_builder import BatchFields
from cordwood.records.decoder import Chunking, ReadRequest, Selection
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.chunk_builder import ChunkBuilder
from cordwood.records.kernels.chunk_fill import fill
from cordwood.records.kernels.header_scan import scan
from tests.unit.records import segments
from tests.unit.records.kernels.words import canvas_of, empty_table, scan_words, source_of
from tests.unit.records.segments import v2

TWO = v2(b"a", b"b") + v2(b"c", b"d", fields=BatchFields(base_offset=2))


def filled(canvas: ChunkBuilder, data: bytes) -> tuple[int, int, int]:
    """Return how it ended, how many rows there are and at which batch it stands."""
    table, source, slab = empty_table(), source_of(data), canvas.slab
    canvas.state[at.F_BATCHES] = scan(source, table, scan_words())
    canvas.state[at.F_POSITION] = -1
    status = fill(source, table, canvas.block, slab, canvas.plan, canvas.state)
    return status, canvas.rows, int(canvas.state[at.F_BATCH])


def test_fill_is_done_when_all_batches_are_read() -> None:
    assert filled(canvas_of(ReadRequest()), TWO) == (at.DONE, 4, 2)


def test_fill_writes_the_batch_fields_in_each_row() -> None:
    canvas = canvas_of(ReadRequest(columns=("partition_leader_epoch",)))

    filled(canvas, v2(b"a", b"b", fields=BatchFields(partition_leader_epoch=9)))

    begin = int(canvas.plan[at.P_LEADER_EPOCH])
    assert canvas.slab[begin : begin + 8].view(np.int32).tolist() == [9, 9]


def test_fill_removes_the_rows_of_a_batch_that_does_not_fit() -> None:
    canvas = canvas_of(ReadRequest(chunking=Chunking(max_rows=3)))

    assert filled(canvas, TWO) == (at.FULL, 2, 1)


def test_fill_reports_a_batch_larger_than_a_chunk() -> None:
    canvas = canvas_of(ReadRequest(chunking=Chunking(max_rows=1)))

    assert filled(canvas, TWO) == (at.OVERSIZE, 0, 0)


@pytest.mark.parametrize(
    ("chunking", "expected"),
    ((Chunking(max_rows=1), (at.FULL, 1, 0)), (Chunking(max_bytes=2), (at.GROW, 0, 0))),
)
def test_fill_splits_a_batch_when_it_may(
    chunking: Chunking, expected: tuple[int, int, int]
) -> None:
    canvas = canvas_of(ReadRequest(chunking=chunking))
    canvas.plan[at.P_IS_SPLIT] = 1

    assert filled(canvas, v2(b"aaa", b"b")) == expected


@pytest.mark.parametrize(
    ("at_byte", "field"),
    ((0, b"\xff"), (23, b"\xff"), (26, b"\0"), (60, b"\1"), (60, b"\3"), (64, b"\2")),
    ids=("base", "delta", "last delta", "fewer", "more", "offset"),
)
def test_fill_removes_the_rows_of_an_invalid_batch(at_byte: int, field: bytes) -> None:
    bad = segments.changed(v2(b"b", b"c"), at_byte, field)

    assert filled(canvas_of(ReadRequest()), v2(b"a") + bad) == (at.BAD, 1, 1)


@pytest.mark.parametrize(("base", "status"), ((1 << 62, at.DONE), (INT64_MAX - 1, at.BAD)))
def test_fill_rejects_a_batch_whose_last_offset_exceeds_64_bits(base: int, status: int) -> None:
    canvas = canvas_of(ReadRequest(selection=Selection(first_offset=INT64_MIN)))

    assert filled(canvas, base.to_bytes(8) + v2(b"a", b"b", b"c")[8:])[0] == status
