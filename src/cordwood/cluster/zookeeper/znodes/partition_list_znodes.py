"""Nodes with lists of partitions: notifications and requests of administrators.

    {"version":1,"partitions":[{"topic":"t","partition":0}]}

    /isr_change_notification/isr_change_<n>
    /admin/preferred_replica_election
    /admin/reassign_partitions                 with "replicas":[1,2] for each partition

Kafka: `IsrChangeNotificationSequenceZNode`, `PreferredReplicaElectionZNode`,
`ReassignPartitionsZNode`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from cordwood.cluster.zookeeper.znodes.cluster_paths import REASSIGN_PARTITIONS
from cordwood.cluster.zookeeper.znodes.znode_json import (
    decode_json,
    encode_json,
    integer,
    integers,
    objects,
    text,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition

_VERSION: Final = 1
_EXPECTED: Final = '{"version":1,"partitions":[{"topic":"t","partition":0}]}'


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the content of a node with a list of partitions."""
    return encode_json({"version": _VERSION, "partitions": [_entry(each) for each in partitions]})


def decode_partitions(data: bytes, *, path: str) -> tuple[TopicPartition, ...]:
    """Return the list of partitions in a node; DamagedFileError."""
    return decode_json(
        data,
        lambda content: tuple(_partition(each) for each in objects(content, "partitions")),
        path=path,
        expected=_EXPECTED,
    )


def encode_reassignments(reassignments: Mapping[TopicPartition, tuple[int, ...]]) -> bytes:
    """Return the content of the node of requested reassignments."""
    entries = [
        {**_entry(partition), "replicas": [*replicas]}
        for partition, replicas in reassignments.items()
    ]
    return encode_json({"version": _VERSION, "partitions": entries})


def decode_reassignments(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the requested replicas of partitions; DamagedFileError."""
    return decode_json(
        data,
        lambda content: {
            _partition(each): integers(each["replicas"]) for each in objects(content, "partitions")
        },
        path=REASSIGN_PARTITIONS,
        expected='{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}',
    )


def _entry(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}


def _partition(entry: dict[str, object]) -> TopicPartition:
    return TopicPartition(TopicName(text(entry, "topic")), PartitionId(integer(entry, "partition")))
