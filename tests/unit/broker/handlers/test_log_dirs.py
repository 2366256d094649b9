"""Tests of the handlers of log directories."""

import errno

from cordwood.broker.handlers.log_dirs import alter_replica_log_dirs, describe_log_dirs
from cordwood.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from cordwood.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, led_topic, run, turns
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import OTHER_ID, create_future_log, partition


def describe(harness: BrokerHarness, **asked: list[int]) -> dict[str, DescribeLogDirsResult]:
    topics = [DescribableLogDirTopic(topic=name, partitions=asked[name]) for name in asked]
    request = DescribeLogDirsRequest(topics=topics or None)
    answer = run(describe_log_dirs(harness.broker, harness.context(5), request))
    assert answer.error_code == 0
    return {each.log_dir: each for each in answer.results}


def told(result: DescribeLogDirsResult) -> dict[str, list[int]]:
    return {
        topic.name: [each.partition_index for each in topic.partitions] for topic in result.topics
    }


def test_all_partitions_are_described_by_directory() -> None:
    harness = BrokerHarness()
    harness.host(0, 0, 0)
    harness.host(0, topic="other")

    results = describe(harness)

    assert told(results["/a"]) == {"orders": [0, 2]}
    assert told(results["/b"]) == {"orders": [1], "other": [0]}


def test_directory_is_described_with_its_volume() -> None:
    harness = BrokerHarness()
    harness.storage.files.capacity_bytes = harness.storage.files.used_bytes() + 1000

    result = describe(harness)["/b"]

    assert (result.usable_bytes, result.total_bytes) == (1000, harness.storage.files.capacity_bytes)


def test_unreadable_volume_has_no_sizes() -> None:
    harness = BrokerHarness()
    harness.storage.files.script.add(FileFault(on="volume", path="/a", code=errno.EIO))

    results = describe(harness)

    sizes = [(results[path].error_code, results[path].total_bytes) for path in ("/a", "/b")]
    assert sizes == [(0, -1), (0, harness.storage.files.capacity_bytes)]


def test_only_requested_partitions_are_described() -> None:
    harness = BrokerHarness()
    harness.host(0, 0, 0)
    harness.host(0, topic="other")

    results = describe(harness, orders=[2, 7], none=[0])

    assert told(results["/a"]) == {"orders": [2]}
    assert told(results["/b"]) == {}


def test_failed_directory_has_only_its_error() -> None:
    harness = BrokerHarness()
    harness.host(0)
    harness.manager.fail(harness.manager.directories[0], OSError("gone"))

    result = describe(harness)["/a"]

    assert (result.error_code, result.topics, result.total_bytes) == (56, [], -1)


def test_future_log_is_described_with_its_log() -> None:
    harness = BrokerHarness()
    harness.host(0)
    create_future_log(harness.manager, partition(0), harness.manager.directories[1])

    (topic,) = describe(harness)["/b"].topics

    assert topic.partitions == [
        DescribeLogDirsPartition(
            partition_index=0, partition_size=0, offset_lag=0, is_future_key=True
        )
    ]


def alter(harness: BrokerHarness, path: str, **asked: list[int]) -> dict[tuple[str, int], int]:
    """Return the error codes after a request to move partitions, and let the moves go on."""
    topics = [AlterReplicaLogDirTopic(name=name, partitions=asked[name]) for name in asked]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])

    async def whole() -> AlterReplicaLogDirsResponse:
        response = await alter_replica_log_dirs(harness.broker, harness.context(2), request)
        await turns(60)
        await harness.broker.log_dir_moves.stop()
        return response

    return {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in run(whole()).results
        for each in topic.partitions
    }


def test_moved_partition_is_described_in_the_other_directory() -> None:
    harness = BrokerHarness()
    harness.host(0, 0)

    assert alter(harness, "/b", orders=[0, 1]) == {("orders", 0): 0, ("orders", 1): 0}

    results = describe(harness)
    assert (told(results["/a"]), told(results["/b"])) == ({}, {"orders": [1, 0]})


def test_move_in_progress_is_described_as_a_future_replica() -> None:
    harness = BrokerHarness()
    harness.host(0).append(memoryview(batch()))
    harness.broker.throttles.log_dirs.limit = 0
    harness.broker.throttles.log_dirs.record(1)

    alter(harness, "/b", orders=[0])

    ((described,),) = (each.partitions for each in describe(harness)["/b"].topics)
    assert (described.is_future_key, described.offset_lag) == (True, 1)


def test_unknown_directories_and_partitions_have_kafkas_errors() -> None:
    harness = BrokerHarness()
    harness.host(0)
    image = harness.metadata.image
    topic = led_topic(0, 0, topic="elsewhere", topic_id=OTHER_ID)
    harness.metadata.publish(image.with_topic(topic))

    assert alter(harness, "/c", orders=[0]) == {("orders", 0): 57}
    assert alter(harness, "/b", orders=[7], elsewhere=[1, 2]) == {
        ("orders", 7): 3,
        ("elsewhere", 1): 9,
        ("elsewhere", 2): 3,
    }
