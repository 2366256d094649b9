"""Blobs of the consumer protocol of classic members (Kafka: `ConsumerProtocol`).

    subscription   i16 version | topics | user data | owned partitions ...
    assignment     i16 version | partitions by topic name | user data

A later version than ours is read as our newest version.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, TypeVar

from cordwood.coordination.groups.consumer.assignors.group_spec import TopicPartitionSets
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import BytesError
from cordwood.core.uuids import Uuid
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.internal import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from cordwood.protocol.schema import Data

_VERSION: Final = Struct(">h")

M = TypeVar("M", bound=Data)


def read_subscription(blob: bytes) -> ConsumerProtocolSubscription:
    """Decode a subscription; raise BytesError if it is malformed."""
    return _read(ConsumerProtocolSubscription, blob)


def read_assignment(blob: bytes) -> ConsumerProtocolAssignment:
    """Decode an assignment; raise BytesError if it is malformed."""
    return _read(ConsumerProtocolAssignment, blob)


def write_assignment(
    partitions: TopicPartitionSets, view: TopicView, *, subscription: bytes
) -> bytes:
    """Encode an assignment in the version of a subscription, without topics that were deleted."""
    topics = ((view.by_id(topic_id), each) for topic_id, each in partitions.items())
    named = sorted((topic.name, sorted(each)) for topic, each in topics if topic is not None)
    message = ConsumerProtocolAssignment(
        assigned_partitions=[TopicPartition(topic=name, partitions=each) for name, each in named]
    )
    version = _known_version(ConsumerProtocolAssignment, subscription)
    return _VERSION.pack(version) + joined(encode(message, version))


def partitions_by_id(topics: Iterable[TopicPartition], view: TopicView) -> TopicPartitionSets:
    """Return the partitions by topic id, without topics that do not exist."""
    found = dict[Uuid, frozenset[int]]()
    for each in topics:
        topic = view.by_name(each.topic)
        if topic is not None and each.partitions:
            found[topic.topic_id] = frozenset(each.partitions)
    return found


def _read(kind: type[M], blob: bytes) -> M:
    return decode(kind, memoryview(blob)[_VERSION.size :], _known_version(kind, blob))


def _known_version(kind: type[Data], blob: bytes) -> int:
    if len(blob) < _VERSION.size:
        raise BytesError("a blob without a version", position=0, expected=2, found=len(blob))
    (version,) = _VERSION.unpack_from(blob)
    if version < 0:
        raise BytesError("an invalid version", position=0, expected="0 or above", found=version)
    newest = kind.__schema__.versions[1]
    return min(int(version), newest)
