"""Paths and contents of the ZooKeeper nodes for topics and configurations, as in Kafka 3.9.

    /brokers/topics/<topic>      the topic
    /brokers/topics/<topic>/partitions/<number>/state    see `partition_state`
    /config/topics/<topic>       {"version": 1, "config": {key: text}}
    /config/brokers/<id>         the same, for one broker
    /config/brokers/<default>    the same, for all brokers
    /config/groups/<group>       the same, for one group

A configuration is addressed by a resource type, which is Kafka's number, and a name. The name of
the default for all brokers is empty.

Kafka 3.9 has the entity type `groups`, but stores it in KRaft alone. Here its nodes have the form
of all others. A group id may contain any character, so it is encoded as Kafka encodes the names of
users and clients (`Sanitizer`). Letters, digits, `-`, `.` and `_` stay; another byte of UTF-8
becomes `%` and two hexadecimal digits.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import DamagedFileError

TOPIC: Final = ResourceType.TOPIC
BROKER: Final = ResourceType.BROKER
GROUP: Final = ResourceType.GROUP
ALL_BROKERS: Final = ""

TOPICS: Final = "/brokers/topics"
#: The parent of the configurations of groups; it exists once a group has had one.
GROUP_CONFIGS: Final = "/config/groups"
#: Parent nodes that always exist.
FOLDERS: Final = ("/brokers", TOPICS, "/config", "/config/topics", "/config/brokers")

_VERSION: Final = 1
_DEFAULT: Final = "<default>"
_CONFIGS: Final[Mapping[int, str]] = {TOPIC: "/config/topics", BROKER: "/config/brokers"}
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")
_ENCODED: Final = re.compile(rb"%([0-9A-F]{2})")


def topic_path(topic: str) -> str:
    """Return the path of a topic's node."""
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    """Return the path of the node above the partitions of a topic."""
    return f"{topic_path(topic)}/partitions"


def partition_path(topic: str, number: int) -> str:
    """Return the path of a partition's node."""
    return f"{partitions_path(topic)}/{number}"


def partition_state_path(topic: str, number: int) -> str:
    """Return the path of the state of a partition."""
    return f"{partition_path(topic, number)}/state"


def config_path(kind: int, name: str) -> str:
    """Return the path of the configuration of a topic, a broker, all brokers or a group."""
    if kind == GROUP:
        return f"{GROUP_CONFIGS}/{encode_name(name)}"
    return f"{_CONFIGS[kind]}/{name or _DEFAULT}"


def encode_name(name: str) -> str:
    """Encode any text as the name of a node (Kafka: `Sanitizer.sanitize`)."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())


def decode_name(node: str) -> str:
    """Decode the name of a node (Kafka: `Sanitizer.desanitize`)."""
    return _ENCODED.sub(lambda found: bytes([int(found[1], 16)]), node.encode()).decode()


def encode_texts(texts: Mapping[str, str]) -> bytes:
    """Encode a configuration as the content of its node."""
    node = {"version": _VERSION, "config": dict(texts)}
    return json.dumps(node, separators=(",", ":")).encode()


def decode_texts(data: bytes, *, path: str) -> dict[str, str]:
    """Decode the content of a configuration node; the error names `path`."""
    try:
        node = json.loads(data)
    except ValueError:
        node = None
    texts = node.get("config") if isinstance(node, dict) else None
    if not isinstance(texts, dict) or not all(isinstance(each, str) for each in texts.values()):
        raise DamagedFileError(
            "not a configuration",
            path=path,
            remedy="restore it, or remove it to apply the defaults",
            expected='{"version": 1, "config": {...}}',
            found=repr(data[:60]),
        )
    return texts
