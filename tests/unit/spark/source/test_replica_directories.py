"""Several log directories with replicas of the same partition are read as one source."""

import pytest

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory, cover
from cordwood.spark.source.replica_directories import find_replicas
from cordwood.spark.source.source_options import parse_options
from cordwood.spark.source.source_view import available_ranges_of
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
PATHS = '["/a", "/b", "/c"]'


def _replica(files: MemoryFiles, path: str, log_end: int, *, high_watermark: int | None) -> None:
    """Write a replica of orders-0 with a record at each offset."""
    for folder in (path, f"{path}/orders-0"):
        files.make_directory(folder)
    files.create(f"{path}/orders-0/{name(0)}").append(b"".join(map(v2, range(log_end))))
    if high_watermark is not None:
        checkpoint = f"0\n1\norders 0 {high_watermark}\n".encode()
        files.create(f"{path}/replication-offset-checkpoint").append(checkpoint)


def _reads(files: MemoryFiles, *, end: int, **options: str) -> list[tuple[int, int, str]]:
    """Return the reads of all offsets up to an end: start, end and directory."""
    readers = find_replicas(files, parse_options({"paths": PATHS, "subscribe": "orders"} | options))
    available = available_ranges_of(readers, {ORDERS})[ORDERS]
    assert max(each.end for each in available) == end
    reads, gaps = cover(OffsetRange(ORDERS, 0, end), available)
    assert not gaps
    return [
        (each.range.start, each.range.end, each.source.path)
        for each in reads
        if isinstance(each.source, PartitionDirectory)
    ]


def test_each_offset_is_read_from_the_first_replica_that_has_it_below_its_high_watermark() -> None:
    """One replica is behind, and one has a tail that the leader may not have."""
    files = MemoryFiles()
    _replica(files, "/a", 4, high_watermark=3)
    _replica(files, "/b", 9, high_watermark=5)
    _replica(files, "/c", 7, high_watermark=7)

    reads = _reads(files, end=7)

    assert reads == [(0, 3, "/a/orders-0"), (3, 5, "/b/orders-0"), (5, 7, "/c/orders-0")]


def test_replica_of_a_broker_that_is_gone_is_left_out() -> None:
    files = MemoryFiles()
    _replica(files, "/b", 9, high_watermark=5)
    _replica(files, "/c", 7, high_watermark=7)

    assert _reads(files, end=7) == [(0, 5, "/b/orders-0"), (5, 7, "/c/orders-0")]


def test_path_that_does_not_exist_is_rejected_without_the_names_of_topics() -> None:
    files = MemoryFiles()
    _replica(files, "/a", 4, high_watermark=3)

    with pytest.raises(LogDirectoryError, match=r"/b: does not exist; .*subscribe or assign"):
        find_replicas(files, parse_options({"paths": PATHS}))


def test_path_that_does_not_exist_is_rejected_if_only_it_can_have_a_partition() -> None:
    files = MemoryFiles()
    _replica(files, "/a", 4, high_watermark=3)
    files.make_directory("/a/orders-2")

    with pytest.raises(LogDirectoryError, match="no other path has orders-1"):
        find_replicas(files, parse_options({"paths": PATHS, "subscribe": "orders"}))


def test_only_path_that_does_not_exist_is_rejected_with_the_names_next_to_it() -> None:
    files = MemoryFiles()
    files.make_directory("/logs")

    with pytest.raises(LogDirectoryError, match="does not exist; did you mean /logs"):
        find_replicas(files, parse_options({"path": "/log", "subscribe": "orders"}))


def test_replica_without_a_checkpoint_of_its_high_watermark_is_rejected() -> None:
    files = MemoryFiles()
    _replica(files, "/a", 4, high_watermark=3)
    _replica(files, "/b", 4, high_watermark=None)
    readers = find_replicas(files, parse_options({"paths": '["/a", "/b"]'}))

    with pytest.raises(LogDirectoryError, match="/b: has no replication-offset-checkpoint"):
        available_ranges_of(readers, {ORDERS})


def test_log_end_of_several_replicas_is_rejected() -> None:
    files = MemoryFiles()
    for path in ("/a", "/b"):
        _replica(files, path, 4, high_watermark=3)

    with pytest.raises(SettingError, match="endAt: orders-0 has several replicas"):
        find_replicas(files, parse_options({"paths": '["/a", "/b"]', "endAt": "log-end"}))


def test_directory_that_is_given_twice_is_rejected() -> None:
    files = MemoryFiles()
    _replica(files, "/a", 4, high_watermark=3)

    with pytest.raises(LogDirectoryError, match="orders-0 is given twice"):
        find_replicas(files, parse_options({"paths": '["/a", "/a/orders-0"]'}))


def test_partitions_of_different_paths_without_replicas_have_one_reader() -> None:
    files = MemoryFiles()
    _replica(files, "/a", 4, high_watermark=3)
    files.make_directory("/b")
    files.make_directory("/b/orders-1")

    readers = find_replicas(files, parse_options({"paths": '["/a", "/b"]'}))

    assert [len(each.partitions()) for each in readers] == [2]


def test_range_that_no_replica_has_is_a_gap() -> None:
    files = MemoryFiles()
    for path in ("/a", "/b"):
        _replica(files, path, 4, high_watermark=3)
    readers = find_replicas(files, parse_options({"paths": '["/a", "/b"]'}))

    _, gaps = cover(OffsetRange(ORDERS, 0, 6), available_ranges_of(readers, {ORDERS})[ORDERS])

    assert [str(each) for each in gaps] == ["offsets 3 to 5 of orders-0"]
