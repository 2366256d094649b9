"""Conversion of admin responses into values."""

from cordwood.client.admin.admin_responses import configs_of, log_dirs_of
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
