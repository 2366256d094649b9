"""Batches are indexed by the sparse rule, with their offsets and largest timestamps."""

from struct import iter_unpack

from cordwood.core.binary import INT32_MAX
from cordwood.records.kernels.tail_scan import KernelTailScanner
from cordwood.records.tail_scan import ScanState
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex
from cordwood.storage.segment.sparse_index_builder import SparseIndexBuilder
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeEntry, TimeIndex
from tests.unit.storage.segment_samples import headers_of, v2


def new_builder(*, interval_bytes: int, base: int = 0) -> SparseIndexBuilder:
    return SparseIndexBuilder(
        OffsetIndex(base, InMemoryEntries(b"", OFFSET_ENTRY_SIZE)),
        TimeIndex(base, InMemoryEntries(b"", TIME_ENTRY_SIZE)),
        interval_bytes=interval_bytes,
    )


def builder_of(*batches: bytes, interval_bytes: int) -> SparseIndexBuilder:
    one = new_builder(interval_bytes=interval_bytes)
    for header in headers_of(b"".join(batches)):
        one.add(header, header.position)
    return one


def offset_entries(one: SparseIndexBuilder) -> list[tuple[int, ...]]:
    return list(iter_unpack(">ii", one.offset_bytes))


def time_entries(one: SparseIndexBuilder) -> list[tuple[int, ...]]:
    return list(iter_unpack(">qi", one.time_bytes))


def test_builder_never_indexes_the_first_batch() -> None:
    one = builder_of(v2(0, size=9000), interval_bytes=0)

    assert offset_entries(one) == []
    assert one.bytes_since_entry == len(v2(0, size=9000))


def test_builder_indexes_every_other_batch_by_its_last_offset_and_its_beginning() -> None:
    batches = [v2(0, 1), v2(2, 4), v2(5)]

    one = builder_of(*batches, interval_bytes=0)

    assert offset_entries(one) == [(4, len(batches[0])), (5, len(batches[0]) + len(batches[1]))]


def test_batch_is_indexed_after_more_bytes_than_the_interval() -> None:
    size = len(v2(0))

    at_interval = builder_of(v2(0), v2(1), v2(2), interval_bytes=2 * size)
    above_interval = builder_of(v2(0), v2(1), v2(2), interval_bytes=2 * size - 1)

    assert offset_entries(at_interval) == []
    assert offset_entries(above_interval) == [(2, 2 * size)]
    assert above_interval.bytes_since_entry == size


def test_builder_keeps_the_largest_timestamp_and_the_first_batch_that_has_it() -> None:
    one = builder_of(
        v2(0, timestamp=50), v2(1, timestamp=70), v2(2, timestamp=70), interval_bytes=1000
    )

    assert one.latest == TimeEntry(70, 1)


def test_builder_indexes_the_largest_timestamp_only_when_it_has_increased() -> None:
    one = builder_of(
        v2(0, timestamp=50),
        v2(1, timestamp=40),
        v2(2, timestamp=40),
        v2(3, timestamp=60),
        interval_bytes=0,
    )

    assert len(offset_entries(one)) == 3
    assert time_entries(one) == [(50, 0), (60, 3)]


def test_builder_without_times_has_no_time_entries() -> None:
    one = builder_of(v2(7, timestamp=-1), v2(8, timestamp=-1), interval_bytes=0)

    assert len(offset_entries(one)) == 1
    assert time_entries(one) == []
    assert one.latest == TimeEntry(-1, 0)


def test_builder_continues_from_a_given_state() -> None:
    one = new_builder(interval_bytes=100)
    one.bytes_since_entry, one.latest = 101, TimeEntry(2000, 3)

    one.add(headers_of(v2(4, timestamp=50))[0], 640)

    assert offset_entries(one) == [(4, 640)]
    assert time_entries(one) == [(2000, 3)]


def test_builder_continues_after_a_scan_as_after_batches() -> None:
    batches = [v2(offset, timestamp=100 - offset % 3) for offset in range(20)]
    data = b"".join(batches)
    expected = builder_of(*batches, interval_bytes=200)

    one = builder_of(batches[0], interval_bytes=200)
    begin = len(batches[0])
    one.add_stride(KernelTailScanner().stride(data[begin:], one.footing(1)), begin)

    assert offset_entries(one) == offset_entries(expected)
    assert time_entries(one) == time_entries(expected)
    assert one.footing(20) == expected.footing(20)


def test_builder_limits_scans_to_the_range_of_offsets() -> None:
    one = new_builder(interval_bytes=7, base=50)

    assert one.footing(60) == ScanState(60, 50 + INT32_MAX, 7, 0, -1, 50)
