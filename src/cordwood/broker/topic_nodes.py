"""How a topic is kept in the metadata: the JSON and the paths that Kafka 3.9 uses in ZooKeeper.

    /brokers/topics/<topic>   {"version":3,"topic_id":"...","partitions":{"0":[1,2]},
                              "adding_replicas":{},"removing_replicas":{}}

A broker that stands alone leads all of them, so who leads and who keeps up is not kept.
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.broker.placement import Replicas
from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.ids import Uuid, format_uuid, parse_uuid
from cordwood.core.metadata_nodes import FOLDERS
from cordwood.core.nodes import CreateNode

_VERSION: Final = 3


class KeptTopic(NamedTuple):
    """What is kept of a topic: its id, and the replicas of its partitions from 0 on."""

    topic_id: Uuid
    replicas: Sequence[Replicas]


def folders() -> list[CreateNode]:
    """Return what an empty store begins with."""
    return [CreateNode(path) for path in FOLDERS]


def encode_topic(topic: KeptTopic) -> bytes:
    """Return the data of a topic's node."""
    content = {
        "version": _VERSION,
        "topic_id": format_uuid(topic.topic_id),
        "partitions": {str(index): [*each] for index, each in enumerate(topic.replicas)},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    return json.dumps(content, separators=(",", ":")).encode()


def decode_topic(data: bytes, *, path: str) -> KeptTopic:
    """Return what a node says; `path` is what the error names."""
    try:
        content = json.loads(data)
        partitions = {int(index): tuple(each) for index, each in content["partitions"].items()}
        replicas = [partitions[index] for index in range(len(partitions))]
        return KeptTopic(parse_uuid(content["topic_id"]), replicas)
    except (ValueError, TypeError, KeyError, AttributeError, BytesError) as error:
        raise DamagedFileError(
            "this is no topic",
            path=path,
            remedy="restore the metadata, or move them away to have topics found by directories",
            expected='{"version":3,"topic_id":"...","partitions":{"0":[1]}}',
            found=repr(data[:60]),
        ) from error
