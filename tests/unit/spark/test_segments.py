"""What the driver finds in directories."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ids import Uuid
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import Holding, TopicOf
from cordwood.spark.options import TopicChoice
from cordwood.spark.segments import Directories, find_directories, held_by
from cordwood.storage.partition_metadata import write_partition_metadata
from cordwood.storage.reader import Beside
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


def _found(files: MemoryFiles, *paths: str, choice: TopicChoice = TopicChoice()) -> Directories:  # noqa: B008 - a value
    return find_directories(files, paths, choice=choice, is_committed=False)


def test_partitions_of_a_log_directory_are_found() -> None:
    found = _found(_files("orders-1", "orders-0", "__consumer_offsets-7"), "/logs")

    assert sorted(map(str, found.partitions())) == ["orders-0", "orders-1"]


def test_directory_of_one_partition_is_a_place_too() -> None:
    found = _found(_files("orders-0", "orders-1"), "/logs/orders-1")

    assert list(map(str, found.partitions())) == ["orders-1"]


def test_topics_that_are_not_wanted_are_left_out_and_known() -> None:
    choice = TopicChoice(names=frozenset({"payments"}))

    found = _found(_files("orders-0", "payments-0"), "/logs", choice=choice)

    assert list(map(str, found.partitions())) == ["payments-0"]
    assert found.topics() == {"orders", "payments"}


def test_partition_that_is_in_two_places_is_refused() -> None:
    with pytest.raises(LogDirectoryError, match="has orders-0, which /logs/orders-0 is too"):
        _found(_files("orders-0"), "/logs", "/logs/orders-0")


def test_directory_has_its_log_as_it_is_now() -> None:
    found = reader(directory(log=b"".join(map(v2, range(4)))))

    assert held_by(found, is_committed=False) == [Holding(0, 4, "/d/t-0")]


def test_directory_ends_for_committed_reading_where_a_transaction_is_open() -> None:
    found = reader(directory(log=v2(0) + produced(1, 2, producer_id=1)))

    assert held_by(found, is_committed=True) == [Holding(0, 1, "/d/t-0")]


def test_segment_that_is_missing_is_nothing_that_a_directory_has() -> None:
    found = reader(directory(log=v2(0, 4), log_8=v2(8, 9), log_10=v2(10)))

    assert held_by(found, is_committed=False) == [Holding(0, 5, "/d/t-0"), Holding(8, 11, "/d/t-0")]


@pytest.mark.parametrize(
    ("log", "beside"),
    (
        (v2(0) + v2(3, 4), Beside()),
        (v2(0, 4), Beside(cleaned_to=8)),
    ),
)
def test_gap_that_a_cleaner_has_left_is_no_loss(log: bytes, beside: Beside) -> None:
    found = reader(directory(log=log, log_8=v2(8, 9)), beside)

    assert held_by(found, is_committed=False) == [Holding(0, 10, "/d/t-0")]


def test_committed_reading_ends_before_a_segment_that_is_missing() -> None:
    found = reader(directory(log=v2(0) + produced(1, 2, producer_id=1), log_8=v2(8)))

    assert held_by(found, is_committed=True) == [Holding(0, 1, "/d/t-0")]


def test_partition_that_was_just_made_is_empty() -> None:
    files = MemoryFiles()
    files.make_directory("/orders-0")

    held = Directories(files, {ORDERS: "/orders-0"}).held([ORDERS])

    assert held == {ORDERS: [Holding(0, 0, "/orders-0")]}


def test_directories_have_what_each_of_them_has() -> None:
    files = _files("orders-0")
    place = Directories(files, {ORDERS: "/logs/orders-0"})

    assert place.held([ORDERS]) == {ORDERS: [Holding(0, 1, "/logs/orders-0")]}


def test_directories_that_are_not_wanted_are_not_opened() -> None:
    place = Directories(MemoryFiles(), {ORDERS: "/nowhere/orders-0"})

    assert place.held([]) == {}


def test_times_are_looked_up_where_the_partition_is() -> None:
    place = Directories(_files("orders-0"), {ORDERS: "/logs/orders-0"})
    elsewhere = TopicPartition(TopicName("orders"), PartitionId(1))

    assert place.at_times({ORDERS: 1000, elsewhere: 1000}) == {ORDERS: 0}
    assert place.at_times({ORDERS: 1001}) == {ORDERS: None}


def test_directories_tell_of_which_topic_they_are() -> None:
    files = _files("orders-0", "orders-1", "orders-2")
    write_partition_metadata(files, "/logs/orders-0", topic_id=Uuid(bytes(15) + b"\1"))
    files.create("/logs/orders-1/partition.metadata").append(b"version: 0\ntopic_id: damage")

    told = _found(files, "/logs").topic_ids()

    assert told == {ORDERS: TopicOf("AAAAAAAAAAAAAAAAAAAAAQ", "/logs/orders-0")}
