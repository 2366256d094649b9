"""Nodes that report one event: a lost log directory, a changed configuration; and the cluster id.

    /log_dir_event_notification/log_dir_event_<n>    {"version":1,"broker":1,"event":1}
    /config/changes/config_change_<n>                {"version":2,"entity_path":"topics/t"}
                                                     v1: "entity_type":"topics","entity_name":"t"
    /cluster/id                                      {"version":"1","id":"<22 characters>"}

Kafka: `LogDirEventNotificationSequenceZNode`, `ConfigEntityChangeNotificationSequenceZNode`,
`ClusterIdZNode`. The names in an entity path are encoded (`core.metadata_paths.encode_name`).
"""

from typing import Final, NamedTuple, TypeAlias

from cordwood.cluster.zookeeper.znodes.cluster_paths import (
    CLUSTER_ID,
    DEFAULT_ENTITY,
    entity_path,
)
from cordwood.cluster.zookeeper.znodes.znode_json import decode_json, encode_json, integer, text
from cordwood.core.metadata_paths import decode_name

_LOG_DIR_FAILURE: Final = 1


class ConfigEntity(NamedTuple):
    """A type such as `topics`, and a name; an empty name is the default of the type."""

    kind: str
    name: str


#: A client of a user has a configuration of two entities, every other one of one.
ConfigEntities: TypeAlias = tuple[ConfigEntity, ...]


def encode_log_dir_failure(broker_id: int) -> bytes:
    """Return the content of the notification that a broker has lost a log directory."""
    return encode_json({"version": 1, "broker": broker_id, "event": _LOG_DIR_FAILURE})


def decode_log_dir_failure(data: bytes, *, path: str) -> int:
    """Return the broker that has lost a log directory; DamagedFileError."""
    return decode_json(
        data,
        lambda content: integer(content, "broker"),
        path=path,
        expected='{"version":1,"broker":1,"event":1}',
    )


def encode_config_change(entities: ConfigEntities) -> bytes:
    """Return the content of the notification that a configuration has changed."""
    path = "/".join(entity_path(each.kind, each.name) for each in entities)
    return encode_json({"version": 2, "entity_path": path})


def decode_config_change(data: bytes, *, path: str) -> ConfigEntities:
    """Return the entities whose configuration has changed; DamagedFileError."""
    return decode_json(data, _changed, path=path, expected='{"version":2,"entity_path":"topics/t"}')


def _changed(content: dict[str, object]) -> ConfigEntities:
    if integer(content, "version") == 1:
        return (_entity(text(content, "entity_type"), text(content, "entity_name")),)
    parts = text(content, "entity_path").split("/")
    if len(parts) % 2:
        raise ValueError("not pairs of types and names")
    return tuple(_entity(*pair) for pair in zip(parts[::2], parts[1::2], strict=True))


def _entity(kind: str, name: str) -> ConfigEntity:
    return ConfigEntity(kind, "" if name == DEFAULT_ENTITY else decode_name(name))


def encode_cluster_id(cluster_id: str) -> bytes:
    """Return the content of the node of the cluster id."""
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    """Return the cluster id; DamagedFileError."""
    return decode_json(
        data,
        lambda content: text(content, "id"),
        path=CLUSTER_ID,
        expected='{"version":"1","id":"..."}',
    )
