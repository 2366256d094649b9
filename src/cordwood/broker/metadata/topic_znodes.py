"""Stored form of a topic: the JSON and paths of Kafka 3.9 in ZooKeeper (Kafka: `TopicZNode`).

    /brokers/topics/<topic>   {"version":3,"topic_id":"...","partitions":{"0":[1,2]},
                              "adding_replicas":{},"removing_replicas":{}}

A single broker leads all partitions, so leaders and in-sync replicas are not stored.
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.broker.metadata.replica_placer import Replicas
from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.metadata_paths import FOLDERS
from cordwood.core.uuids import Uuid, format_uuid, parse_uuid
from cordwood.core.znodes import CreateZNode

_VERSION: Final = 3


class StoredTopic(NamedTuple):
    """The stored facts of a topic: its id, and the replicas of its partitions from 0."""

    topic_id: Uuid
    replicas: Sequence[Replicas]


def folders() -> list[CreateZNode]:
    """Return the nodes of an empty store."""
    return [CreateZNode(path) for path in FOLDERS]


def encode_topic(topic: StoredTopic) -> bytes:
    """Return the data of a topic's node."""
    content = {
        "version": _VERSION,
        "topic_id": format_uuid(topic.topic_id),
        "partitions": {str(index): [*each] for index, each in enumerate(topic.replicas)},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    return json.dumps(content, separators=(",", ":")).encode()


def decode_topic(data: bytes, *, path: str) -> StoredTopic:
    """Return the topic of a node's data; raise DamagedFileError, which names `path`."""
    try:
        content = json.loads(data)
        partitions = {int(index): tuple(each) for index, each in content["partitions"].items()}
        replicas = [partitions[index] for index in range(len(partitions))]
        return StoredTopic(parse_uuid(content["topic_id"]), replicas)
    except (ValueError, TypeError, KeyError, AttributeError, BytesError) as error:
        raise DamagedFileError(
            "not a topic",
            path=path,
            remedy="restore the metadata, or move them away to find the topics by directories",
            expected='{"version":3,"topic_id":"...","partitions":{"0":[1]}}',
            found=repr(data[:60]),
        ) from error
