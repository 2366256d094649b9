"""Which nodes say what topics there are and how they are configured: Kafka 3.9's in ZooKeeper.

    /brokers/topics/<topic>      what a topic is
    /config/topics/<topic>       {"version": 1, "config": {key: text}}
    /config/brokers/<id>         the same, of one broker
    /config/brokers/<default>    the same, of all brokers

Who has a configuration is told by a kind, which is Kafka's number, and a name; that of all brokers
is empty.
"""

import json
from collections.abc import Mapping
from typing import Final

from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import DamagedFileError

TOPIC: Final = ResourceType.TOPIC
BROKER: Final = ResourceType.BROKER
ALL_BROKERS: Final = ""

TOPICS: Final = "/brokers/topics"
#: Nodes that are always there, so that others can be made below them.
FOLDERS: Final = ("/brokers", TOPICS, "/config", "/config/topics", "/config/brokers")

_VERSION: Final = 1
_DEFAULT: Final = "<default>"
_CONFIGS: Final[Mapping[int, str]] = {TOPIC: "/config/topics", BROKER: "/config/brokers"}


def topic_path(topic: str) -> str:
    """Return where a topic is kept."""
    return f"{TOPICS}/{topic}"


def config_path(kind: int, name: str) -> str:
    """Return where the configuration of a topic, of a broker or of all brokers is kept."""
    return f"{_CONFIGS[kind]}/{name or _DEFAULT}"


def encode_texts(texts: Mapping[str, str]) -> bytes:
    """Return the content of a configuration's node."""
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
