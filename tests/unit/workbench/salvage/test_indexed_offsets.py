"""Offsets of batches are found in the indexes of their segment."""

import struct

import pytest

from cordwood.workbench.salvage.file_bounds import FileBounds, OffsetOrder
from cordwood.workbench.salvage.indexed_offsets import IndexedOffsets, indexed_offsets
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    chain_of,
    directory,
    headed,
    ports,
)

STEM = f"{100:020}"
#: The latest time of the sample batch, and two entries for it or for another time.
TIMES = struct.pack(">qiqi", 900, 2, 1003, 7)
POSITIONS = struct.pack(">iiii", 3, 0, 9, 500)


def test_indexes_of_a_segment_are_read_without_unused_space() -> None:
    contents = {f"{STEM}.timeindex": TIMES + bytes(24), f"{STEM}.index": POSITIONS + bytes(3)}

    found = indexed_offsets(directory(contents), SOURCE, base=100)

    assert found == IndexedOffsets(100, TIMES, POSITIONS)
    assert indexed_offsets(directory({}), SOURCE, base=100) == IndexedOffsets(100)


@pytest.mark.parametrize(
    ("first", "end", "has"),
    ((100, 110, True), (107, 108, True), (108, 120, False), (100, 107, False), (103, None, True)),
)
def test_time_of_a_batch_has_an_offset_in_a_range(first: int, end: int | None, has: object) -> None:
    indexed = IndexedOffsets(100, TIMES)

    assert indexed.has_between(headed(batch(100)), first, end=end) is has


def test_position_of_a_batch_has_an_offset_in_a_range() -> None:
    indexed = IndexedOffsets(100, positions=POSITIONS)
    header = headed(batch(100))

    assert indexed.has_between(header, 103, end=104)
    assert not indexed.has_between(header, 104, end=None)
    assert indexed.has_between(header._replace(position=500), 104, end=None)
    assert not indexed.has_between(header._replace(position=400), 0, end=None)


def test_gap_with_the_indexed_offset_of_a_batch_is_not_in_order() -> None:
    bounds = FileBounds(100, 120, cleaned_to=120, indexed=IndexedOffsets(100, TIMES))
    first, second = (
        SalvagedBatch("file", headed(batch(offset, 1)), offset=offset) for offset in (100, 109)
    )
    order = OffsetOrder(bounds)

    assert order.takes(first)
    assert order.takes(second)
    late = second._replace(header=second.header._replace(max_timestamp=1003))
    assert not OffsetOrder(bounds).takes(late)


def test_batch_whose_indexed_offset_is_in_the_gap_next_to_it_is_doubtful() -> None:
    indexed = IndexedOffsets(0, struct.pack(">qi", 1003, 7))
    bounds = FileBounds(0, 20, cleaned_to=20, indexed=indexed)

    chain = chain_of(batch(0, 2) + batch(9), bounds=bounds)

    assert [each.trust for each in chain.batches] == [Trust.LED, Trust.UNJOINED]
    assert [each[:2] for each in chain.damages] == [(2, 20)]


def test_salvage_reports_a_place_that_only_an_index_shows() -> None:
    contents = {
        f"{0:020}.log": batch(0, 2) + batch(6, 1),
        f"{0:020}.timeindex": struct.pack(">qi", 1000, 4),
        f"{8:020}.log": batch(8),
    }
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(6, 6)]
    assert [each[:2] for each in report.lost] == [(2, 5), (7, 7)]
