"""Log directories are told with what lies in them."""

import errno

from cordwood.broker.handlers.log_dirs import describe_log_dirs
from cordwood.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from cordwood.testing.faults import Fault
from tests.unit.broker.broker_samples import Hall, run
from tests.unit.storage.manager_samples import partition


def describe(hall: Hall, **asked: list[int]) -> dict[str, DescribeLogDirsResult]:
    topics = [DescribableLogDirTopic(topic=name, partitions=asked[name]) for name in asked]
    request = DescribeLogDirsRequest(topics=topics or None)
    answer = run(describe_log_dirs(hall.broker, hall.context(5), request))
    assert answer.error_code == 0
    return {each.log_dir: each for each in answer.results}


def told(result: DescribeLogDirsResult) -> dict[str, list[int]]:
    return {
        topic.name: [each.partition_index for each in topic.partitions] for topic in result.topics
    }


def test_all_partitions_are_told_by_their_directory() -> None:
    hall = Hall()
    hall.host(0, 0, 0)
    hall.host(0, topic="other")

    results = describe(hall)

    assert told(results["/a"]) == {"orders": [0, 2]}
    assert told(results["/b"]) == {"orders": [1], "other": [0]}


def test_directory_is_told_with_the_room_on_its_volume() -> None:
    hall = Hall()
    hall.house.files.capacity_bytes = hall.house.files.used_bytes() + 1000

    result = describe(hall)["/b"]

    assert (result.usable_bytes, result.total_bytes) == (1000, hall.house.files.capacity_bytes)


def test_volume_that_cannot_be_asked_for_has_no_sizes() -> None:
    hall = Hall()
    hall.house.files.script.add(Fault(on="volume", path="/a", code=errno.EIO))

    results = describe(hall)

    sizes = [(results[path].error_code, results[path].total_bytes) for path in ("/a", "/b")]
    assert sizes == [(0, -1), (0, hall.house.files.capacity_bytes)]


def test_partitions_are_told_that_are_asked_for() -> None:
    hall = Hall()
    hall.host(0, 0, 0)
    hall.host(0, topic="other")

    results = describe(hall, orders=[2, 7], none=[0])

    assert told(results["/a"]) == {"orders": [2]}
    assert told(results["/b"]) == {}


def test_directory_that_failed_has_its_error_alone() -> None:
    hall = Hall()
    hall.host(0)
    hall.manager.fail(hall.manager.directories[0], OSError("gone"))

    result = describe(hall)["/a"]

    assert (result.error_code, result.topics, result.total_bytes) == (56, [], -1)


def test_copy_on_its_way_is_told_beside_the_log() -> None:
    hall = Hall()
    hall.host(0)
    hall.manager.create_future(partition(0), hall.manager.directories[1])

    (topic,) = describe(hall)["/b"].topics

    assert topic.partitions == [
        DescribeLogDirsPartition(
            partition_index=0, partition_size=0, offset_lag=0, is_future_key=True
        )
    ]
