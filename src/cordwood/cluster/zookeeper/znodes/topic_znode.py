"""Node of a topic: its id, and the replicas of its partitions (Kafka: `TopicZNode`).

    v1  partitions: {"0":[1,2]}
    v2  adding_replicas: {"0":[2]}, removing_replicas: {}
    v3  topic_id

Version 3 is written, also for a topic of an old cluster that has no id yet.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.znodes.znode_json import (
    decode_json,
    encode_json,
    integers,
    mapping,
    text,
)
from cordwood.core.metadata_paths import topic_path
from cordwood.core.uuids import format_uuid, parse_uuid

_VERSION: Final = 3


def encode_topic_znode(topic: StoredAssignment) -> bytes:
    """Return the content of a topic's node."""
    partitions = topic.partitions
    content: dict[str, object] = {
        "version": _VERSION,
        "partitions": {str(number): [*each.replicas] for number, each in partitions.items()},
        "adding_replicas": _lists({number: each.adding for number, each in partitions.items()}),
        "removing_replicas": _lists({number: each.removing for number, each in partitions.items()}),
    }
    if topic.topic_id is not None:
        content["topic_id"] = format_uuid(topic.topic_id)
    return encode_json(content)


def _lists(replicas: Mapping[int, tuple[int, ...]]) -> dict[str, list[int]]:
    return {str(number): [*each] for number, each in replicas.items() if each}


def decode_topic_znode(topic: str, data: bytes) -> StoredAssignment:
    """Return the topic in a node of any version; DamagedFileError."""
    return decode_json(
        data,
        _assignment,
        path=topic_path(topic),
        expected='{"version":3,"topic_id":"...","partitions":{"0":[1]},...}',
    )


def _assignment(content: dict[str, object]) -> StoredAssignment:
    topic_id = None if content.get("topic_id") is None else parse_uuid(text(content, "topic_id"))
    adding, removing = mapping(content, "adding_replicas"), mapping(content, "removing_replicas")
    return StoredAssignment(
        topic_id,
        {
            int(number): ReplicaAssignment(
                integers(replicas),
                integers(adding.get(number, [])),
                integers(removing.get(number, [])),
            )
            for number, replicas in mapping(content, "partitions").items()
        },
    )
