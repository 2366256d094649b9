"""Tests of the DescribeLogDirs handler."""

import errno

from cordwood.broker.handlers.log_dirs import describe_log_dirs
from cordwood.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.storage.manager_samples import create_future_log, partition


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
