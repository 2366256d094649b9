"""Conversion of admin responses into the values that the admin client returns."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cordwood.client.admin.admin_types import (
    BrokerDescription,
    ClusterDescription,
    ConfigDescription,
    ConfigEntry,
    ConfigSynonym,
    CreatedTopic,
    LogDirDescription,
    LogDirPartition,
    PartitionDescription,
    TopicDescription,
)
from cordwood.client.network.cluster import TopicInfo
from cordwood.core.config_codes import TYPE_CODES, ConfigSource, ResourceType
from cordwood.core.errors import error_for_code
from cordwood.core.uuids import format_uuid
from cordwood.protocol.messages.create_topics import CreatableTopicResult
from cordwood.protocol.messages.describe_cluster import DescribeClusterResponse
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from cordwood.protocol.messages.describe_log_dirs import DescribeLogDirsResponse

RESOURCE_TYPES: Final = {each.name.lower(): each.value for each in ResourceType}
_TYPE_NAMES: Final = {number: name for name, number in RESOURCE_TYPES.items()}
_SOURCES: Final[Mapping[int, str]] = MappingProxyType(
    {
        ConfigSource.DYNAMIC_TOPIC: "topic",
        ConfigSource.DYNAMIC_BROKER: "broker",
        ConfigSource.DYNAMIC_DEFAULT_BROKER: "all brokers",
        ConfigSource.STATIC_BROKER: "server.properties",
        ConfigSource.DEFAULT: "default",
        ConfigSource.DYNAMIC_BROKER_LOGGER: "logger",
        ConfigSource.DYNAMIC_CLIENT_METRICS: "client metrics",
        ConfigSource.DYNAMIC_GROUP: "group",
    }
)
_TYPES: Final = {code: kind.value for kind, code in TYPE_CODES.items()}
_UNKNOWN: Final = "unknown"


def topic_of(state: TopicInfo) -> TopicDescription:
    """Return a topic's description."""
    return TopicDescription(
        name=state.name,
        topic_id=format_uuid(state.topic_id),
        is_internal=state.is_internal,
        partitions=tuple(
            PartitionDescription(
                partition=number,
                leader=each.leader,
                leader_epoch=each.leader_epoch,
                replicas=each.replicas,
                in_sync=each.in_sync,
                offline=each.offline,
            )
            for number, each in sorted(state.partitions.items())
        ),
    )


def created_of(result: CreatableTopicResult) -> CreatedTopic:
    """Return the description of a created topic."""
    return CreatedTopic(
        name=result.name,
        topic_id=format_uuid(result.topic_id),
        partitions=result.num_partitions,
        replication_factor=result.replication_factor,
        configs={each.name: each.value for each in result.configs or ()},
    )


def cluster_of(response: DescribeClusterResponse) -> ClusterDescription:
    """Return a cluster's description."""
    return ClusterDescription(
        cluster_id=response.cluster_id,
        controller_id=response.controller_id,
        brokers=tuple(
            BrokerDescription(
                node_id=each.broker_id, host=each.host, port=each.port, rack=each.rack
            )
            for each in response.brokers
        ),
    )


def configs_of(result: DescribeConfigsResult) -> ConfigDescription:
    """Return a resource's settings."""
    return ConfigDescription(
        resource_type=_TYPE_NAMES.get(result.resource_type, str(result.resource_type)),
        name=result.resource_name,
        entries={each.name: _entry(each) for each in result.configs},
    )


def log_dirs_of(response: DescribeLogDirsResponse, node_id: int) -> list[LogDirDescription]:
    """Return a broker's log directories."""
    return [
        LogDirDescription(
            node_id=node_id,
            path=each.log_dir,
            error=error_for_code(each.error_code).__name__ if each.error_code else None,
            total_bytes=each.total_bytes,
            usable_bytes=each.usable_bytes,
            partitions=tuple(
                LogDirPartition(
                    topic=topic.name,
                    partition=partition.partition_index,
                    size=partition.partition_size,
                    offset_lag=partition.offset_lag,
                    is_future=partition.is_future_key,
                )
                for topic in each.topics
                for partition in topic.partitions
            ),
        )
        for each in response.results
    ]


def _entry(result: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=result.name,
        value=result.value,
        source=_SOURCES.get(result.config_source, _UNKNOWN),
        type=_TYPES.get(result.config_type, _UNKNOWN),
        is_read_only=result.read_only,
        is_sensitive=result.is_sensitive,
        documentation=result.documentation,
        synonyms=tuple(
            ConfigSynonym(
                name=each.name, value=each.value, source=_SOURCES.get(each.source, _UNKNOWN)
            )
            for each in result.synonyms
        ),
    )
