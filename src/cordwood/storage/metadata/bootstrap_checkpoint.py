"""`bootstrap.checkpoint`, the initial metadata of a Kafka 4 cluster (Kafka: `BootstrapDirectory`).

    batch    control: snapshot header
    batches  feature levels; topics, each with its partitions and configs; broker configs; the
             next producer id
    batch    control: snapshot footer

    record   unsigned varints: frame 1, kind, version; then the fields; then the number of tags
    12 feature    name string, level i16
     2 topic      name string, id uuid
     3 partition  number i32, topic id uuid, replicas, in-sync, removing, adding: arrays of i32,
                  leader i32, leader epoch i32, partition epoch i32, directories: array of uuid
     4 config     resource type i8, its name string, key string, value string
    15 producers  broker i32, its epoch i64, the next producer id i64

A partition has one replica, which is in sync, and no leader yet: the broker becomes the leader in
the next epoch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from cordwood.core.metadata_paths import TOPIC
from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.control_records import SnapshotFooter, SnapshotHeader, control_batch
from cordwood.records.flexible_fields import FlexibleWriter

#: The feature levels of Kafka 4.0; later releases read them and can upgrade them.
FEATURES: Final = {"metadata.version": 25, "group.version": 1, "transaction.version": 2}

_FRAME: Final = 1
_NO_LEADER: Final = -1
_NO_BROKER_EPOCH: Final = -1
#: The largest number of records in a batch: a batch must fit into a request.
BATCH_RECORDS: Final = 1000


class BootstrapTopic(NamedTuple):
    """A topic, the latest leader epoch of each of its partitions, and its configs."""

    name: str
    topic_id: Uuid
    epochs: Sequence[int]
    configs: Mapping[str, str]


def bootstrap_checkpoint(
    topics: Iterable[BootstrapTopic],
    configs: Mapping[tuple[int, str], Mapping[str, str]],
    *,
    node_id: int,
    directory_id: Uuid,
    now_ms: int,
    next_producer_id: int = 0,
) -> bytes:
    """Return the bytes of the file.

    `configs` has those of brokers and groups by resource type and name; a broker without a name
    means all brokers. Kafka hands out producer ids from `next_producer_id` on.
    """
    values = [_feature(name, level) for name, level in FEATURES.items()]
    for topic in topics:
        values.append(_topic(topic))
        values += [
            _partition(topic, number, node_id=node_id, directory_id=directory_id)
            for number in range(len(topic.epochs))
        ]
        values += _configs(TOPIC, topic.name, topic.configs)
    for (kind, name), own in configs.items():
        values += _configs(kind, name, own)
    if next_producer_id:
        values.append(_producer_ids(next_producer_id, node_id=node_id))
    out = control_batch(
        SnapshotHeader(now_ms), BatchFields(partition_leader_epoch=0), timestamp=now_ms
    )
    offset = 1
    for start in range(0, len(values), BATCH_RECORDS):
        builder = BatchBuilder(BatchFields(base_offset=offset, partition_leader_epoch=0))
        for value in values[start : start + BATCH_RECORDS]:
            offset = builder.append(None, value, timestamp=now_ms) + 1
        out += builder.build()
    footer = BatchFields(base_offset=offset, partition_leader_epoch=0)
    return bytes(out + control_batch(SnapshotFooter(), footer, timestamp=now_ms))


def _begin_record(kind: int, version: int) -> FlexibleWriter:
    out = FlexibleWriter()
    out.data += bytes((_FRAME, kind, version))
    return out


def _end_record(out: FlexibleWriter) -> bytes:
    out.no_tags()
    return bytes(out.data)


def _feature(name: str, level: int) -> bytes:
    out = _begin_record(12, 0)
    out.string(name)
    out.i16(level)
    return _end_record(out)


def _topic(topic: BootstrapTopic) -> bytes:
    out = _begin_record(2, 0)
    out.string(topic.name)
    out.uuid(topic.topic_id)
    return _end_record(out)


def _partition(topic: BootstrapTopic, number: int, *, node_id: int, directory_id: Uuid) -> bytes:
    out = _begin_record(3, 1)
    out.i32(number)
    out.uuid(topic.topic_id)
    for nodes in ((node_id,), (node_id,), (), ()):
        out.length(len(nodes))
        for node in nodes:
            out.i32(node)
    out.i32(_NO_LEADER)
    out.i32(topic.epochs[number])
    out.i32(0)
    out.length(1)
    out.uuid(directory_id)
    return _end_record(out)


def _configs(kind: int, name: str, configs: Mapping[str, str]) -> Iterator[bytes]:
    for key, value in configs.items():
        out = _begin_record(4, 0)
        out.data.append(kind)
        for text in (name, key, value):
            out.string(text)
        yield _end_record(out)


def _producer_ids(next_producer_id: int, *, node_id: int) -> bytes:
    out = _begin_record(15, 0)
    out.i32(node_id)
    out.i64(_NO_BROKER_EPOCH)
    out.i64(next_producer_id)
    return _end_record(out)
