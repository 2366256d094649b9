"""From the answers to an admin client to the values that it returns."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cordwood.client.cluster import TopicState
from cordwood.client.described import (
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
from cordwood.client.places import partitions_of
from cordwood.client.refusals import ensure_done
from cordwood.core.config_codes import TYPE_CODES, ConfigSource, ResourceType
from cordwood.core.errors import error_for_code
from cordwood.core.ids import format_uuid
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.create_topics import CreatableTopicResult
from cordwood.protocol.messages.delete_records import DeleteRecordsResponse
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


def topic_of(state: TopicState) -> TopicDescription:
    """Return what is known of a topic."""
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


def created_of(told: CreatableTopicResult) -> CreatedTopic:
    """Return what a broker has made."""
    return CreatedTopic(
        name=told.name,
        topic_id=format_uuid(told.topic_id),
        partitions=told.num_partitions,
        replication_factor=told.replication_factor,
        configs={each.name: each.value for each in told.configs or ()},
    )


def cluster_of(told: DescribeClusterResponse) -> ClusterDescription:
    """Return a cluster."""
    return ClusterDescription(
        cluster_id=told.cluster_id,
        controller_id=told.controller_id,
        brokers=tuple(
            BrokerDescription(
                node_id=each.broker_id, host=each.host, port=each.port, rack=each.rack
            )
            for each in told.brokers
        ),
    )


def configs_of(told: DescribeConfigsResult) -> ConfigDescription:
    """Return the settings of a resource."""
    return ConfigDescription(
        resource_type=_TYPE_NAMES.get(told.resource_type, str(told.resource_type)),
        name=told.resource_name,
        entries={each.name: _entry(each) for each in told.configs},
    )


def log_dirs_of(told: DescribeLogDirsResponse, node_id: int) -> list[LogDirDescription]:
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
        for each in told.results
    ]


def starts_of(told: DeleteRecordsResponse) -> dict[TopicPartition, int]:
    """Return where logs start now; the error of a partition where there was one."""
    starts: dict[TopicPartition, int] = {}
    for topic in told.topics:
        for each in topic.partitions:
            (place,) = partitions_of([(topic.name, each.partition_index)])
            ensure_done(each.error_code, subject=str(place))
            starts[place] = each.low_watermark
    return starts


def _entry(told: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=told.name,
        value=told.value,
        source=_SOURCES.get(told.config_source, _UNKNOWN),
        type=_TYPES.get(told.config_type, _UNKNOWN),
        is_read_only=told.read_only,
        is_sensitive=told.is_sensitive,
        documentation=told.documentation,
        synonyms=tuple(
            ConfigSynonym(
                name=each.name, value=each.value, source=_SOURCES.get(each.source, _UNKNOWN)
            )
            for each in told.synonyms
        ),
    )
