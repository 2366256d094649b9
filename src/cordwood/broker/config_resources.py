"""What has a configuration of its own, and how that is kept.

    topic            /config/topics/<name>
    broker           /config/brokers/<id>
    all brokers      /config/brokers/<default>     a broker resource without a name

A node holds {"version": 1, "config": {key: text}}, as Kafka kept it in ZooKeeper. A broker has no
configuration of another broker, nor of clients or groups.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from cordwood.core.errors import DamagedFileError, InvalidRequestError

_VERSION: Final = 1
_DEFAULT: Final = "<default>"
_FOLDERS: Final = {2: "/config/topics", 4: "/config/brokers"}


class ResourceType(IntEnum):
    """Kafka's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


@dataclass(frozen=True, slots=True)
class Resource:
    """One topic, one broker, or with an empty name all brokers."""

    type: ResourceType
    name: str

    @property
    def is_topic(self) -> bool:
        return self.type is ResourceType.TOPIC

    @property
    def path(self) -> str:
        """Where its configuration is kept."""
        return f"{_FOLDERS[self.type]}/{self.name or _DEFAULT}"


ALL_BROKERS: Final = Resource(ResourceType.BROKER, "")


def topic_resource(topic: str) -> Resource:
    """Return the resource of a topic; whether there is one is not asked here."""
    return Resource(ResourceType.TOPIC, topic)


def resource_asked_for(type_code: int, name: str, *, node_id: int) -> Resource:
    """Return what a request speaks of, if this broker may answer for it."""
    if type_code not in set(ResourceType):
        raise InvalidRequestError(f"Unsupported resource type: {type_code}")
    resource = Resource(ResourceType(type_code), name)
    if resource.is_topic and not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    if not resource.is_topic and resource != ALL_BROKERS and name != str(node_id):
        raise InvalidRequestError(
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
        )
    return resource


def encode_texts(texts: Mapping[str, str]) -> bytes:
    """Return the content of a node."""
    node = {"version": _VERSION, "config": dict(texts)}
    return json.dumps(node, separators=(",", ":")).encode()


def decode_texts(data: bytes, *, path: str) -> dict[str, str]:
    """Return the texts in a node's content; `path` is what the error names."""
    try:
        node = json.loads(data)
    except ValueError:
        node = None
    texts = node.get("config") if isinstance(node, dict) else None
    if not isinstance(texts, dict) or not all(isinstance(each, str) for each in texts.values()):
        raise DamagedFileError(
            "this is no configuration",
            path=path,
            remedy="restore it, or remove it to have the defaults",
            expected='{"version": 1, "config": {...}}',
            found=repr(data[:60]),
        )
    return texts
