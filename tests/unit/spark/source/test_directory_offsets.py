"""Partitions and offsets of directories."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.spark.source.coverage import (
    AvailableRange,
    KnownEnd,
    PartitionDirectory,
    TopicIdentity,
)
from cordwood.spark.source.directory_offsets import (
    DirectoryOffsetReader,
    available_ranges,
    find_directories,
)
from cordwood.spark.source.source_options import TopicChoice
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from cordwood.storage.reader.partition_reader import PartitionCheckpoints, PartitionReader
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.reader_samples import directory, name, reader
from tests.unit.storage.segment_samples import marker, produced, v2

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def _files(*partitions: str) -> MemoryFiles:
    """Return files with a log directory of these partitions, one record each."""
    files = MemoryFiles()
    files.make_directory("/logs")
    for each in partitions:
        files.make_directory(f"/logs/{each}")
        files.create(f"/logs/{each}/{name(0)}").append(v2(0))
    return files


def _found(
    files: MemoryFiles, path: str, *, choice: TopicChoice | None = None
) -> DirectoryOffsetReader:
    chosen = choice or TopicChoice()
    return find_directories(files, path, choice=chosen, is_committed=False)


def _ranges(found: PartitionReader, *, is_committed: bool = False) -> list[AvailableRange]:
    ranges, _ = available_ranges(found, is_committed=is_committed)
    return ranges


def test_partitions_of_a_log_directory_are_found() -> None:
    found = _found(_files("orders-1", "orders-0", "__consumer_offsets-7"), "/logs")

    assert sorted(map(str, found.partitions())) == ["orders-0", "orders-1"]


def test_single_partition_directory_can_be_read() -> None:
    found = _found(_files("orders-0", "orders-1"), "/logs/orders-1")

    assert list(map(str, found.partitions())) == ["orders-1"]


def test_topics_that_are_not_selected_are_listed_without_partitions() -> None:
    choice = TopicChoice(names=frozenset({"payments"}))

    found = _found(_files("orders-0", "payments-0"), "/logs", choice=choice)

    assert list(map(str, found.partitions())) == ["payments-0"]
    assert found.topics() == {"orders", "payments"}


def test_directory_has_its_log_up_to_the_current_end() -> None:
    found = reader(directory(log=b"".join(map(v2, range(4)))))

    assert _ranges(found) == [AvailableRange(0, 4, PartitionDirectory("/d/t-0"))]


def test_directory_ends_at_the_last_stable_offset_under_read_committed() -> None:
    found = reader(directory(log=v2(0) + produced(1, 2, producer_id=1)))

    assert _ranges(found, is_committed=True) == [AvailableRange(0, 1, PartitionDirectory("/d/t-0"))]


def test_missing_segment_splits_the_ranges_of_a_directory() -> None:
    found = reader(directory(log=v2(0, 4), log_8=v2(8, 9), log_10=v2(10)))

    assert _ranges(found) == [
        AvailableRange(0, 5, PartitionDirectory("/d/t-0")),
        AvailableRange(8, 11, PartitionDirectory("/d/t-0")),
    ]


@pytest.mark.parametrize(
    ("log", "beside"),
    (
        (v2(0) + v2(3, 4), PartitionCheckpoints()),
        (v2(0, 4), PartitionCheckpoints(cleaned_to=8)),
    ),
)
def test_gap_of_compaction_does_not_split_the_ranges(
    log: bytes, beside: PartitionCheckpoints
) -> None:
    found = reader(directory(log=log, log_8=v2(8, 9)), beside)

    assert _ranges(found) == [AvailableRange(0, 10, PartitionDirectory("/d/t-0"))]


def test_committed_reading_ends_before_a_segment_that_is_missing() -> None:
    found = reader(directory(log=v2(0) + produced(1, 2, producer_id=1), log_8=v2(8)))

    assert _ranges(found, is_committed=True) == [AvailableRange(0, 1, PartitionDirectory("/d/t-0"))]


def test_partition_without_segments_is_empty() -> None:
    files = MemoryFiles()
    files.make_directory("/orders-0")

    available = DirectoryOffsetReader(files, {ORDERS: "/orders-0"}).available([ORDERS])

    assert available == {ORDERS: [AvailableRange(0, 0, PartitionDirectory("/orders-0"))]}


def test_available_ranges_are_those_of_the_directories() -> None:
    files = _files("orders-0")
    offset_reader = DirectoryOffsetReader(files, {ORDERS: "/logs/orders-0"})

    assert offset_reader.available([ORDERS]) == {
        ORDERS: [AvailableRange(0, 1, PartitionDirectory("/logs/orders-0"))]
    }


def test_directories_of_other_partitions_are_not_opened() -> None:
    offset_reader = DirectoryOffsetReader(MemoryFiles(), {ORDERS: "/nowhere/orders-0"})

    assert offset_reader.available([]) == {}


def test_offsets_for_times_are_looked_up_in_their_partition() -> None:
    offset_reader = DirectoryOffsetReader(_files("orders-0"), {ORDERS: "/logs/orders-0"})
    elsewhere = TopicPartition(TopicName("orders"), PartitionId(1))

    assert offset_reader.offsets_for_times({ORDERS: 1000, elsewhere: 1000}) == {ORDERS: 0}
    assert offset_reader.offsets_for_times({ORDERS: 1001}) == {ORDERS: None}


def test_directories_report_their_topic_ids() -> None:
    files = _files("orders-0", "orders-1", "orders-2")
    write_partition_metadata(files, "/logs/orders-0", topic_id=Uuid(bytes(15) + b"\1"))
    files.create("/logs/orders-1/partition.metadata").append(b"version: 0\ntopic_id: damage")

    found = _found(files, "/logs").topic_ids()

    assert found == {ORDERS: TopicIdentity("AAAAAAAAAAAAAAAAAAAAAQ", "/logs/orders-0")}


def _checkpointed(files: MemoryFiles, high_watermark: int) -> MemoryFiles:
    text = f"0\n1\norders 0 {high_watermark}\n".encode()
    files.create("/logs/replication-offset-checkpoint").append(text)
    return files


def _logged(*batches: bytes, high_watermark: int) -> DirectoryOffsetReader:
    """Return the reader of a partition with a checkpointed high watermark."""
    files = MemoryFiles()
    for folder in ("/logs", "/logs/orders-0"):
        files.make_directory(folder)
    files.create(f"/logs/orders-0/{name(0)}").append(b"".join(batches))
    return DirectoryOffsetReader(
        _checkpointed(files, high_watermark), {ORDERS: "/logs/orders-0"}, is_committed=True
    )


def test_directory_ends_at_its_high_watermark() -> None:
    offset_reader = _logged(v2(0, 9), high_watermark=5)

    (found,) = offset_reader.available([ORDERS])[ORDERS]

    assert (found.start, found.end) == (0, 5)
    assert offset_reader.log_ends() == {ORDERS: 10}


def test_marker_after_the_high_watermark_decides_nothing() -> None:
    batches = v2(0), produced(1, 2, producer_id=1), marker(3, producer_id=1, is_commit=True)
    offset_reader = _logged(*batches, high_watermark=3)

    (found,) = offset_reader.available([ORDERS])[ORDERS]

    assert found.end == 1


def test_record_after_the_high_watermark_has_no_offset_for_its_time() -> None:
    offset_reader = _logged(v2(0, 4), v2(5, timestamp=2000), high_watermark=5)
    offset_reader.available([ORDERS])

    assert offset_reader.offsets_for_times({ORDERS: 2000}) == {ORDERS: None}


def test_log_end_is_the_end_if_the_caller_asks_for_it() -> None:
    files = _checkpointed(_files("orders-0"), 0)

    offset_reader = DirectoryOffsetReader(files, {ORDERS: "/logs/orders-0"}, is_to_log_end=True)

    assert offset_reader.available([ORDERS])[ORDERS][0].end == 1


def _with_epochs(text: str) -> DirectoryOffsetReader:
    files = _files("orders-0")
    files.create("/logs/orders-0/leader-epoch-checkpoint").append(text.encode())
    offset_reader = DirectoryOffsetReader(files, {ORDERS: "/logs/orders-0"})
    offset_reader.available([ORDERS])
    return offset_reader


def test_latest_leader_epoch_is_that_of_the_checkpoint_or_of_the_last_batch() -> None:
    assert _with_epochs("0\n1\n7 0\n").leader_epochs([ORDERS]) == {ORDERS: 7}
    assert _with_epochs("0\n0\n").leader_epochs([ORDERS]) == {ORDERS: 4}
    assert _with_epochs("0\n0\n").leader_epochs([]) == {}


@pytest.mark.parametrize(
    ("known", "expected"),
    (
        (KnownEnd(9, 5), {ORDERS: 6}),
        (KnownEnd(6, 5), {}),
        (KnownEnd(9, 7), {}),
        (KnownEnd(9, None), {}),
        (KnownEnd(1, 3), {ORDERS: 0}),
    ),
)
def test_records_of_a_later_leader_epoch_show_a_truncation(
    known: KnownEnd, expected: dict[TopicPartition, int]
) -> None:
    offset_reader = _with_epochs("0\n2\n5 2\n7 6\n")

    assert offset_reader.truncated_ends({ORDERS: known}) == expected


@pytest.mark.parametrize(("tail", "high_watermark"), ((b"\0" * 70, 1), (b"", 2)))
def test_damaged_end_of_a_log_that_was_closed_in_order_is_rejected(
    tail: bytes, high_watermark: int
) -> None:
    files = _checkpointed(_files("orders-0"), high_watermark)
    files.open(f"/logs/orders-0/{name(0)}", writable=True).append(tail)
    found = DirectoryOffsetReader(files, {ORDERS: "/logs/orders-0"})
    found.available([ORDERS])

    files.create("/logs/.kafka_cleanshutdown")

    with pytest.raises(LogDirectoryError, match="its end is damaged although its log was closed"):
        found.available([ORDERS])
