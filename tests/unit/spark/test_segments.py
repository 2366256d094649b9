"""What the driver finds in directories."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.options import Bound, SourceOptions, TopicChoice
from cordwood.spark.segments import find_logs, resolve
from cordwood.spark.splits import Range
from cordwood.testing.files import MemoryFiles
from tests.unit.storage.reader_samples import directory, name, reader
from tests.unit.storage.segment_samples import produced, v2

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def _files(*partitions: str) -> MemoryFiles:
    """Return a log directory with these partitions."""
    files = MemoryFiles()
    files.make_directory("/logs")
    for each in partitions:
        files.make_directory(f"/logs/{each}")
        files.create(f"/logs/{each}/{name(0)}").append(v2(0))
    return files


def test_partitions_of_a_log_directory_are_found() -> None:
    files = _files("orders-1", "orders-0", "__consumer_offsets-7")

    found = find_logs(files, SourceOptions(paths=("/logs",)))

    assert list(map(str, found)) == ["orders-0", "orders-1"]


def test_directory_of_one_partition_is_a_place_too() -> None:
    files = _files("orders-0", "orders-1")

    found = find_logs(files, SourceOptions(paths=("/logs/orders-1",)))

    assert list(found.values()) == ["/logs/orders-1"]


def test_topics_that_are_not_wanted_are_left_out() -> None:
    files = _files("orders-0", "payments-0")
    topics = TopicChoice(names=frozenset({"payments"}))

    found = find_logs(files, SourceOptions(paths=("/logs",), topics=topics))

    assert list(map(str, found)) == ["payments-0"]


def test_partition_that_is_in_two_places_is_refused() -> None:
    files = _files("orders-0")

    with pytest.raises(LogDirectoryError, match="has orders-0, which /logs/orders-0 is too"):
        find_logs(files, SourceOptions(paths=("/logs", "/logs/orders-0")))


def test_latest_is_an_offset_from_then_on() -> None:
    found = reader(directory(log=b"".join(map(v2, range(4)))))

    assert resolve(found, ORDERS, options=SourceOptions()) == Range(ORDERS, 0, 4)


def test_committed_reading_ends_where_a_transaction_is_open() -> None:
    found = reader(directory(log=v2(0) + produced(1, 2, producer_id=1)))

    assert resolve(found, ORDERS, options=SourceOptions(is_committed=True)).end == 1


def test_offsets_that_are_given_are_taken_as_far_as_the_log_goes() -> None:
    found = reader(directory(log=b"".join(map(v2, range(4)))))
    given = SourceOptions(
        starting=Bound(is_time=False, default=-2, given={ORDERS: 1}),
        ending=Bound(is_time=False, default=-1, given={ORDERS: 3}),
    )

    assert resolve(found, ORDERS, options=given) == Range(ORDERS, 1, 3)
