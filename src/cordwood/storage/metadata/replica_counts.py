"""Replica counts of partitions, by the topic metadata in a log directory.

    cordwood.metadata       the replicas in the node of the topic
    __cluster_metadata-0    Kafka's records; its own only partition has a count that is not stored

Metadata that are missing or damaged have no counts, and neither does a topic with another id.
"""

import json
from collections.abc import Callable
from typing import TypeAlias

from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.metadata_paths import topic_path
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid, parse_uuid
from cordwood.core.znodes import ZNodeTree
from cordwood.storage.metadata.cluster_metadata_log import ClusterMetadata
from cordwood.storage.metadata.metadata_lookup import read_kafka_metadata, read_own_metadata

#: Returns the number of replicas of a partition of the topic with an id; None if it is unknown.
ReplicaCounts: TypeAlias = Callable[[TopicPartition, Uuid | None], int | None]


def read_replica_counts(files: Files, log_directory: str) -> ReplicaCounts:
    """Return the replica counts in a log directory; Cordwood's metadata take precedence."""
    try:
        tree = read_own_metadata(files, log_directory)
        if tree is not None:
            return lambda partition, topic_id: _own_count(tree, partition, topic_id)
        metadata = read_kafka_metadata(files, log_directory)
    except DamagedFileError:
        return _unknown
    if metadata is None:
        return _unknown
    return lambda partition, topic_id: _kafka_count(metadata, partition, topic_id)


def _unknown(_partition: TopicPartition, _topic_id: Uuid | None) -> int | None:
    return None


def _own_count(tree: ZNodeTree, partition: TopicPartition, topic_id: Uuid | None) -> int | None:
    node = tree.get(topic_path(partition.topic))
    if node is None:
        return None
    try:
        content = json.loads(node.data)
        known, replicas = parse_uuid(content["topic_id"]), content["partitions"]
        count = len(replicas.get(str(partition.partition), ()))
    except (ValueError, TypeError, KeyError, AttributeError, BytesError):
        return None
    return count if count and topic_id in (None, known) else None


def _kafka_count(
    metadata: ClusterMetadata, partition: TopicPartition, topic_id: Uuid | None
) -> int | None:
    known = metadata.topics.get(partition.topic)
    if known is None or topic_id not in (None, known):
        return None
    return len(metadata.replicas.get(known, {}).get(partition.partition, ())) or None
