"""Conversion of admin responses into values."""

import pytest

from cordwood.client.admin.admin_responses import configs_of, log_dirs_of, starts_of
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from cordwood.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def deleted(error_code: int) -> DeleteRecordsResponse:
    result = DeleteRecordsPartitionResult(
        partition_index=1, low_watermark=10, error_code=error_code
    )
    topic = DeleteRecordsTopicResult(name="t", partitions=[result])
    return DeleteRecordsResponse(topics=[topic])


def test_log_starts_are_returned_by_partition() -> None:
    assert starts_of(deleted(0)) == dict.fromkeys(partitions_of([("t", 1)]), 10)


def test_starts_raise_a_partitions_error() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="t-1"):
        starts_of(deleted(1))


def test_settings_have_their_source() -> None:
    synonym = DescribeConfigsSynonym(name="log.retention.ms", value="2", source=4)
    response = DescribeConfigsResourceResult(
        name="retention.ms",
        value="1",
        read_only=False,
        config_source=1,
        is_sensitive=False,
        synonyms=[synonym],
        config_type=5,
    )
    result = DescribeConfigsResult(
        error_code=0, error_message=None, resource_type=2, resource_name="t", configs=[response]
    )

    entry = configs_of(result).entries["retention.ms"]

    assert entry.source == "topic"
    assert entry.type == "long"
    assert not entry.is_default
    assert entry.synonyms[0].source == "server.properties"


def test_offline_log_directory_has_its_error() -> None:
    partition = DescribeLogDirsPartition(
        partition_index=0, partition_size=5, offset_lag=0, is_future_key=False
    )
    topic = DescribeLogDirsTopic(name="t", partitions=[partition])
    results = [
        DescribeLogDirsResult(error_code=56, log_dir="/a", topics=[]),
        DescribeLogDirsResult(error_code=0, log_dir="/b", topics=[topic], total_bytes=9),
    ]

    bad, good = log_dirs_of(DescribeLogDirsResponse(results=results), 1)

    assert bad.error == "KafkaStorageError"
    assert good.error is None
    assert good.total_bytes == 9
    assert good.partitions[0].size == 5
