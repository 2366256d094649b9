"""Topics and configurations in Kafka's `__cluster_metadata-0` (Kafka: `MetadataImage`).

    record   unsigned varints: frame 1, kind, version, then the fields, then tagged fields
    2  topic        name string, id uuid
    3  partition    number i32, topic id uuid; arrays of i32: replicas, in-sync, removing, adding;
                    leader i32, leader epoch i32, and more
    4  config       resource type i8, its name string, key string, value string or null
    5  change       number i32, topic id uuid; tag 1: leader i32, which begins the next leader
                    epoch, also if it is -1, no leader; tag 2: replicas array of i32
    9  deleted      id uuid
    15 producers    broker i32, its epoch i64, the next producer id i64

Other records are ignored. A later record for the same name or key replaces an earlier one; a null
value removes a config. The resource type is topic (2) or broker (4); the name of a broker is its
node id, or empty for all brokers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cordwood.core.binary import read_unsigned_varint
from cordwood.core.errors import BytesError
from cordwood.core.metadata_paths import TOPIC
from cordwood.core.uuids import Uuid
from cordwood.records.flexible_fields import FlexibleReader

_FRAME: Final = 1
_LEADER_TAG: Final = 1
_REPLICAS_TAG: Final = 2
#: The arrays of a partition between its replicas and its leader.
_REPLICA_SETS: Final = ("in-sync", "removing", "adding")
#: An array that is null.
_NULL: Final = b"\0"


@dataclass(slots=True)
class ClusterMetadata:
    """The state after some records: topic ids, configs by resource, and by topic id and partition
    number the replicas and the leader epoch.

    `next_producer_id` is the first producer id that is not allocated yet.
    """

    topics: dict[str, Uuid] = field(default_factory=dict)
    replicas: dict[Uuid, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    leader_epochs: dict[Uuid, dict[int, int]] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0

    def apply(self, value: bytes) -> None:
        """Apply one record's value; BytesError if it does not have Kafka's format."""
        reader = FlexibleReader(value)
        frame, kind, version = (_unsigned(reader) for _ in range(3))
        if frame != _FRAME:
            raise BytesError("the frame is unknown", position=0, expected=_FRAME, found=frame)
        newest, apply = _RECORDS.get(kind, _IGNORED)
        if version <= newest:
            apply(self, reader)

    def apply_all(self, values: Iterable[bytes | None]) -> None:
        """Apply records in the order of their offsets."""
        for value in values:
            if value is not None:
                self.apply(value)

    def config_of(self, kind: int, name: str) -> dict[str, str]:
        """Return the own configs of a topic or broker."""
        return self.configs.get((kind, name), {})

    def leader_epoch_of(self, topic: str, number: int) -> int:
        """Return the leader epoch of a partition, 0 if it is unknown."""
        topic_id = self.topics.get(topic)
        return 0 if topic_id is None else self.leader_epochs.get(topic_id, {}).get(number, 0)


def _apply_topic(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    name = reader.string()
    metadata.topics[name] = Uuid(reader.uuid())


def _apply_partition(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    number, topic_id = reader.i32(), Uuid(reader.uuid())
    metadata.replicas.setdefault(topic_id, {})[number] = reader.array(reader.i32)
    for _ in _REPLICA_SETS:
        reader.array(reader.i32)
    reader.i32()
    metadata.leader_epochs.setdefault(topic_id, {})[number] = reader.i32()


def _apply_change(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    number, topic_id = reader.i32(), Uuid(reader.uuid())
    tags = reader.tags()
    if _LEADER_TAG in tags:
        epochs = metadata.leader_epochs.setdefault(topic_id, {})
        epochs[number] = epochs.get(number, 0) + 1
    replicas = tags.get(_REPLICAS_TAG, _NULL)
    if replicas != _NULL:
        changed = FlexibleReader(replicas)
        metadata.replicas.setdefault(topic_id, {})[number] = changed.array(changed.i32)


def _apply_config(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    kind = _byte(reader)
    name, key = reader.string(), reader.string()
    value = _nullable(reader)
    config = metadata.configs.setdefault((kind, name), {})
    if value is None:
        config.pop(key, None)
    else:
        config[key] = value


def _remove_topic(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    deleted = Uuid(reader.uuid())
    metadata.replicas.pop(deleted, None)
    metadata.leader_epochs.pop(deleted, None)
    for name in [name for name, topic_id in metadata.topics.items() if topic_id == deleted]:
        del metadata.topics[name]
        metadata.configs.pop((TOPIC, name), None)


def _apply_producers(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    reader.i32()
    reader.i64()
    metadata.next_producer_id = reader.i64()


#: By kind: the newest version that begins with the fields above, and the function to apply it.
_RECORDS: Final = {
    2: (0, _apply_topic),
    3: (2, _apply_partition),
    4: (0, _apply_config),
    5: (2, _apply_change),
    9: (0, _remove_topic),
    15: (0, _apply_producers),
}
_IGNORED: Final = (-1, _apply_topic)


def _unsigned(reader: FlexibleReader) -> int:
    data = reader.data
    value, reader.position = read_unsigned_varint(data, reader.position, len(data))
    return value


def _byte(reader: FlexibleReader) -> int:
    at = reader.position
    if at >= len(reader.data):
        raise BytesError(
            "a field is missing at the end", position=at, expected="a byte", found="the end"
        )
    reader.position += 1
    return reader.data[at]


def _nullable(reader: FlexibleReader) -> str | None:
    """Read a nullable string."""
    at = reader.position
    if at < len(reader.data) and reader.data[at] == 0:
        reader.position += 1
        return None
    return reader.string()
