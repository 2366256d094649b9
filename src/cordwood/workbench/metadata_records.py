"""Records of Kafka's `__cluster_metadata-0` that say which topics there are and how they are set.

    record   unsigned varints: frame 1, kind, version, then the fields, then tagged fields
    2  topic        name string, id uuid
    3  partition    number i32, topic id uuid, replicas array of i32, and more
    4  config       of what i8, its name string, key string, value string or null
    5  change       number i32, topic id uuid; tag 2: replicas array of i32
    9  topic gone   id uuid
    15 producers    broker i32, its epoch i64, the next id to be given out i64

What else the log says is passed over. A name or key that comes again replaces what it said before;
a null takes a config away. Configs are of a topic (2) or a broker (4), whose name is its node id,
or nothing for all brokers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cordwood.core.binary import read_unsigned_varint
from cordwood.core.errors import BytesError
from cordwood.core.ids import Uuid
from cordwood.core.metadata_nodes import TOPIC
from cordwood.records.flexible import FlexibleReader

_FRAME: Final = 1
_REPLICAS_TAG: Final = 2
#: An array that is null.
_NULL: Final = b"\0"


@dataclass(slots=True)
class ClusterMetadata:
    """What was learnt: ids by topic, replicas by topic id and partition, configs by their owner.

    Of producer ids it is the first that nobody has had.
    """

    topics: dict[str, Uuid] = field(default_factory=dict)
    replicas: dict[Uuid, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0

    def learn(self, value: bytes) -> None:
        """Take one record's value; BytesError if it is not what Kafka writes."""
        reader = FlexibleReader(value)
        frame, kind, version = (_unsigned(reader) for _ in range(3))
        if frame != _FRAME:
            raise BytesError("an unknown frame", position=0, expected=_FRAME, found=frame)
        newest, learn = _LEARN.get(kind, _PASSED_OVER)
        if version <= newest:
            learn(self, reader)

    def learn_all(self, values: Iterable[bytes | None]) -> None:
        """Take records in the order of their offsets."""
        for value in values:
            if value is not None:
                self.learn(value)

    def config_of(self, kind: int, name: str) -> dict[str, str]:
        """Return what is set of a topic or broker itself."""
        return self.configs.get((kind, name), {})


def _learn_topic(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    name = reader.string()
    metadata.topics[name] = Uuid(reader.uuid())


def _learn_partition(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    number, topic_id = reader.i32(), Uuid(reader.uuid())
    metadata.replicas.setdefault(topic_id, {})[number] = reader.array(reader.i32)


def _learn_change(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    number, topic_id = reader.i32(), Uuid(reader.uuid())
    replicas = reader.tags().get(_REPLICAS_TAG, _NULL)
    if replicas != _NULL:
        changed = FlexibleReader(replicas)
        metadata.replicas.setdefault(topic_id, {})[number] = changed.array(changed.i32)


def _learn_config(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    kind = _byte(reader)
    name, key = reader.string(), reader.string()
    value = _nullable(reader)
    config = metadata.configs.setdefault((kind, name), {})
    if value is None:
        config.pop(key, None)
    else:
        config[key] = value


def _forget_topic(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    gone = Uuid(reader.uuid())
    metadata.replicas.pop(gone, None)
    for name in [name for name, topic_id in metadata.topics.items() if topic_id == gone]:
        del metadata.topics[name]
        metadata.configs.pop((TOPIC, name), None)


def _learn_producers(metadata: ClusterMetadata, reader: FlexibleReader) -> None:
    reader.i32()
    reader.i64()
    metadata.next_producer_id = reader.i64()


#: The newest version of each kind that begins with the fields above, and what learns them.
_LEARN: Final = {
    2: (0, _learn_topic),
    3: (2, _learn_partition),
    4: (0, _learn_config),
    5: (2, _learn_change),
    9: (0, _forget_topic),
    15: (0, _learn_producers),
}
_PASSED_OVER: Final = (-1, _learn_topic)


def _unsigned(reader: FlexibleReader) -> int:
    data = reader.data
    value, reader.position = read_unsigned_varint(data, reader.position, len(data))
    return value


def _byte(reader: FlexibleReader) -> int:
    at = reader.position
    if at >= len(reader.data):
        raise BytesError("a field beyond the end", position=at, expected="a byte", found="the end")
    reader.position += 1
    return reader.data[at]


def _nullable(reader: FlexibleReader) -> str | None:
    """Read a string, None where there is none."""
    at = reader.position
    if at < len(reader.data) and reader.data[at] == 0:
        reader.position += 1
        return None
    return reader.string()
