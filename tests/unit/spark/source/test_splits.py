"""Logs cut into splits of about the same size."""

from itertools import pairwise

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import BrokerSource, OffsetRange, PartitionDirectory
from cordwood.spark.source.splits import (
    RECORD_BYTES,
    Split,
    cut_log,
    cut_range,
    cut_to_count,
    limit_records,
    pack_by_size,
    pack_splits,
)
from cordwood.storage.reader.partition_reader import PartitionReader
from tests.unit.storage.log_samples import filled
from tests.unit.storage.reader_samples import directory, logged, reader
from tests.unit.storage.segment_samples import v2

PARTITION = TopicPartition(TopicName("orders"), PartitionId(0))
RECORDS = 40


def _reader() -> PartitionReader:
    """Return a log of batches of one record, three a segment, each in the offset index."""
    place, log = logged()
    filled(log, RECORDS)
    return reader(place.files)


def _cut(start: int, end: int, *, split_bytes: int) -> list[Split]:
    return cut_log(_reader(), OffsetRange(PARTITION, start, end), split_bytes=split_bytes)


def test_splits_follow_each_other_without_gap_or_overlap() -> None:
    splits = _cut(5, 33, split_bytes=300)

    assert len(splits) > 3
    assert splits[0].range.start == 5
    assert splits[-1].range.end == 33
    assert all(left.range.end == right.range.start for left, right in pairwise(splits))


def test_splits_have_about_the_same_size() -> None:
    splits = _cut(0, RECORDS, split_bytes=300)

    assert all(300 <= split.size <= 300 + 80 for split in splits[:-1])


def test_log_smaller_than_a_split_is_one_split() -> None:
    (split,) = _cut(0, RECORDS, split_bytes=1 << 20)

    assert split.range == OffsetRange(PARTITION, 0, RECORDS)


def test_empty_range_has_no_splits() -> None:
    assert _cut(7, 7, split_bytes=300) == []


def test_splits_can_be_limited_by_records_too() -> None:
    split = Split(OffsetRange(PARTITION, 0, 25), 1000, PartitionDirectory("/d"))

    limited = limit_records([split], 10)

    assert [(each.range.start, each.range.end) for each in limited] == [(0, 10), (10, 20), (20, 25)]


def test_tasks_have_about_the_same_bytes() -> None:
    sizes = (10, 10, 10, 30, 1, 1, 1, 1, 26, 0)
    splits = [
        Split(OffsetRange(PARTITION, n, n + 1), size, PartitionDirectory("/d"))
        for n, size in enumerate(sizes)
    ]

    packs = pack_splits(splits, tasks=3)

    assert [split for pack in packs for split in pack] == splits
    assert [[split.size for split in pack] for pack in packs] == [
        [10, 10, 10],
        [30],
        [1, 1, 1, 1, 26, 0],
    ]


def test_no_task_is_created_without_splits() -> None:
    split = Split(OffsetRange(PARTITION, 0, 1), 0, PartitionDirectory("/d"))

    assert pack_splits([], tasks=3) == []
    assert pack_splits([split], tasks=3) == [(split,)]


def test_splits_are_cut_by_offsets_to_reach_the_requested_number() -> None:
    splits = [
        Split(OffsetRange(PARTITION, 0, 90), 0, BrokerSource()),
        Split(OffsetRange(PARTITION, 0, 10), 0, BrokerSource()),
    ]

    more = cut_to_count(splits, 4)

    assert [each.range.end - each.range.start for each in more] == [25, 25, 25, 15, 10]


def test_splits_are_not_cut_if_there_are_enough() -> None:
    splits = [Split(OffsetRange(PARTITION, 0, 90), 0, BrokerSource())]

    assert cut_to_count(splits, 1) == splits


def test_log_that_has_no_index_is_not_cut() -> None:
    found = reader(directory(log=b"".join(map(v2, range(RECORDS)))))

    splits = cut_log(found, OffsetRange(PARTITION, 0, RECORDS), split_bytes=300)

    assert [(each.range.start, each.range.end) for each in splits] == [(0, RECORDS)]


def test_range_of_brokers_is_cut_by_offsets() -> None:
    splits = cut_range(OffsetRange(PARTITION, 5, 25), split_bytes=10 * RECORD_BYTES)

    assert [(each.range.start, each.range.end) for each in splits] == [(5, 15), (15, 25)]
    assert [each.size for each in splits] == [10 * RECORD_BYTES] * 2


def _split(first: int, end: int, *, size: int, partition: int = 0) -> Split:
    place = TopicPartition(TopicName("t"), PartitionId(partition))
    return Split(OffsetRange(place, first, end), size, BrokerSource())


def test_packs_have_at_most_their_bytes() -> None:
    splits = [_split(each, each + 1, size=10, partition=each) for each in range(5)]

    packs = pack_by_size(splits, size=20)

    assert [len(pack) for pack in packs] == [2, 2, 1]


def test_neighbours_in_a_pack_become_one_split() -> None:
    packs = pack_by_size([_split(0, 4, size=10), _split(4, 9, size=20)], size=100)

    assert packs == [(_split(0, 9, size=30),)]


def test_packs_have_at_most_their_records() -> None:
    packs = pack_by_size([_split(0, 4, size=1), _split(4, 8, size=1)], size=100, records=5)

    assert packs == [(_split(0, 4, size=1),), (_split(4, 8, size=1),)]


def test_large_split_has_a_pack_of_its_own() -> None:
    splits = [_split(0, 1, size=5), _split(1, 2, size=500), _split(2, 3, size=5)]

    assert [len(pack) for pack in pack_by_size(splits, size=20)] == [1, 1, 1]


def test_no_split_is_no_pack() -> None:
    assert pack_by_size([], size=20) == []
