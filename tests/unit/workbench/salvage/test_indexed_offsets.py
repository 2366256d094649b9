"""Offsets of batches are found in the indexes of their segment."""

import struct

import pytest

from cordwood.workbench.salvage.file_bounds import FileBounds, OffsetOrder
from cordwood.workbench.salvage.indexed_offsets import IndexedOffsets, indexed_offsets
from cordwood.workbench.salvage.offset_witnesses import OffsetWitnesses
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    chain_of,
    directory,
    entries,
    headed,
    indexes,
    ports,
)

STEM = f"{100:020}"
#: The latest time of the sample batch, and two entries for it or for another time.
TIMES = struct.pack(">qiqi", 900, 2, 1003, 7)
POSITIONS = struct.pack(">iiii", 3, 0, 9, 500)


def test_indexes_of_a_segment_are_read_without_unused_space() -> None:
    contents = {f"{STEM}.timeindex": TIMES + bytes(24), f"{STEM}.index": POSITIONS + bytes(3)}

    found = [
        indexed_offsets(directory(each), SOURCE, base=100)
        for each in (contents, {}, {f"{STEM}.index": bytes(16)})
    ]

    counts = [[each.entries.count for each in both] for both in found]
    assert counts == [[2, 2, 0], [0, 0, 0], [0, 0, 0]]
    assert (found[0].times.last, found[0].positions.last) == ((1003, 107), (109, 500))


@pytest.mark.parametrize(
    ("first", "end", "has"),
    ((100, 110, True), (107, 108, True), (108, 120, False), (100, 107, False), (103, None, True)),
)
def test_time_of_a_batch_has_an_offset_in_a_range(first: int, end: int | None, has: object) -> None:
    indexed = indexes(100, TIMES)

    assert indexed.has_between(headed(batch(100)), first, end=end) is has


def test_position_of_a_batch_has_an_offset_in_a_range() -> None:
    indexed = indexes(100, positions=POSITIONS)
    header = headed(batch(100))

    assert indexed.has_between(header, 103, end=104)
    assert not indexed.has_between(header, 104, end=None)
    assert indexed.has_between(header._replace(position=500), 104, end=None)
    assert not indexed.has_between(header._replace(position=400), 0, end=None)


@pytest.mark.parametrize(
    ("indexed", "end"),
    (
        (indexes(100), 100),
        (indexes(100, TIMES), 108),
        (indexes(100, TIMES, POSITIONS), 110),
        (indexes(100, TIMES, POSITIONS, aborts=entries((7, 100, 110))), 111),
        (indexes(100, TIMES, aborts=b"\7" * 34), 108),
    ),
)
def test_indexes_have_an_end(indexed: IndexedOffsets, end: int) -> None:
    assert indexed.end == end


@pytest.mark.parametrize(
    ("offset", "position", "missing"),
    ((106, 480, 20), (109, 480, 20), (105, 480, 0), (110, 480, 0), (106, 500, 0), (106, 700, 0)),
)
def test_batch_before_the_position_of_its_entry_shows_missing_bytes(
    offset: int, position: int, missing: int
) -> None:
    """Brokers before 4.1 write the position of the first batch of several."""
    header = headed(batch(offset))._replace(position=position)
    indexed = indexes(100, positions=POSITIONS)

    assert indexed.missing_bytes(SalvagedBatch("file", header, offset=offset)) == missing


@pytest.mark.parametrize(("last", "lost"), ((3, []), (9, [(4, 10)]), (10, [])))
def test_file_may_end_before_an_offset_of_its_index(last: int, lost: list[tuple[int, int]]) -> None:
    """A cleaner has worked there, so only the index shows the end; offset 10 is the next file's."""
    indexed = indexes(0, struct.pack(">qi", 2000, last))
    bounds = FileBounds(0, 10, cleaned_to=10, witnesses=OffsetWitnesses(indexed))
    order = OffsetOrder(bounds)

    chain = chain_of(batch(0), bounds=bounds)

    assert [each[:2] for each in chain.damages] == lost
    assert all(map(order.takes, chain.batches))
    assert order.is_certain is not bool(lost)


def test_gap_with_the_indexed_offset_of_a_batch_is_not_in_order() -> None:
    witnesses = OffsetWitnesses(indexes(100, TIMES))
    bounds = FileBounds(100, 120, cleaned_to=120, witnesses=witnesses)
    first, second = (
        SalvagedBatch("file", headed(batch(offset, 1)), offset=offset) for offset in (100, 109)
    )
    order = OffsetOrder(bounds)

    assert order.takes(first)
    assert order.takes(second)
    assert order.is_certain
    late = second._replace(header=second.header._replace(max_timestamp=1003))
    order = OffsetOrder(bounds)
    assert order.takes(late)
    assert not order.is_certain


def test_batch_whose_indexed_offset_is_in_the_gap_next_to_it_is_doubtful() -> None:
    witnesses = OffsetWitnesses(indexes(0, struct.pack(">qi", 1003, 7)))
    bounds = FileBounds(0, 20, cleaned_to=20, witnesses=witnesses)

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


def test_salvage_reports_the_tail_of_a_segment_that_a_cleaner_has_finished() -> None:
    contents = {
        f"{0:020}.log.swap": batch(0, 2),
        f"{0:020}.index.swap": struct.pack(">ii", 5, len(batch(0, 2))),
        f"{8:020}.log": batch(8),
    }
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert [each[:2] for each in report.lost] == [(2, 7)]
    assert report.gaps == ()
